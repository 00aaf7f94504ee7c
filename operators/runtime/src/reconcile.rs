//! The reconcile, one for all kinds.

use api::ReconcileReason;
use std::sync::Arc;
use std::time::Duration;

use api::Status as _;
use jiff::Timestamp;

use crate::apply::{IndependentApplies, IndependentApplyError, adoption};
use crate::cache::Projection;
use crate::plan::{Effect, EventDraft, Reported, Requeue, is_independent_due};
use crate::projections::Resource as _;
use crate::status::StatusWriter;
use crate::status::outcome::ReconcileOutcome;
use crate::{Error, Operator};

/// When to look again after something beside the effects was written: what follows from its being there has to be decided, and
/// no event of an own write queues a pass.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Looks, decides, acts, writes status; then says when to look again.
///
/// # Errors
/// The first failure of any of the four.
pub async fn reconcile<O: Operator>(
    operator: &O,
    context: &StatusWriter,
    object: &Arc<O::Object>,
    failures: u32,
) -> Result<Requeue, Error> {
    let now = Timestamp::now();
    let observed = match operator.observe(object).await {
        Ok(observed) => observed,
        Err(error) => {
            context.write(&**object, None, ReconcileOutcome::Failed(&error), failures, now).await?;
            return Err(error);
        }
    };
    let plan = O::plan(&observed, now);
    let told = Reported::by(object.status().contract(), object.meta());
    let acted = act(operator, context, object, told, plan.effects).await;
    if acted.is_ok() {
        for announcement in plan.done {
            context.events.publish(&O::Object::KIND, object.meta(), announcement);
        }
    }
    let beside = if is_independent_due(&acted) {
        context.writer.apply_independent(&O::Object::KIND, object.meta(), told, plan.independent).await
    } else {
        IndependentApplies::default()
    };
    let next = if beside.wrote { plan.next.no_later_than(LOOK_AGAIN) } else { plan.next };
    if let Some(message) = context.writer.slow_fight(object.meta()) {
        let announcement = EventDraft { warning: true, reason: ReconcileReason::Contested.into(), message };
        context.events.publish(&O::Object::KIND, object.meta(), announcement);
    }
    let fight = context.writer.fight(object.meta());
    let fight = fight.map(|fight| (Error::contested(&fight), fight.left));
    let both = acted.as_ref().err().zip(beside.failed.as_ref());
    let both = both.and_then(|(error, aside)| adoption::with_taken(error, &aside.error));
    let (came, failures, next) = match (&acted, &beside.failed) {
        (Err(error), _) => (ReconcileOutcome::Failed(both.as_ref().unwrap_or(error)), failures, next),
        (Ok(()), Some(IndependentApplyError { error, failures, again })) => {
            (ReconcileOutcome::FailedIndependently(error), *failures, next.no_later_than(*again))
        }
        (Ok(()), None) => match &fight {
            Some((error, left)) => (ReconcileOutcome::FailedIndependently(error), failures, next.no_later_than(*left)),
            None => (ReconcileOutcome::Done, failures, next),
        },
    };
    context.write(&**object, plan.status, came, failures, now).await?;
    // What an ordinary failure keeps out of the status is seen, and told, by the next pass.
    if !came.error().is_some_and(|error| error.is_expected(failures)) {
        for announcement in plan.events {
            context.events.publish(&O::Object::KIND, object.meta(), announcement);
        }
    }
    acted.map(|()| next)
}

/// Performs effects in order, and stops at the first failure.
async fn act<O: Operator>(
    operator: &O,
    context: &StatusWriter,
    object: &Arc<O::Object>,
    told: Reported,
    effects: Vec<Effect<O::Act>>,
) -> Result<(), Error> {
    for effect in effects {
        #[cfg(feature = "failpoints")]
        let failpoint = crate::failpoint::Failpoint::of(&effect);
        let act = async |act| operator.act(object, act).await;
        context.writer.perform(&O::Object::KIND, object.meta(), told, effect, act).await?;
        #[cfg(feature = "failpoints")]
        failpoint.passed();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
