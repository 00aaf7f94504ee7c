//! Pure: the status: counters, phase, conditions.

use std::time::Duration;

use api::my_app::{MyAppPhase, MyAppReason, MyAppStatus, Security};
use api::{ConditionStatus, Contract, Reason, ReconcileReason, condition_type};
use jiff::{SignedDuration, Timestamp};
use runtime::plan::meta::selector_text;
use runtime::plan::{Apply, ChildState, Effect, Requeue};
use runtime::status::conditions::{Summary, condition};

use super::Observed;
use super::deadline::{self, RolloutDeadline};
use super::desired_state::DesiredDeployment;
use super::objects::{self, selector};
use super::rollback::{self, RollbackDecision};

mod independent;
mod pods;
mod progress;
mod reported;
mod route;

pub(super) use independent::warnings;
pub(super) use pods::PodFailures;
use progress::RolloutProgress;

/// How long after the start of a rollout a change of only `replicas` or `updatedReplicas` is not written: it is written together with the
/// next other change, or at the end of this time.
const COUNTER_INTERVAL: Duration = Duration::from_secs(10);

/// When to requeue after a write of the operator. Its own event triggers no reconcile, and no other client's event may follow: the
/// Deployment's controller ignores changes of labels, of the owner, and of the field manager that owns the number of pods.
pub(super) const REQUEUE_AFTER_OWN_WRITE: Duration = Duration::from_secs(1);

/// How long the controller of a repaired Deployment may take to observe the repair before the status reports it. The resolution of times
/// of writes is one second.
const OBSERVE_TIMEOUT: SignedDuration = SignedDuration::from_secs(3);

/// When to requeue if the next reconcile continues as soon as the cache has the current write: a rollback after its status, or the
/// creation of an object after its deletion.
pub(super) const REQUEUE_NOW: Duration = Duration::from_millis(1);

/// Conditions that a status has in addition to Ready while a child that the pods do not depend on fails.
const CHILD_FAILURES: [&str; 2] = [condition_type::STALLED, condition_type::RECONCILING];

/// The status after `steps` and the `independent` applies, and when to requeue.
pub(super) fn of(
    observed: &Observed,
    steps: &[Effect],
    independent: &[Apply],
    desired: &DesiredDeployment<'_>,
    rollback_decision: &RollbackDecision<'_>,
    now: Timestamp,
) -> (MyAppStatus, Requeue) {
    let app = &observed.app;
    let reported = independent::conditions(observed, independent, now);
    let progress = RolloutProgress::of(observed, steps);
    // If the status reports anything else, all of it has to be current.
    let is_unchanged = repairs(observed, steps) || awaits_observation(observed, steps, &progress, now);
    if is_unchanged
        && desired.rejection().is_none()
        && independent.is_empty()
        && !independent::have_changed(observed, &reported)
    {
        return (app.status.clone(), Requeue::After(REQUEUE_AFTER_OWN_WRITE));
    }
    let rollout = progress.rollout;
    let pods = PodFailures::of(observed, now);
    let deadline = observed.deployment.owned().map_or(RolloutDeadline::Pending, |live| deadline::of(app, live, now));
    let on_hold = rejected(observed, desired, &progress).or_else(|| awaiting(observed, desired, &progress));
    let (phase, summary, reason, message) = match on_hold {
        Some(judgement) => judgement,
        None => judge(observed, &progress, &pods, &deadline, rollback_decision),
    };
    let mut conditions = if app.spec.paused {
        let matches_spec = summary == Summary::Ready
            && steps.is_empty()
            && independent.is_empty()
            && !independent::is_blocked(observed);
        let ready = if matches_spec { ConditionStatus::True } else { ConditionStatus::False };
        let differing = differing_kinds(steps, independent)
            .map(|kinds| format!("; differs from the spec: {kinds}"))
            .unwrap_or_default();
        let count = progress.count();
        let message = format!("paused: the operator changes nothing until spec.paused is false; {count}{differing}");
        vec![condition(condition_type::READY, ready, MyAppReason::Paused, message, now)]
    } else {
        summary.conditions(reason, message, now)
    };
    conditions.extend(reported);
    // Without pods it is unknown whether the image would become ready.
    let was_ready = summary == Summary::Ready && progress.desired > 0;
    let image = if was_ready { Some(&app.spec.image) } else { app.status.image.as_ref() };
    let status = MyAppStatus {
        phase: Some(if app.spec.paused { MyAppPhase::Paused } else { phase }),
        ready: Some(format!("{}/{}", rollout.ready_replicas, progress.desired)),
        replicas: rollout.replicas,
        ready_replicas: rollout.ready_replicas,
        updated_replicas: rollout.updated_replicas,
        image: image.cloned(),
        rolled_back_from: rollback_decision.given_up.clone(),
        selector: Some(selector_text(&selector(&observed.app))),
        contract: Contract { conditions, ..app.status.contract.clone() },
    };
    let (status, next) = hold_back_counters(status, &app.status, now);
    let changing = !app.spec.paused && !steps.is_empty() && !progress.current;
    let soon = if changing { Some(REQUEUE_AFTER_OWN_WRITE) } else { pods.due };
    let after_status = rollback_decision.image.is_none().then_some(REQUEUE_NOW);
    let deadline = if let RolloutDeadline::Unclear(left) = deadline { Some(left) } else { None };
    (status, [soon, after_status, deadline].into_iter().flatten().fold(next, Requeue::no_later_than))
}

