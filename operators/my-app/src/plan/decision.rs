//! Pure: the plan of a MyApp: the effects in their order, the status, and when to requeue.

use std::time::Duration;

use api::my_app::{MyAppStatus, RolloutStrategy};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::child::OwnedChild;
use runtime::plan::{Apply, ChildState, Delete, Effect, Plan, Requeue};
use runtime::projections::{Deployment, Ingress};

use super::children::{applied, optional, removal};
use super::desired_state::DesiredDeployment;
use super::rollback::{self, RollbackDecision};
use super::{Observed, name_taken, objects, order, route_objects, scaling, status, stuck};

/// Plans the Deployment first, then the children that depend on it. Children that the pods do not depend on do not delay the others.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> Plan<MyAppStatus> {
    let app = &observed.app;
    if app.meta.deleting {
        return Plan::nothing();
    }
    let desired = DesiredDeployment::of(observed);
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
    let retry = observed.dry_run_failure.as_ref().map(|failure| failure.due);
    let next = [stuck, retry, observed.contents.due, left].into_iter().flatten().fold(next, Requeue::no_later_than);
    let events = status::warnings(&app.status.contract, &status.contract);
    let plan = Plan { events_after_status: events, status: Some(status), next, ..Plan::nothing() };
    if app.spec.paused {
        return plan;
    }
    // Applies that wait for these effects come in the next reconcile, and the operator's own writes do not trigger one.
    let next = if independent.len() < all && !steps.is_empty() {
        next.no_later_than(status::REQUEUE_AFTER_OWN_WRITE)
    } else {
        next
    };
    // The operator's own writes do not trigger a reconcile, so the status that results from them needs a requeue.
    let edited = app.status.contract.observed_generation < app.meta.generation;
    let next =
        if edited && !independent.is_empty() { next.no_later_than(status::REQUEUE_AFTER_OWN_WRITE) } else { next };
    let next = if route_objects::loses_class(observed) { next.no_later_than(status::REQUEUE_NOW) } else { next };
    let (effects, independent) = order::of(observed, image(&desired, &rollback_decision).is_none(), steps, independent);
    Plan { effects, independent, next, ..plan }
}

/// The image to run; `None` while the Deployment stays unchanged.
fn image<'a>(desired: &DesiredDeployment<'_>, rollback_decision: &RollbackDecision<'a>) -> Option<&'a str> {
    rollback_decision.image.filter(|_| desired.rejection().is_none() && desired.pending_source().is_none())
}

/// The effects that bring the children to the desired state; empty if they match it.
fn steps(
    observed: &Observed,
    desired: &DesiredDeployment<'_>,
    rollback_decision: &RollbackDecision<'_>,
    stuck: bool,
    closed: Vec<Effect>,
) -> Vec<Effect> {
    let app = &*observed.app;
    // An autoscaler that is not deleted would change the number of pods, or would scale a foreign Deployment of the name.
    let scales = app.spec.autoscaling.is_some() && !name_taken::deployment(observed);
    let mut steps: Vec<Effect> = removal(&observed.autoscaler, scales).into_iter().collect();
    // Before the others, because an effect that is rejected again ends the reconcile.
    let removals = name_taken::route_removals(observed);
    let leads_to_foreign_service = !removals.is_empty();
    steps.extend(removals);
    steps.extend(
        image(desired, rollback_decision)
            .into_iter()
            .flat_map(|image| deployment(observed, desired.deployment(image), stuck)),
    );
    steps.extend(optional(&observed.service, objects::service(app)));
    steps.extend(optional(&observed.budget, objects::disruption_budget(app)));
    let classless =
        observed.ingress.owned().filter(|_| !leads_to_foreign_service && route_objects::loses_class(observed));
    steps.extend(closed.into_iter().filter(|_| !leads_to_foreign_service));
    steps.extend(classless.map(|ingress| Effect::Delete(Delete::of(Ingress::KIND, &ingress.meta))));
    steps
}

/// The applies of children that the pods do not depend on.
fn independent_applies(observed: &Observed) -> Vec<Apply> {
    let app = &*observed.app;
    let autoscaler = objects::autoscaler(app).and_then(|desired| applied(&observed.autoscaler, desired));
    let ingress = objects::ingress(app).filter(|_| !route_objects::loses_class(observed));
    let ingress = ingress.and_then(|desired| applied(&observed.ingress, desired));
    let http_route = objects::http_route(app).zip(observed.http_route.seen());
    let http_route = http_route.and_then(|(desired, seen)| applied(seen, desired));
    [autoscaler, ingress, http_route].into_iter().flatten().collect()
}

fn deployment(observed: &Observed, apply: Apply, stuck: bool) -> Vec<Effect> {
    let app = &*observed.app;
    let recreates = app.spec.strategy.as_ref().is_some_and(RolloutStrategy::recreates);
    let apply =
        if observed.deployment.owned().is_none() { scaling::with_previous_replicas(observed, apply) } else { apply };
    let orphan = scaling::hand_over_orphan(observed).into_iter();
    match &observed.deployment {
        // The apply may adopt an orphan whose pace is not observed.
        ChildState::Absent if recreates => {
            let apply = Apply { creates: false, ..apply };
            orphan.chain([objects::without_pace(&apply), apply]).map(Effect::Apply).collect()
        }
        ChildState::Absent => orphan.chain([apply]).map(Effect::Apply).collect(),
        ChildState::Owned(live) => {
            let hand_over = scaling::hand_over(observed, live);
            let apply = apply_over(live, if stuck { objects::without_pace(&apply) } else { apply });
            let takes_pace = recreates && live.has_pace;
            // With a patch, the operator would own the pace in a way that no apply releases.
            let apply = apply.map(|apply| if takes_pace { Apply { live: None, ..apply } } else { apply });
            let pace = apply.as_ref().filter(|apply| takes_pace && !apply.repairs).map(objects::without_pace);
            hand_over.into_iter().chain(pace).chain(apply).map(Effect::Apply).collect()
        }
        ChildState::Terminating | ChildState::Undecodable(_) => Vec::new(),
    }
}

/// The apply that brings the Deployment, including its pause, to the state of `apply`; `None` if it matches.
fn apply_over(live: &OwnedChild<Deployment>, apply: Apply) -> Option<Apply> {
    let seen = Some((&live.meta, live.fingerprint, &live.additions));
    if live.paused {
        let resumed = objects::resumed(apply, &live.meta);
        return resumed.clone().if_drifted(seen).or(Some(resumed));
    }
    apply.if_drifted(seen)
}
