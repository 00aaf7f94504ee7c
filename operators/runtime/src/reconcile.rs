//! The steps of a reconcile, the same for all kinds.

use api::ReconcileReason;
use std::sync::Arc;
use std::time::Duration;

use api::ObjectStatus as _;

use crate::apply::{IndependentApplies, IndependentApplyError, adoption};
use crate::cache::Projection;
use crate::plan::{Effect, EventDraft, Reported, Requeue, is_independent_due};
use crate::projections::Resource as _;
use crate::status::StatusWriter;
use crate::status::outcome::ReconcileOutcome;
use crate::{Error, Operator};

/// When to requeue an object after an independent apply: the next steps may depend on its result, and the event of an own write
/// queues nothing.
const REQUEUE_AFTER_INDEPENDENT_APPLY: Duration = Duration::from_secs(1);

/// Observes, plans, performs the effects, and writes the status. Returns when to requeue the object.
///
/// # Errors
/// The first failure of these steps.
pub async fn reconcile<O: Operator>(
    operator: &O,
    context: &StatusWriter,
    object: &Arc<O::Object>,
    failures: u32,
) -> Result<Requeue, Error> {
    let now = crate::clock::now();
    let observed = match operator.observe(object).await {
        Ok(observed) => observed,
        Err(error) => {
            context.write(&**object, None, ReconcileOutcome::Failed(&error), failures, now).await?;
            return Err(error);
        }
    };
    let plan = O::plan(&observed, now);
    let reported = Reported::by(object.status().contract(), object.meta());
    let effects_result = perform(operator, context, object, reported, plan.effects).await;
    if effects_result.is_ok() {
        for event in plan.events_after_effects {
            context.events.publish(&O::Object::KIND, object.meta(), event);
        }
    }
    let independent = if is_independent_due(&effects_result) {
        context.writer.apply_independent(&O::Object::KIND, object.meta(), reported, plan.independent).await
    } else {
        IndependentApplies::default()
    };
    let next = if independent.wrote { plan.next.no_later_than(REQUEUE_AFTER_INDEPENDENT_APPLY) } else { plan.next };
    if let Some(message) = context.writer.slow_contention(object.meta()) {
        let event = EventDraft { warning: true, reason: ReconcileReason::Contested.into(), message };
        context.events.publish(&O::Object::KIND, object.meta(), event);
    }
    let contention = context.writer.contention(object.meta());
    let contention = contention.map(|contention| (Error::contended(&contention), contention.left));
    let both = effects_result.as_ref().err().zip(independent.failed.as_ref());
    let both = both.and_then(|(error, independent_error)| adoption::with_name_taken(error, &independent_error.error));
    let (outcome, failures, next) = match (&effects_result, &independent.failed) {
        (Err(error), _) => (ReconcileOutcome::Failed(both.as_ref().unwrap_or(error)), failures, next),
        (Ok(()), Some(IndependentApplyError { error, failures, again })) => {
            (ReconcileOutcome::FailedIndependently(error), *failures, next.no_later_than(*again))
        }
        (Ok(()), None) => match &contention {
            Some((error, left)) => (ReconcileOutcome::FailedIndependently(error), failures, next.no_later_than(*left)),
            None => (ReconcileOutcome::Done, failures, next),
        },
    };
    context.write(&**object, plan.status, outcome, failures, now).await?;
    // After an expected failure, the next reconcile writes the status and publishes these.
    if !outcome.error().is_some_and(|error| error.is_expected(failures)) {
        for event in plan.events_after_status {
            context.events.publish(&O::Object::KIND, object.meta(), event);
        }
    }
    effects_result.map(|()| next)
}

/// Performs effects in order, and stops at the first failure.
async fn perform<O: Operator>(
    operator: &O,
    context: &StatusWriter,
    object: &Arc<O::Object>,
    reported: Reported,
    effects: Vec<Effect<O::Act>>,
) -> Result<(), Error> {
    for effect in effects {
        #[cfg(feature = "failpoints")]
        let failpoint = crate::failpoint::Failpoint::of(&effect);
        let act = async |act| operator.act(object, act).await;
        context.writer.perform(&O::Object::KIND, object.meta(), reported, effect, act).await?;
        #[cfg(feature = "failpoints")]
        failpoint.passed();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
