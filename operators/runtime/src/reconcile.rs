//! The reconcile, one for all kinds.

use api::ReconcileReason;
use std::sync::Arc;
use std::time::Duration;

use api::Status as _;
use jiff::Timestamp;

use crate::act::{Aside, Beside};
use crate::plan::conditions::Announcement;
use crate::plan::report::Came;
use crate::plan::{Effect, Next, Told, adoption, is_aside_due};
use crate::status::StatusWriter;
use crate::views::Resource as _;
use crate::{Error, Operator, cache::View};

/// When to look again after something beside the effects was written: what follows from its being there has to be decided, and
/// no event of an own write queues a pass.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Looks, decides, acts, writes status; then says when to look again.
///
/// # Errors
/// The first failure of any of the four.
pub async fn reconcile<O: Operator>(
    operator: &O,
    shell: &StatusWriter,
    object: &Arc<O::Object>,
    failures: u32,
) -> Result<Next, Error> {
    let now = Timestamp::now();
    let observed = match operator.observe(object).await {
        Ok(observed) => observed,
        Err(error) => {
            shell.write(&**object, None, Came::Failed(&error), failures, now).await?;
            return Err(error);
        }
    };
    let plan = O::plan(&observed, now);
    let told = Told::by(object.status().contract(), object.meta());
    let acted = act(operator, shell, object, told, plan.effects).await;
    if acted.is_ok() {
        for announcement in plan.done {
            shell.events.publish(&O::Object::KIND, object.meta(), announcement);
        }
    }
    let beside = if is_aside_due(&acted) {
        shell.writer.aside(&O::Object::KIND, object.meta(), told, plan.aside).await
    } else {
        Beside::default()
    };
    let next = if beside.wrote { plan.next.no_later_than(LOOK_AGAIN) } else { plan.next };
    if let Some(message) = shell.writer.slow_fight(object.meta()) {
        let announcement = Announcement { warning: true, reason: ReconcileReason::Contested.into(), message };
        shell.events.publish(&O::Object::KIND, object.meta(), announcement);
    }
    let fight = shell.writer.fight(object.meta());
    let fight = fight.map(|fight| (Error::contested(&fight), fight.left));
    let both = acted.as_ref().err().zip(beside.failed.as_ref());
    let both = both.and_then(|(error, aside)| adoption::with_taken(error, &aside.error));
    let (came, failures, next) = match (&acted, &beside.failed) {
        (Err(error), _) => (Came::Failed(both.as_ref().unwrap_or(error)), failures, next),
        (Ok(()), Some(Aside { error, failures, again })) => {
            (Came::FailedBeside(error), *failures, next.no_later_than(*again))
        }
        (Ok(()), None) => match &fight {
            Some((error, left)) => (Came::FailedBeside(error), failures, next.no_later_than(*left)),
            None => (Came::Done, failures, next),
        },
    };
    shell.write(&**object, plan.status, came, failures, now).await?;
    // What an ordinary failure keeps out of the status is seen, and told, by the next pass.
    if !came.error().is_some_and(|error| error.is_ordinary(failures)) {
        for announcement in plan.events {
            shell.events.publish(&O::Object::KIND, object.meta(), announcement);
        }
    }
    acted.map(|()| next)
}

/// Performs effects in order, and stops at the first failure.
async fn act<O: Operator>(
    operator: &O,
    shell: &StatusWriter,
    object: &Arc<O::Object>,
    told: Told,
    effects: Vec<Effect<O::Act>>,
) -> Result<(), Error> {
    for effect in effects {
        #[cfg(feature = "failpoints")]
        let failpoint = crate::failpoint::Failpoint::of(&effect);
        let act = async |act| operator.act(object, act).await;
        shell.writer.perform(&O::Object::KIND, object.meta(), told, effect, act).await?;
        #[cfg(feature = "failpoints")]
        failpoint.passed();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
