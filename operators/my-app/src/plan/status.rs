//! Status: counters, phase, conditions. Pure.

use std::time::Duration;

use api::my_app::{MyAppReason, MyAppStatus, Phase, Security};
use api::{ConditionStatus, Contract, Reason, ReconcileReason, condition_type};
use jiff::{SignedDuration, Timestamp};
use runtime::plan::conditions::{Summary, condition};
use runtime::plan::meta::selector_text;
use runtime::plan::{Apply, Effect, Next, Seen};

use super::Observed;
use super::deadline::{self, Deadline};
use super::objects::{self, selector};
use super::rollback::{self, Course};
use super::wish::Wish;

mod as_asked;
mod beside;
mod pods;
mod route;
mod standing;

pub(super) use beside::warnings;
pub(super) use pods::Pods;
use standing::Standing;

/// For so long into a piece of work, a change of `replicas` or `updatedReplicas` alone is not worth a write: it rides
/// along with the next change of what people wait for, and is written at the end of that time at the latest.
const RIDE_ALONG: Duration = Duration::from_secs(10);

/// A change of the Deployment that its own controller takes no note of (its labels, its owner, who sets its number of
/// pods) is followed by no event of another's, and the event of our own write is no news: look again by ourselves.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// For so long after a repair its Deployment's controller may take to see it, before the app is told to be waiting for that. Times of
/// writes are whole seconds.
const SETTLES: SignedDuration = SignedDuration::from_secs(3);

/// What has been told before it is done is done in the next pass, as soon as the status has come back; what is made anew, as soon as
/// it is seen to go.
pub(super) const AT_ONCE: Duration = Duration::from_millis(1);

/// What is told beside Ready while something beside the pods cannot be had.
const SHORTCOMINGS: [&str; 2] = [condition_type::STALLED, condition_type::RECONCILING];

/// What holds once `steps` have been taken, with `aside` beside them, and when to look again.
pub(super) fn of(
    observed: &Observed,
    steps: &[Effect],
    aside: &[Apply],
    wish: &Wish<'_>,
    course: &Course<'_>,
    now: Timestamp,
) -> (MyAppStatus, Next) {
    let app = &observed.app;
    let beside = beside::conditions(observed, aside, now);
    let standing = Standing::of(observed, steps);
    // Where something else is told, all that is told is to be so.
    let is_no_news = repairs(observed, steps) || settles(observed, steps, &standing, now);
    if is_no_news && wish.refusal().is_none() && aside.is_empty() && !beside::are_news(observed, &beside) {
        return (app.status.clone(), Next::After(LOOK_AGAIN));
    }
    let rollout = standing.rollout;
    let pods = Pods::of(observed, now);
    let deadline = observed.deployment.ours().map_or(Deadline::Ahead, |live| deadline::of(app, live, now));
    let held = refused(observed, wish, &standing).or_else(|| awaited(observed, wish, &standing));
    let (phase, summary, reason, message) = match held {
        Some(refused) => refused,
        None => judge(observed, &standing, &pods, &deadline, course),
    };
    let mut conditions = if app.spec.paused {
        let as_asked =
            summary == Summary::Ready && steps.is_empty() && aside.is_empty() && !beside::is_obstructed(observed);
        let ready = if as_asked { ConditionStatus::True } else { ConditionStatus::False };
        let left = left_by_a_pause(steps, aside).map(|kinds| format!("; not as asked: {kinds}")).unwrap_or_default();
        let count = standing.count();
        let message = format!("paused: nothing is changed until spec.paused is false; {count}{left}");
        vec![condition(condition_type::READY, ready, MyAppReason::Paused, message, now)]
    } else {
        summary.conditions(reason, message, now)
    };
    conditions.extend(beside);
    // Of none that no pod has run is known whether it would be ready.
    let has_run = summary == Summary::Ready && standing.wanted > 0;
    let image = if has_run { Some(&app.spec.image) } else { app.status.image.as_ref() };
    let status = MyAppStatus {
        phase: Some(if app.spec.paused { Phase::Paused } else { phase }),
        ready: Some(format!("{}/{}", rollout.ready_replicas, standing.wanted)),
        replicas: rollout.replicas,
        ready_replicas: rollout.ready_replicas,
        updated_replicas: rollout.updated_replicas,
        image: image.cloned(),
        rolled_back_from: course.given_up.clone(),
        selector: Some(selector_text(&selector(&observed.app))),
        contract: Contract { conditions, ..app.status.contract.clone() },
    };
    let (status, next) = ride_along(status, &app.status, now);
    let changing = !app.spec.paused && !steps.is_empty() && !standing.current;
    let soon = if changing { Some(LOOK_AGAIN) } else { pods.due };
    let told = course.image.is_none().then_some(AT_ONCE);
    let deadline = if let Deadline::Unclear(left) = deadline { Some(left) } else { None };
    (status, [soon, told, deadline].into_iter().flatten().fold(next, Next::no_later_than))
}

