//! Pure: the decision: which effects, in which order, the status, and when to requeue.

use std::time::Duration;

use api::my_app::{MyAppStatus, Strategy};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::child::OwnedChild;
use runtime::plan::{Apply, ChildState, Delete, Effect, Plan, Requeue};
use runtime::projections::{Deployment, Ingress};

use super::children::{applied, optional, removal};
use super::desired_state::Desired;
use super::rollback::{self, RollbackDecision};
use super::{Observed, name_taken, objects, order, route_objects, scaling, status, stuck};

/// Decides: first the Deployment, then the children that depend on it. Children that the pods do not depend on delay nothing.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> Plan<MyAppStatus> {
    let app = &observed.app;
    if app.meta.deleting {
        return Plan::nothing();
    }
    let desired = Desired::of(observed);
    let rollback_decision = rollback::decide(observed, &desired, now);
    let stuck = stuck::time_left(observed, now);
    let (closed, left) = route_objects::removals(observed, now);
    let steps = steps(observed, &desired, &rollback_decision, stuck == Some(Duration::ZERO), closed);
    let applies = independent_applies(observed);
    let (status, next) = status::of(observed, &steps, &applies, &desired, &rollback_decision, now);
    let all = applies.len();
    let independent: Vec<Apply> =
        applies.into_iter().filter(|apply| name_taken::target_is_owned(observed, &apply.kind)).collect();
    let stuck = stuck.filter(|left| !left.is_zero());
    let again = observed.dry_run_failure.as_ref().map(|failure| failure.due);
    let next = [stuck, again, observed.contents.due, left].into_iter().flatten().fold(next, Requeue::no_later_than);
    let events = status::warnings(&app.status.contract, &status.contract);
    let plan = Plan { events, status: Some(status), next, ..Plan::nothing() };
    if app.spec.paused {
        return plan;
    }
    // Applies that have to wait for these effects come next, and our own writes queue nothing.
    let next = if independent.len() < all && !steps.is_empty() {
        next.no_later_than(status::REQUEUE_AFTER_OWN_WRITE)
    } else {
        next
    };
    // Our own writes queue nothing, so the status that follows from them needs a requeue.
    let edited = app.status.contract.observed_generation < app.meta.generation;
    let next =
        if edited && !independent.is_empty() { next.no_later_than(status::REQUEUE_AFTER_OWN_WRITE) } else { next };
    let next = if route_objects::loses_class(observed) { next.no_later_than(status::REQUEUE_NOW) } else { next };
    let (effects, independent) = order::of(observed, image(&desired, &rollback_decision).is_none(), steps, independent);
    Plan { effects, independent, next, ..plan }
}

/// The image to run; none as long as the Deployment is to stay as it is.
fn image<'a>(desired: &Desired<'_>, rollback_decision: &RollbackDecision<'a>) -> Option<&'a str> {
    rollback_decision.image.filter(|_| desired.rejection().is_none() && desired.pending_source().is_none())
}

/// The effects that bring everything to the desired state; empty if it matches.
fn steps(
    observed: &Observed,
    desired: &Desired<'_>,
    rollback_decision: &RollbackDecision<'_>,
    stuck: bool,
    closed: Vec<Effect>,
) -> Vec<Effect> {
    let app = &*observed.app;
    // A leftover autoscaler would change the number of pods, and one whose Deployment is foreign would scale that one.
    let scales = app.spec.autoscaling.is_some() && !name_taken::deployment(observed);
    let mut steps: Vec<Effect> = removal(&observed.autoscaler, scales).into_iter().collect();
    // First, because an effect that is rejected again ends the reconcile.
    let misled = name_taken::route_removals(observed);
    let is_misled = !misled.is_empty();
    steps.extend(misled);
    steps.extend(
        image(desired, rollback_decision)
            .into_iter()
            .flat_map(|image| deployment(observed, desired.deployment(image), stuck)),
    );
    steps.extend(optional(&observed.service, objects::service(app)));
    steps.extend(optional(&observed.budget, objects::disruption_budget(app)));
    let classless = observed.ingress.owned().filter(|_| !is_misled && route_objects::loses_class(observed));
    steps.extend(closed.into_iter().filter(|_| !is_misled));
    steps.extend(classless.map(|ingress| Effect::Delete(Delete::of(Ingress::KIND, &ingress.meta))));
    steps
}

/// The applies of children that the pods do not depend on.
fn independent_applies(observed: &Observed) -> Vec<Apply> {
    let app = &*observed.app;
    let autoscaler = objects::autoscaler(app).and_then(|wanted| applied(&observed.autoscaler, wanted));
    let ingress = objects::ingress(app).filter(|_| !route_objects::loses_class(observed));
    let ingress = ingress.and_then(|wanted| applied(&observed.ingress, wanted));
    let http_route = objects::http_route(app).zip(observed.http_route.seen());
    let http_route = http_route.and_then(|(wanted, seen)| applied(seen, wanted));
    [autoscaler, ingress, http_route].into_iter().flatten().collect()
}

fn deployment(observed: &Observed, apply: Apply, stuck: bool) -> Vec<Effect> {
    let app = &*observed.app;
    let recreates = app.spec.strategy.as_ref().is_some_and(Strategy::recreates);
    let apply =
        if observed.deployment.owned().is_none() { scaling::with_previous_number(observed, apply) } else { apply };
    let orphan = scaling::of_orphan(observed).into_iter();
    match &observed.deployment {
        // An absent Deployment may be an orphan that is about to be adopted, with a pace that is not observed.
        ChildState::Absent if recreates => {
            let apply = Apply { creates: false, ..apply };
            orphan.chain([objects::without_pace(&apply), apply]).map(Effect::Apply).collect()
        }
        ChildState::Absent => orphan.chain([apply]).map(Effect::Apply).collect(),
        ChildState::Owned(live) => {
            let hand_over = scaling::hand_over(observed, live);
            let apply = over(live, if stuck { objects::without_pace(&apply) } else { apply });
            let takes_pace = recreates && live.has_pace;
            // A patch would make the operator own the pace in a way that no apply releases.
            let apply = apply.map(|apply| if takes_pace { Apply { live: None, ..apply } } else { apply });
            let pace = apply.as_ref().filter(|apply| takes_pace && !apply.repairs).map(objects::without_pace);
            hand_over.into_iter().chain(pace).chain(apply).map(Effect::Apply).collect()
        }
        ChildState::Terminating | ChildState::Undecodable(_) => Vec::new(),
    }
}

/// The apply that brings a Deployment, its pause included, to the state of `apply`.
fn over(live: &OwnedChild<Deployment>, apply: Apply) -> Option<Apply> {
    let seen = Some((&live.meta, live.fingerprint, &live.additions));
    if live.paused {
        let resumed = objects::resumed(apply, &live.meta);
        return resumed.clone().over(seen).or(Some(resumed));
    }
    apply.over(seen)
}
