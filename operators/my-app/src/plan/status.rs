//! Status: counters, phase, conditions. Pure.

use std::time::Duration;

use api::my_app::{MyAppStatus, Phase, Security};
use api::{ConditionStatus, Contract, condition_type};
use jiff::{SignedDuration, Timestamp};
use runtime::plan::conditions::{Summary, condition};
use runtime::plan::meta::selector_text;
use runtime::plan::{Effect, Next, Seen};
use runtime::views::{Conditions, Deployment, Rollout};

use super::Observed;
use super::objects::selector;

/// For so long into a piece of work, a change of `replicas` or `updatedReplicas` alone is not worth a write: it rides
/// along with the next change of what people wait for, and is written at the end of that time at the latest.
const RIDE_ALONG: Duration = Duration::from_secs(10);

/// A change of the Deployment that its own controller takes no note of (its labels, its owner, who sets its number of
/// pods) is followed by no event of another's, and the event of our own write is no news: look again by ourselves.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// For so long volumes of a pod may take without being told of.
const VOLUMES: SignedDuration = SignedDuration::from_secs(3);

/// What holds once `steps` have been taken, and when to look again.
pub(super) fn of(observed: &Observed, steps: &[Effect], now: Timestamp) -> (MyAppStatus, Next) {
    let app = &observed.app;
    if repairs(observed, steps) {
        return (app.status.clone(), Next::After(LOOK_AGAIN));
    }
    let standing = Standing::of(observed, steps);
    let rollout = standing.rollout;
    let waits = Waits::of(observed, now);
    let (phase, summary, reason, message) = judge(observed, &standing, &waits);
    let conditions = if app.spec.paused {
        let ready = if summary == Summary::Ready { ConditionStatus::True } else { ConditionStatus::False };
        let message = format!("paused: nothing is changed until spec.paused is false; {}", standing.count());
        vec![condition(condition_type::READY, ready, "Paused", message, now)]
    } else {
        summary.conditions(reason, message, now)
    };
    let status = MyAppStatus {
        phase: Some(if app.spec.paused { Phase::Paused } else { phase }),
        ready: Some(format!("{}/{}", rollout.ready_replicas, standing.wanted)),
        replicas: rollout.replicas,
        ready_replicas: rollout.ready_replicas,
        updated_replicas: rollout.updated_replicas,
        image: if summary == Summary::Ready { Some(app.spec.image.clone()) } else { app.status.image.clone() },
        selector: Some(selector_text(&selector(&observed.app))),
        contract: Contract { conditions, ..app.status.contract.clone() },
    };
    let (status, next) = ride_along(status, &app.status, now);
    let next = waits.due.map_or(next, |due| next.no_later_than(due));
    let changing = !app.spec.paused && !steps.is_empty() && !standing.current;
    (status, if changing { Next::After(LOOK_AGAIN) } else { next })
}

/// Whether `steps` merely undo what somebody changed in the children of an app that was ready. That is over within this
/// pass, so it is no news; what it did to the pods, the next look tells.
fn repairs(observed: &Observed, steps: &[Effect]) -> bool {
    let (app, before) = (&observed.app, &observed.app.status.contract);
    let same_wish = before.observed_generation == app.meta.generation && before.is_true(condition_type::READY);
    !steps.is_empty() && same_wish && !app.spec.paused && observed.deployment.ours().is_some()
}

/// How far the Deployment has come.
struct Standing<'a> {
    /// Pods asked for.
    wanted: i32,
    rollout: &'a Rollout,
    /// Whether the numbers speak of what is asked for now.
    current: bool,
    /// How long pods have to be ready for until they count, in seconds.
    min_ready: i32,
}

const NONE: &Rollout = &Rollout {
    observed_generation: 0,
    replicas: 0,
    updated_replicas: 0,
    ready_replicas: 0,
    available_replicas: 0,
    conditions: Conditions { failures: Vec::new(), newest: None },
};

impl<'a> Standing<'a> {
    fn of(observed: &'a Observed, steps: &[Effect]) -> Self {
        let asked = observed.app.spec.replicas;
        let min_ready = observed.app.spec.min_ready_seconds.unwrap_or(0);
        let changes = steps.iter().any(
            |step| matches!(step, Effect::Apply(apply) if apply.kind == <Deployment as runtime::cache::View>::KIND),
        );
        match &observed.deployment {
            Seen::Ours(live) => {
                let wanted = asked.unwrap_or(live.replicas);
                // A Deployment that has asked for no pods since it was made has none, whether its controller has looked
                // at it or not.
                let untouched = live.meta.generation == 1 && wanted == 0;
                let current = !changes && (untouched || live.rollout.observed_generation >= live.meta.generation);
                Self { wanted, rollout: &live.rollout, current, min_ready }
            }
            Seen::Absent => {
                let wanted = asked.unwrap_or(1);
                Self { wanted, rollout: NONE, current: changes && wanted == 0, min_ready }
            }
            Seen::Leaving | Seen::Unreadable(_) => {
                Self { wanted: asked.unwrap_or(1), rollout: NONE, current: false, min_ready }
            }
        }
    }

