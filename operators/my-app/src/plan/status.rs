//! Pure: status: counters, phase, conditions.

use std::time::Duration;

use api::my_app::{MyAppReason, MyAppStatus, Phase, Security};
use api::{ConditionStatus, Contract, Reason, ReconcileReason, condition_type};
use jiff::{SignedDuration, Timestamp};
use runtime::plan::meta::selector_text;
use runtime::plan::{Apply, ChildState, Effect, Requeue};
use runtime::status::conditions::{Summary, condition};

use super::Observed;
use super::deadline::{self, Deadline};
use super::desired_state::Desired;
use super::objects::{self, selector};
use super::rollback::{self, RollbackDecision};

mod independent;
mod pods;
mod progress;
mod reported;
mod route;

pub(super) use independent::warnings;
pub(super) use pods::Pods;
use progress::Progress;

/// For so long into a piece of work, a change of `replicas` or `updatedReplicas` alone is not worth a write: it rides
/// along with the next change of what people wait for, and is written at the end of that time at the latest.
const COUNTER_INTERVAL: Duration = Duration::from_secs(10);

/// A change of the Deployment that its own controller takes no note of (its labels, its owner, who sets its number of
/// pods) is followed by no event of another client, and the event of our own write queues nothing: requeue after this time.
pub(super) const REQUEUE_AFTER_OWN_WRITE: Duration = Duration::from_secs(1);

/// How long the controller of a repaired Deployment may take to observe it before the status reports that. Times of
/// writes are whole seconds.
const OBSERVE_TIMEOUT: SignedDuration = SignedDuration::from_secs(3);

/// What the status has to report first is done in the next reconcile, as soon as the cache has the status; an object is recreated as soon
/// as it is observed to be terminating.
pub(super) const REQUEUE_NOW: Duration = Duration::from_millis(1);

/// Conditions that stand next to Ready while a child that the pods do not depend on fails.
const SHORTCOMINGS: [&str; 2] = [condition_type::STALLED, condition_type::RECONCILING];

