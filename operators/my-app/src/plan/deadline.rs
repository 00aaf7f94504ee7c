//! Pure: whether a rollout has had its time.

use std::time::Duration;

use api::my_app::MyAppReason;
use jiff::{SignedDuration, Timestamp};
use runtime::projections::{Deployment, RolloutCondition};

use crate::MyApp;

/// The default of Kubernetes.
const DEFAULT: i32 = 600;

/// Where a rollout stands with its deadline.
#[derive(Debug, PartialEq)]
pub(super) enum Deadline<'a> {
    /// It has not passed.
    Ahead,
    /// One has passed that may be that of an earlier template; for so long what was applied last still has time.
    Unclear(Duration),
    /// It has passed without progress.
    Passed(&'a RolloutCondition),
}

/// How long a rollout may go without progress, in seconds.
pub(super) fn seconds(app: &MyApp) -> i32 {
    app.spec.progress_deadline_seconds.unwrap_or(DEFAULT)
}

/// Whether the Deployment's own controller reports by it that the deadline has passed.
pub(super) fn is_late(said: &RolloutCondition) -> bool {
    said.type_ == "Progressing" && said.reason == MyAppReason::ProgressDeadlineExceeded
}

/// Where the rollout of `live` stands.
///
/// The condition outlives the template that it is about: it changes when there is progress, and a template that comes with
/// another number of pods, or that there has been before, is observed without any. So it counts if it is younger than what we
/// applied last (by the clock of the control plane), or once that has had its whole time.
pub(super) fn of<'a>(app: &MyApp, live: &'a Deployment, now: Timestamp) -> Deadline<'a> {
    let failures = &live.rollout.conditions.failures;
    let Some(late) = failures.iter().find(|c| is_late(c)) else {
        return Deadline::Ahead;
    };
    let Some((applied, since)) = live.applied.zip(late.since) else { return Deadline::Passed(late) };
    let had = now.duration_since(applied);
    match Duration::try_from(SignedDuration::from_secs(seconds(app).into()) - had) {
        Ok(left) if since <= applied && !left.is_zero() => Deadline::Unclear(left),
        _ => Deadline::Passed(late),
    }
}