    fn complete(&self) -> bool {
        self.all_ready() && !self.matures()
    }

    fn all_ready(&self) -> bool {
        let Rollout { replicas, updated_replicas, ready_replicas, .. } = *self.rollout;
        self.current && [replicas, updated_replicas, ready_replicas] == [self.wanted; 3]
    }

    /// Whether pods are ready, but not for long enough.
    fn matures(&self) -> bool {
        self.min_ready > 0 && self.rollout.available_replicas < self.wanted
    }

    fn count(&self) -> String {
        let verb = if self.wanted == 1 { "pod is" } else { "pods are" };
        format!("{} of {} {verb} ready", self.rollout.ready_replicas, self.wanted)
    }
}

type Judgement = (Phase, Summary, String, String);

/// Phase, shape of the conditions, reason and message.
fn judge(observed: &Observed, standing: &Standing<'_>, waits: &Waits) -> Judgement {
    if let Some((reason, message)) = observed.obstacle() {
        let summary = if reason == "Unreadable" { Summary::Stalled } else { Summary::Reconciling };
        return (Phase::Pending, summary, reason.to_owned(), message);
    }
    if standing.complete() {
        let phase = if standing.wanted == 0 { Phase::ScaledToZero } else { Phase::Running };
        let message =
            if standing.wanted == 0 { "no pods are asked for, and none run".to_owned() } else { standing.count() };
        return (phase, Summary::Ready, format!("{phase:?}"), message);
    }
    if standing.current
        && let Some((reason, why)) = lasting_failure(observed, standing.rollout, waits)
    {
        return (Phase::Degraded, Summary::Stalled, reason, format!("{}; {why}", standing.count()));
    }
    let message = match passing_trouble(observed, waits) {
        Some(why) if standing.current => format!("{}; {why}", standing.count()),
        _ => progress(standing),
    };
    (Phase::Progressing, Summary::Reconciling, "Progressing".to_owned(), message)
}

fn progress(standing: &Standing<'_>) -> String {
    let old = standing.rollout.replicas > standing.rollout.updated_replicas && standing.rollout.updated_replicas > 0;
    let count = standing.count();
    if standing.all_ready() {
        return format!("{count}; waiting until each has been ready for {} s (minReadySeconds)", standing.min_ready);
    }
    match (standing.rollout.replicas > standing.wanted && !old, old) {
        (true, _) => format!("{count}; others are being stopped"),
        (_, true) => format!("{count}; pods are being replaced"),
        _ => count,
    }
}

/// What will not go away by itself: pods in lasting trouble, pods that cannot be created, a passed deadline.
fn lasting_failure(observed: &Observed, rollout: &Rollout, waits: &Waits) -> Option<(String, String)> {
    // Pods first: a refusal may be that of an earlier template, which is told until its pods are gone.
    if let Some((pod, trouble)) = observed.troubles.iter().find(|(_, trouble)| trouble.lasting) {
        return Some((trouble.reason.clone(), format!("pod {pod}: {}", trouble.message)));
    }
    let failed = |type_: &str| rollout.conditions.failures.iter().find(|c| c.type_ == type_);
    if let Some(refused) = failed("ReplicaFailure") {
        return Some((refused.reason.clone(), refusal(observed, &refused.message)));
    }
    failed("Progressing")
        .map(|late| (late.reason.clone(), passing_trouble(observed, waits).unwrap_or_else(|| late.message.clone())))
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

fn passing_trouble(observed: &Observed, waits: &Waits) -> Option<String> {
    let trouble = observed.troubles.first();
    let trouble = trouble.map(|(pod, trouble)| format!("pod {pod}: {}: {}", trouble.reason, trouble.message));
    trouble.or_else(|| waits.told.clone())
}

/// Pods that wait for their volumes.
struct Waits {
    /// What one of them has waited for long enough to be told of.
    told: Option<String>,
    /// When the next will have.
    due: Option<Duration>,
}

impl Waits {
    fn of(observed: &Observed, now: Timestamp) -> Self {
        let left = |since: Timestamp| Duration::try_from(VOLUMES - now.duration_since(since)).unwrap_or_default();
        let told = observed.starting.iter().find(|(_, starting)| left(starting.since).is_zero());
        let due =
            observed.starting.iter().map(|(_, starting)| left(starting.since)).filter(|left| !left.is_zero()).min();
        let told = told.map(|(pod, starting)| {
            format!(
                "pod {pod}: ContainerCreating: it waits for its volumes or its network; check that {} exist, with the entries asked for",
                starting.needs.join(", ")
            )
        });
        Self { told, due }
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