/// The kinds of children that the operator would change without the pause.
fn differing_kinds(steps: &[Effect], independent: &[Apply]) -> Option<String> {
    let kind = |effect: &Effect| match effect {
        Effect::Apply(apply) => apply.kind,
        Effect::Create(create) => create.kind,
        Effect::Delete(delete) => delete.kind,
        Effect::Act(never) => match *never {},
    };
    let mut kinds: Vec<&str> =
        steps.iter().map(kind).chain(independent.iter().map(|apply| apply.kind)).map(|of| of.kind).collect();
    kinds.dedup();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// Whether `steps` only revert edits of the children of an app that was ready. This reconcile completes that, so the status does not report
/// it. The next reconcile observes its effects on pods.
fn repairs(observed: &Observed, steps: &[Effect]) -> bool {
    !steps.is_empty() && was_ready(observed) && observed.deployment.owned().is_some()
}

/// Whether an app that was ready only waits until the Deployment's own controller has observed the operator's last write, which is
/// [recent](OBSERVE_TIMEOUT). That takes milliseconds; to report it would take two writes and an Event for each repair.
fn awaits_observation(observed: &Observed, steps: &[Effect], progress: &RolloutProgress<'_>, now: Timestamp) -> bool {
    let written = observed.deployment.owned().and_then(|live| live.applied);
    // By the API server's clock. If that is ahead of this process' clock, the write does not count as recent.
    let is_recent =
        written.is_some_and(|written| (SignedDuration::ZERO..OBSERVE_TIMEOUT).contains(&now.duration_since(written)));
    steps.is_empty() && is_recent && was_ready(observed) && progress.awaits_observation()
}

/// Whether the status reports the app as ready for its current spec, without a failing child.
fn was_ready(observed: &Observed) -> bool {
    let (app, before) = (&observed.app, &observed.app.status.contract);
    let same_spec = before.observed_generation == app.meta.generation && before.is_true(condition_type::READY);
    // If it reports a failing child, the cause may be resolved by now.
    same_spec && !CHILD_FAILURES.iter().any(|type_| before.is_true(type_)) && !app.spec.paused
}

/// A phase, the summary of the conditions, their reason and their message.
type Judgement = (MyAppPhase, Summary, Reason, String);

/// The status while the operator does not change the Deployment, because its overrides or pods are rejected.
fn rejected(observed: &Observed, desired: &DesiredDeployment<'_>, progress: &RolloutProgress<'_>) -> Option<Judgement> {
    let (summary, reason, message) = desired.rejection()?;
    let phase = match summary {
        Summary::Stalled if progress.rollout.replicas > 0 => MyAppPhase::Degraded,
        Summary::Stalled => MyAppPhase::Pending,
        Summary::Reconciling | Summary::Ready => MyAppPhase::Progressing,
    };
    let unchanged = match &observed.deployment {
        ChildState::Owned(_) => "; the Deployment is not changed",
        ChildState::Absent | ChildState::Terminating | ChildState::Undecodable(_) => "",
    };
    let message = format!("{}; {message}{unchanged}", progress.count());
    Some((phase, summary, reason, message))
}

/// The status while the Deployment waits for the content of objects of `restartOn`.
fn awaiting(observed: &Observed, desired: &DesiredDeployment<'_>, progress: &RolloutProgress<'_>) -> Option<Judgement> {
    let source = desired.pending_source().filter(|_| observed.obstacle().is_none())?;
    let message = format!("{}; {}", progress.count(), unread(source));
    Some((MyAppPhase::Progressing, Summary::Reconciling, MyAppReason::Progressing.into(), message))
}

fn unread(source: &str) -> String {
    format!("restartOn: waiting for the API server to return {source}")
}

/// The status of the Deployment.
fn judge(
    observed: &Observed,
    progress: &RolloutProgress<'_>,
    pods: &PodFailures<'_>,
    deadline: &RolloutDeadline<'_>,
    rollback_decision: &RollbackDecision<'_>,
) -> Judgement {
    let app = &*observed.app;
    if let Some((reason, message)) = observed.obstacle() {
        let summary = if reason == ReconcileReason::Unreadable { Summary::Stalled } else { Summary::Reconciling };
        return (MyAppPhase::Pending, summary, reason.into(), message);
    }
    let count = progress.count();
    if let Some(given_up) = &rollback_decision.given_up {
        // Until the Deployment is changed, its pods fail because of the image that was given up.
        let returns = rollback_decision.image.is_some() && progress.current && !progress.is_complete();
        let failure = pods.worst().filter(|_| returns).map(|why| format!("; {why}")).unwrap_or_default();
        let message = format!("{count}{failure}; {}", rollback::message(app, given_up));
        return (MyAppPhase::Degraded, Summary::Stalled, MyAppReason::RolledBack.into(), message);
    }
    // The Deployment's numbers may be older than the observed pods. A status that already reports Ready waits for the numbers.
    let status = &app.status.contract;
    let reports_ready = status.observed_generation == app.meta.generation && status.is_true(condition_type::READY);
    // Content that has not been read yet may still replace the pods.
    let unread_yet =
        observed.contents.unread.as_ref().filter(|_| observed.contents.failure.is_none() && !reports_ready);
    if progress.is_complete() && (reports_ready || pods.are_empty()) && unread_yet.is_none() {
        if let Some((reason, why)) = &observed.contents.failure {
            let message = format!("{count}; {why}");
            return (MyAppPhase::Degraded, Summary::Stalled, reason.clone(), message);
        }
        if progress.desired == 0 {
            let message = "scaled to zero: no pods are requested, and none run".to_owned();
            return (MyAppPhase::ScaledToZero, Summary::Ready, MyAppReason::ScaledToZero.into(), message);
        }
        return (MyAppPhase::Running, Summary::Ready, MyAppReason::Running.into(), count);
    }
    if progress.current
        && !progress.is_complete()
        && let Some((reason, why)) = permanent_failure(observed, progress, pods, deadline)
    {
        let no_rollback = rollback::impossible(app, deadline).map(|why| format!("; {why}")).unwrap_or_default();
        return (MyAppPhase::Degraded, Summary::Stalled, reason, format!("{count}; {why}{no_rollback}"));
    }
    // While the metrics cannot be read, neither the autoscaler nor the operator brings the number of pods within its bounds.
    let out_of_bounds = observed.deployment.owned().is_some_and(|live| live.replicas != progress.desired);
    if let Some(why) = objects::unreadable_metrics(app).filter(|_| progress.current && out_of_bounds) {
        return (MyAppPhase::Degraded, Summary::Stalled, MyAppReason::MetricsInvalid.into(), format!("{count}; {why}"));
    }
    let message = match pods.transient() {
        Some(why) if progress.current => format!("{count}; {why}"),
        _ => match unread_yet.filter(|_| progress.is_complete()) {
            Some(yet) => format!("{count}; {}", unread(&yet.source)),
            None => progress.message(),
        },
    };
    (MyAppPhase::Progressing, Summary::Reconciling, MyAppReason::Progressing.into(), message)
}

/// A failure that lasts until the user acts: failing pods, pods that cannot be created, an exceeded deadline.
fn permanent_failure(
    observed: &Observed,
    progress: &RolloutProgress<'_>,
    pods: &PodFailures<'_>,
    deadline: &RolloutDeadline<'_>,
) -> Option<(Reason, String)> {
    // Pods first: a rejection may be about an earlier template, which the Deployment reports until its pods are deleted.
    if let Some(failure) = pods.permanent() {
        return Some(failure);
    }
    let failures = &progress.rollout.conditions.failures;
    // If all pods of the current template exist, the rejection is about an earlier template.
    let is_current =
        |reason: &Reason| *reason != MyAppReason::FailedCreate || progress.rollout.updated_replicas < progress.desired;
    if let Some(rejected) = failures.iter().find(|c| c.type_ == "ReplicaFailure" && is_current(&c.reason)) {
        return Some((rejected.reason.clone(), rejection(observed, &rejected.message)));
    }
    let other = || failures.iter().find(|c| c.type_ == "Progressing" && !deadline::is_exceeded(c));
    let failure = if let RolloutDeadline::Passed(condition) = deadline { Some(*condition) } else { other() };
    failure.map(|failure| (failure.reason.clone(), pods.transient().unwrap_or_else(|| failure.message.clone())))
}

/// The API server's message, with a remedy if there is a known one.
fn rejection(observed: &Observed, message: &str) -> String {
    let unrestricted = observed.app.spec.security == Security::Baseline;
    if unrestricted && message.contains("violates PodSecurity \"restricted") {
        format!("{message}; set spec.security to Restricted, with an image that runs as a numeric non-root user")
    } else {
        message.to_owned()
    }
}

/// Holds back a change of minor counters alone; see [`COUNTER_INTERVAL`].
fn hold_back_counters(status: MyAppStatus, before: &MyAppStatus, now: Timestamp) -> (MyAppStatus, Requeue) {
    let Some(reconciling) = before.contract.condition(condition_type::RECONCILING) else {
        return (status, Requeue::OnChange);
    };
    let since = Duration::try_from(now.duration_since(reconciling.last_transition_time)).unwrap_or(Duration::MAX);
    let mut held = status.clone();
    (held.replicas, held.updated_replicas) = (before.replicas, before.updated_replicas);
    let minor = held != status && without_times(&held) == without_times(before);
    match COUNTER_INTERVAL.checked_sub(since).filter(|rest| !rest.is_zero()) {
        Some(rest) if minor => (held, Requeue::After(rest)),
        _ => (status, Requeue::OnChange),
    }
}

/// The status without its times.
fn without_times(status: &MyAppStatus) -> MyAppStatus {
    let mut status = status.clone();
    for condition in &mut status.contract.conditions {
        condition.last_transition_time = Timestamp::UNIX_EPOCH;
        condition.observed_generation = None;
    }
    status.contract.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    status
}
