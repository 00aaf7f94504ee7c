//! Pure: whether a rollout has exceeded its progress deadline.

use std::time::Duration;

use api::my_app::MyAppReason;
use jiff::{SignedDuration, Timestamp};
use runtime::projections::{Deployment, RolloutCondition};

use crate::MyApp;

/// The default of Kubernetes, in seconds.
const DEFAULT_SECONDS: i32 = 600;

/// The state of a rollout's progress deadline.
#[derive(Debug, PartialEq)]
pub(super) enum RolloutDeadline<'a> {
    /// It has not passed.
    Pending,
    /// A deadline has passed, possibly that of an earlier template. The last applied template has this much time left.
    Unclear(Duration),
    /// It has passed without progress.
    Passed(&'a RolloutCondition),
}

/// How long a rollout may go without progress, in seconds.
pub(super) fn seconds(app: &MyApp) -> i32 {
    app.spec.progress_deadline_seconds.unwrap_or(DEFAULT_SECONDS)
}

/// Whether the Deployment's own controller reports with this condition that the deadline has passed.
pub(super) fn is_exceeded(condition: &RolloutCondition) -> bool {
    condition.type_ == "Progressing" && condition.reason == MyAppReason::ProgressDeadlineExceeded
}

/// The state of the deadline of the rollout of `live`.
///
/// The condition of an earlier template can still be present: it changes only on progress, and the Deployment's controller reports no
/// progress for a template that also changes the number of pods, or to which a rollout returns. So the condition counts if it is newer
/// than the operator's last apply (by the clock of the control plane), or once the full deadline has passed since that apply.
pub(super) fn of<'a>(app: &MyApp, live: &'a Deployment, now: Timestamp) -> RolloutDeadline<'a> {
    let failures = &live.rollout.conditions.failures;
    let Some(late) = failures.iter().find(|c| is_exceeded(c)) else {
        return RolloutDeadline::Pending;
    };
    let Some((applied, since)) = live.applied.zip(late.since) else { return RolloutDeadline::Passed(late) };
    let elapsed = now.duration_since(applied);
    match Duration::try_from(SignedDuration::from_secs(seconds(app).into()) - elapsed) {
        Ok(left) if since <= applied && !left.is_zero() => RolloutDeadline::Unclear(left),
        _ => RolloutDeadline::Passed(late),
    }
}