/// The kinds of children that would be changed but for a pause.
fn left_by_a_pause(steps: &[Effect], aside: &[Apply]) -> Option<String> {
    let kind = |effect: &Effect| match effect {
        Effect::Apply(apply) => apply.kind,
        Effect::Create(create) => create.kind,
        Effect::Delete(delete) => delete.kind,
        Effect::Act(never) => match *never {},
    };
    let mut kinds: Vec<&str> =
        steps.iter().map(kind).chain(aside.iter().map(|apply| apply.kind)).map(|of| of.kind).collect();
    kinds.dedup();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// Whether `steps` merely undo what somebody changed in the children of an app that was ready. That is over within this
/// pass, so it is no news; what it did to the pods, the next look tells.
fn repairs(observed: &Observed, steps: &[Effect]) -> bool {
    !steps.is_empty() && was_ready(observed) && observed.deployment.ours().is_some()
}

/// Whether all that keeps an app that was ready from being so is that the Deployment's own controller has not seen our last write
/// yet, which was made [just now](SETTLES). That controller's status follows within milliseconds; to tell of the time until then would
/// take two writes and an Event for each repair.
fn settles(observed: &Observed, steps: &[Effect], standing: &Standing<'_>, now: Timestamp) -> bool {
    let written = observed.deployment.ours().and_then(|live| live.applied);
    // In the API server's time. If that is ahead of ours, nothing is held back.
    let is_fresh =
        written.is_some_and(|written| (SignedDuration::ZERO..SETTLES).contains(&now.duration_since(written)));
    steps.is_empty() && is_fresh && was_ready(observed) && standing.waits_to_be_observed()
}

/// Whether the app is told to be ready, for its spec as it is, with nothing missing beside its pods.
fn was_ready(observed: &Observed) -> bool {
    let (app, before) = (&observed.app, &observed.app.status.contract);
    let same_wish = before.observed_generation == app.meta.generation && before.is_true(condition_type::READY);
    // What was in the way of what stands beside the pods may be gone by now.
    same_wish && !SHORTCOMINGS.iter().any(|type_| before.is_true(type_)) && !app.spec.paused
}

/// A phase, the shape of the conditions, their reason and their message.
type Judgement = (Phase, Summary, Reason, String);

/// What is told while the Deployment is left as it is, since its pods cannot be as asked.
fn refused(observed: &Observed, wish: &Wish<'_>, standing: &Standing<'_>) -> Option<Judgement> {
    let (summary, reason, message) = wish.refusal()?;
    let phase = match summary {
        Summary::Stalled if standing.rollout.replicas > 0 => Phase::Degraded,
        Summary::Stalled => Phase::Pending,
        Summary::Reconciling | Summary::Ready => Phase::Progressing,
    };
    let left = match &observed.deployment {
        Seen::Ours(_) => "; the Deployment is left as it is",
        Seen::Absent | Seen::Leaving | Seen::Unreadable(_) => "",
    };
    let message = format!("{}; {message}{left}", standing.count());
    Some((phase, summary, reason, message))
}

/// What is told while the Deployment waits for what its pods are to be started with.
fn awaited(observed: &Observed, wish: &Wish<'_>, standing: &Standing<'_>) -> Option<Judgement> {
    let source = wish.pending_source().filter(|_| observed.obstacle().is_none())?;
    let message = format!("{}; {}", standing.count(), unread(source));
    Some((Phase::Progressing, Summary::Reconciling, MyAppReason::Progressing.into(), message))
}

fn unread(source: &str) -> String {
    format!("restartOn: the API server has not said yet what is in {source}")
}

/// What is told of the Deployment that the spec asks for.
fn judge(
    observed: &Observed,
    standing: &Standing<'_>,
    pods: &Pods<'_>,
    deadline: &Deadline<'_>,
    course: &Course<'_>,
) -> Judgement {
    let app = &*observed.app;
    if let Some((reason, message)) = observed.obstacle() {
        let summary = if reason == ReconcileReason::Unreadable { Summary::Stalled } else { Summary::Reconciling };
        return (Phase::Pending, summary, reason.into(), message);
    }
    let count = standing.count();
    if let Some(given_up) = &course.given_up {
        // While the Deployment has yet to be changed, its pods fail of what is given up.
        let returns = course.image.is_some() && standing.current && !standing.complete();
        let trouble = pods.worst().filter(|_| returns).map(|why| format!("; {why}")).unwrap_or_default();
        let message = format!("{count}{trouble}; {}", rollback::message(app, given_up));
        return (Phase::Degraded, Summary::Stalled, MyAppReason::RolledBack.into(), message);
    }
    // The Deployment's numbers may be older than what is seen of a pod; what has been said already waits for them.
    let said = &app.status.contract;
    let said = said.observed_generation == app.meta.generation && said.is_true(condition_type::READY);
    // With content that has not been read, pods may have to be replaced for this very spec.
    let unread_yet = observed.contents.unread.as_ref().filter(|_| observed.contents.trouble.is_none() && !said);
    if standing.complete() && (said || pods.are_well()) && unread_yet.is_none() {
        if let Some((reason, why)) = &observed.contents.trouble {
            let message = format!("{count}; {why}");
            return (Phase::Degraded, Summary::Stalled, reason.clone(), message);
        }
        if standing.wanted == 0 {
            let message = "no pods are asked for, and none run".to_owned();
            return (Phase::ScaledToZero, Summary::Ready, MyAppReason::ScaledToZero.into(), message);
        }
        return (Phase::Running, Summary::Ready, MyAppReason::Running.into(), count);
    }
    if standing.current
        && !standing.complete()
        && let Some((reason, why)) = lasting_failure(observed, standing, pods, deadline)
    {
        let no_way_back = rollback::impossible(app, deadline).map(|why| format!("; {why}")).unwrap_or_default();
        return (Phase::Degraded, Summary::Stalled, reason, format!("{count}; {why}{no_way_back}"));
    }
    // While the metrics cannot be read, neither the autoscaler nor the operator brings the number of pods within its bounds.
    let out_of_bounds = observed.deployment.ours().is_some_and(|live| live.replicas != standing.wanted);
    if let Some(why) = objects::unreadable_metrics(app).filter(|_| standing.current && out_of_bounds) {
        return (Phase::Degraded, Summary::Stalled, MyAppReason::MetricsInvalid.into(), format!("{count}; {why}"));
    }
    let message = match pods.passing() {
        Some(why) if standing.current => format!("{count}; {why}"),
        _ => match unread_yet.filter(|_| standing.complete()) {
            Some(yet) => format!("{count}; {}", unread(&yet.source)),
            None => standing.progress(),
        },
    };
    (Phase::Progressing, Summary::Reconciling, MyAppReason::Progressing.into(), message)
}

/// What will not go away by itself: pods in lasting trouble, pods that cannot be created, a passed deadline.
fn lasting_failure(
    observed: &Observed,
    standing: &Standing<'_>,
    pods: &Pods<'_>,
    deadline: &Deadline<'_>,
) -> Option<(Reason, String)> {
    // Pods first: a refusal may be that of an earlier template, which is told until its pods are gone.
    if let Some(trouble) = pods.lasting() {
        return Some(trouble);
    }
    let failures = &standing.rollout.conditions.failures;
    // With all pods of the present template there, it is an earlier one's that are refused.
    let lacks =
        |reason: &Reason| *reason != MyAppReason::FailedCreate || standing.rollout.updated_replicas < standing.wanted;
    if let Some(refused) = failures.iter().find(|c| c.type_ == "ReplicaFailure" && lacks(&c.reason)) {
        return Some((refused.reason.clone(), refusal(observed, &refused.message)));
    }
    let other = || failures.iter().find(|c| c.type_ == "Progressing" && !deadline::is_late(c));
    let late = if let Deadline::Passed(late) = deadline { Some(*late) } else { other() };
    late.map(|late| (late.reason.clone(), pods.passing().unwrap_or_else(|| late.message.clone())))
}

/// A refusal in the server's words, with the way out where it is ours to know.
fn refusal(observed: &Observed, message: &str) -> String {
    let unrestricted = observed.app.spec.security == Security::Baseline;
    if unrestricted && message.contains("violates PodSecurity \"restricted") {
        format!("{message}; set spec.security to Restricted, with an image that runs as a numeric non-root user")
    } else {
        message.to_owned()
    }
}

/// Holds back a change of minor counters alone; see [`RIDE_ALONG`].
fn ride_along(status: MyAppStatus, before: &MyAppStatus, now: Timestamp) -> (MyAppStatus, Next) {
    let Some(working) = before.contract.condition(condition_type::RECONCILING) else { return (status, Next::Change) };
    let since = Duration::try_from(now.duration_since(working.last_transition_time)).unwrap_or(Duration::MAX);
    let mut held = status.clone();
    (held.replicas, held.updated_replicas) = (before.replicas, before.updated_replicas);
    let minor = held != status && said(&held) == said(before);
    match RIDE_ALONG.checked_sub(since).filter(|rest| !rest.is_zero()) {
        Some(rest) if minor => (held, Next::After(rest)),
        _ => (status, Next::Change),
    }
}

/// All that a status says, times apart.
fn said(status: &MyAppStatus) -> MyAppStatus {
    let mut said = status.clone();
    for condition in &mut said.contract.conditions {
        condition.last_transition_time = Timestamp::UNIX_EPOCH;
        condition.observed_generation = None;
    }
    said.contract.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    said
}
