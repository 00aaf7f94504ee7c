//! Pure: a Deployment that its own controller has come to a standstill with.
//!
//! While two ReplicaSets of a Deployment of type Recreate have pods, and request another number than the Deployment does, that
//! controller takes each sync for one that scales, scales neither ("proportionally" is for rolling updates alone), and never gets
//! to replacing pods (kubernetes: pkg/controller/deployment/sync.go, `isScalingEvent` and `scale`). It takes a change of the type
//! amid a rollout together with one of the number; the pods then stay, whatever the spec requests, even zero. As a paused rolling
//! update the Deployment is scaled, and continues afterward.
//!
//! Every rollout of that type has this state for a moment, and pausing one starts the earlier pods again. So the state has to last,
//! without any change, for a while by the clock that `now` is of.

use std::time::Duration;

use api::condition_type;
use jiff::{SignedDuration, Timestamp};

use super::Observed;
use super::standstill::seems_stuck;

/// A controller that is merely busy needs less: terminating pods are not counted.
const STUCK_AFTER: SignedDuration = SignedDuration::from_secs(15);

/// So many pods a second it deletes at least, and it counts them after all (it may send 20 requests a second).
const DELETED_A_SECOND: i32 = 10;

/// So often the time is doubled, if it did not help.
const DOUBLINGS: u32 = 6;

/// How long an apparent standstill still counts as work in progress.
pub(super) fn time_left(observed: &Observed, now: Timestamp) -> Option<Duration> {
    let live = observed.deployment.owned().filter(|live| !observed.app.spec.paused && seems_stuck(live))?;
    let tries = observed.standstill.as_ref().map_or(0, |standstill| standstill.tries);
    let deletions = SignedDuration::from_secs((live.rollout.replicas / DELETED_A_SECOND).into());
    let takes = STUCK_AFTER * (1 << tries.min(DOUBLINGS)) + deletions;
    let since = match &observed.standstill {
        Some(standstill) => standstill.since,
        None => since_applied(observed, live.applied?),
    };
    Some(Duration::try_from(takes - now.duration_since(since)).unwrap_or_default())
}

/// When the Deployment was applied, as far as our own clock can be ahead of the API server's, which sets `applied`: what has been
/// under way since then was not done before.
fn since_applied(observed: &Observed, applied: Timestamp) -> Timestamp {
    let working = observed.app.status.contract.condition(condition_type::RECONCILING);
    working.map_or(applied, |working| working.last_transition_time.max(applied))
}