/// The status once `steps` and the applies `independent` of them are performed, and when to requeue.
pub(super) fn of(
    observed: &Observed,
    steps: &[Effect],
    independent: &[Apply],
    desired: &Desired<'_>,
    rollback_decision: &RollbackDecision<'_>,
    now: Timestamp,
) -> (MyAppStatus, Requeue) {
    let app = &observed.app;
    let reported = independent::conditions(observed, independent, now);
    let progress = Progress::of(observed, steps);
    // If something else is reported, everything that is reported has to be current.
    let is_no_news = repairs(observed, steps) || settles(observed, steps, &progress, now);
    if is_no_news
        && desired.rejection().is_none()
        && independent.is_empty()
        && !independent::are_news(observed, &reported)
    {
        return (app.status.clone(), Requeue::After(REQUEUE_AFTER_OWN_WRITE));
    }
    let rollout = progress.rollout;
    let pods = Pods::of(observed, now);
    let deadline = observed.deployment.owned().map_or(Deadline::Ahead, |live| deadline::of(app, live, now));
    let held = refused(observed, desired, &progress).or_else(|| awaited(observed, desired, &progress));
    let (phase, summary, reason, message) = match held {
        Some(refused) => refused,
        None => judge(observed, &progress, &pods, &deadline, rollback_decision),
    };
    let mut conditions = if app.spec.paused {
        let as_asked = summary == Summary::Ready
            && steps.is_empty()
            && independent.is_empty()
            && !independent::is_obstructed(observed);
        let ready = if as_asked { ConditionStatus::True } else { ConditionStatus::False };
        let left = left_by_a_pause(steps, independent)
            .map(|kinds| format!("; differs from the spec: {kinds}"))
            .unwrap_or_default();
        let count = progress.count();
        let message = format!("paused: the operator changes nothing until spec.paused is false; {count}{left}");
        vec![condition(condition_type::READY, ready, MyAppReason::Paused, message, now)]
    } else {
        summary.conditions(reason, message, now)
    };
    conditions.extend(reported);
    // Without pods it is not known whether the image would become ready.
    let has_run = summary == Summary::Ready && progress.wanted > 0;
    let image = if has_run { Some(&app.spec.image) } else { app.status.image.as_ref() };
    let status = MyAppStatus {
        phase: Some(if app.spec.paused { Phase::Paused } else { phase }),
        ready: Some(format!("{}/{}", rollout.ready_replicas, progress.wanted)),
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
    let told = rollback_decision.image.is_none().then_some(REQUEUE_NOW);
    let deadline = if let Deadline::Unclear(left) = deadline { Some(left) } else { None };
    (status, [soon, told, deadline].into_iter().flatten().fold(next, Requeue::no_later_than))
}

/// The kinds of children that would be changed without the pause.
fn left_by_a_pause(steps: &[Effect], independent: &[Apply]) -> Option<String> {
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

/// Whether `steps` only revert edits of the children of an app that was ready. That ends within this
/// reconcile, so it is not reported; its effects on pods are observed by the next one.
fn repairs(observed: &Observed, steps: &[Effect]) -> bool {
    !steps.is_empty() && was_ready(observed) && observed.deployment.owned().is_some()
}

/// Whether all that keeps an app that was ready from being so is that the Deployment's own controller has not seen our last write
/// yet, which is [recent](OBSERVE_TIMEOUT). That controller's status follows within milliseconds; to report the time until then would
/// take two writes and an Event for each repair.
fn settles(observed: &Observed, steps: &[Effect], progress: &Progress<'_>, now: Timestamp) -> bool {
    let written = observed.deployment.owned().and_then(|live| live.applied);
    // By the API server's clock. If that is ahead of ours, nothing is held back.
    let is_fresh =
        written.is_some_and(|written| (SignedDuration::ZERO..OBSERVE_TIMEOUT).contains(&now.duration_since(written)));
    steps.is_empty() && is_fresh && was_ready(observed) && progress.waits_to_be_observed()
}

/// Whether the status reports the app as ready for its current spec, and no failing child.
fn was_ready(observed: &Observed) -> bool {
    let (app, before) = (&observed.app, &observed.app.status.contract);
    let same_spec = before.observed_generation == app.meta.generation && before.is_true(condition_type::READY);
    // What blocked a child that the pods do not depend on may be deleted by now.
    same_spec && !SHORTCOMINGS.iter().any(|type_| before.is_true(type_)) && !app.spec.paused
}

/// A phase, the shape of the conditions, their reason and their message.
type Judgement = (Phase, Summary, Reason, String);

/// The status while the Deployment is not changed, since its pods cannot match the spec.
fn refused(observed: &Observed, desired: &Desired<'_>, progress: &Progress<'_>) -> Option<Judgement> {
    let (summary, reason, message) = desired.rejection()?;
    let phase = match summary {
        Summary::Stalled if progress.rollout.replicas > 0 => Phase::Degraded,
        Summary::Stalled => Phase::Pending,
        Summary::Reconciling | Summary::Ready => Phase::Progressing,
    };
    let left = match &observed.deployment {
        ChildState::Owned(_) => "; the Deployment is not changed",
        ChildState::Absent | ChildState::Terminating | ChildState::Undecodable(_) => "",
    };
    let message = format!("{}; {message}{left}", progress.count());
    Some((phase, summary, reason, message))
}

/// The status while the Deployment waits for content that its pods are to be started with.
fn awaited(observed: &Observed, desired: &Desired<'_>, progress: &Progress<'_>) -> Option<Judgement> {
    let source = desired.pending_source().filter(|_| observed.obstacle().is_none())?;
    let message = format!("{}; {}", progress.count(), unread(source));
    Some((Phase::Progressing, Summary::Reconciling, MyAppReason::Progressing.into(), message))
}

fn unread(source: &str) -> String {
    format!("restartOn: waiting for the API server to return {source}")
}

/// The status of the Deployment.
fn judge(
    observed: &Observed,
    progress: &Progress<'_>,
    pods: &Pods<'_>,
    deadline: &Deadline<'_>,
    rollback_decision: &RollbackDecision<'_>,
) -> Judgement {
    let app = &*observed.app;
    if let Some((reason, message)) = observed.obstacle() {
        let summary = if reason == ReconcileReason::Unreadable { Summary::Stalled } else { Summary::Reconciling };
        return (Phase::Pending, summary, reason.into(), message);
    }
    let count = progress.count();
    if let Some(given_up) = &rollback_decision.given_up {
        // While the Deployment has yet to be changed, its pods fail of what is given up.
        let returns = rollback_decision.image.is_some() && progress.current && !progress.complete();
        let trouble = pods.worst().filter(|_| returns).map(|why| format!("; {why}")).unwrap_or_default();
        let message = format!("{count}{trouble}; {}", rollback::message(app, given_up));
        return (Phase::Degraded, Summary::Stalled, MyAppReason::RolledBack.into(), message);
    }
    // The Deployment's numbers may be older than what is observed of a pod; a status that reports Ready already waits for them.
    let said = &app.status.contract;
    let said = said.observed_generation == app.meta.generation && said.is_true(condition_type::READY);
    // With content that has not been read, pods may have to be replaced for this very spec.
    let unread_yet = observed.contents.unread.as_ref().filter(|_| observed.contents.failure.is_none() && !said);
    if progress.complete() && (said || pods.are_healthy()) && unread_yet.is_none() {
        if let Some((reason, why)) = &observed.contents.failure {
            let message = format!("{count}; {why}");
            return (Phase::Degraded, Summary::Stalled, reason.clone(), message);
        }
        if progress.wanted == 0 {
            let message = "scaled to zero: no pods are requested, and none run".to_owned();
            return (Phase::ScaledToZero, Summary::Ready, MyAppReason::ScaledToZero.into(), message);
        }
        return (Phase::Running, Summary::Ready, MyAppReason::Running.into(), count);
    }
    if progress.current
        && !progress.complete()
        && let Some((reason, why)) = permanent_failure(observed, progress, pods, deadline)
    {
        let no_way_back = rollback::impossible(app, deadline).map(|why| format!("; {why}")).unwrap_or_default();
        return (Phase::Degraded, Summary::Stalled, reason, format!("{count}; {why}{no_way_back}"));
    }
    // While the metrics cannot be read, neither the autoscaler nor the operator brings the number of pods within its bounds.
    let out_of_bounds = observed.deployment.owned().is_some_and(|live| live.replicas != progress.wanted);
    if let Some(why) = objects::unreadable_metrics(app).filter(|_| progress.current && out_of_bounds) {
        return (Phase::Degraded, Summary::Stalled, MyAppReason::MetricsInvalid.into(), format!("{count}; {why}"));
    }
    let message = match pods.transient() {
        Some(why) if progress.current => format!("{count}; {why}"),
        _ => match unread_yet.filter(|_| progress.complete()) {
            Some(yet) => format!("{count}; {}", unread(&yet.source)),
            None => progress.message(),
        },
    };
    (Phase::Progressing, Summary::Reconciling, MyAppReason::Progressing.into(), message)
}

/// A failure that lasts until the user acts: failing pods, pods that cannot be created, an exceeded deadline.
fn permanent_failure(
    observed: &Observed,
    progress: &Progress<'_>,
    pods: &Pods<'_>,
    deadline: &Deadline<'_>,
) -> Option<(Reason, String)> {
    // Pods first: a rejection may be that of an earlier template, which is reported until its pods are deleted.
    if let Some(trouble) = pods.permanent() {
        return Some(trouble);
    }
    let failures = &progress.rollout.conditions.failures;
    // With all pods of the present template there, it is an earlier one's that are refused.
    let lacks =
        |reason: &Reason| *reason != MyAppReason::FailedCreate || progress.rollout.updated_replicas < progress.wanted;
    if let Some(refused) = failures.iter().find(|c| c.type_ == "ReplicaFailure" && lacks(&c.reason)) {
        return Some((refused.reason.clone(), rejection(observed, &refused.message)));
    }
    let other = || failures.iter().find(|c| c.type_ == "Progressing" && !deadline::is_late(c));
    let late = if let Deadline::Passed(late) = deadline { Some(*late) } else { other() };
    late.map(|late| (late.reason.clone(), pods.transient().unwrap_or_else(|| late.message.clone())))
}

/// The API server's message, with what to do if the operator knows.
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
    let Some(working) = before.contract.condition(condition_type::RECONCILING) else {
        return (status, Requeue::OnChange);
    };
    let since = Duration::try_from(now.duration_since(working.last_transition_time)).unwrap_or(Duration::MAX);
    let mut held = status.clone();
    (held.replicas, held.updated_replicas) = (before.replicas, before.updated_replicas);
    let minor = held != status && without_times(&held) == without_times(before);
    match COUNTER_INTERVAL.checked_sub(since).filter(|rest| !rest.is_zero()) {
        Some(rest) if minor => (held, Requeue::After(rest)),
        _ => (status, Requeue::OnChange),
    }
}

/// A status without its times.
fn without_times(status: &MyAppStatus) -> MyAppStatus {
    let mut said = status.clone();
    for condition in &mut said.contract.conditions {
        condition.last_transition_time = Timestamp::UNIX_EPOCH;
        condition.observed_generation = None;
    }
    said.contract.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    said
}
