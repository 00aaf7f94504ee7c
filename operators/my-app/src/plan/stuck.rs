//! Pure: a Deployment whose own controller makes no progress.
//!
//! If two ReplicaSets of a Deployment of type Recreate have pods, and request another number than the Deployment, that controller treats
//! each sync as scaling, scales neither (it scales proportionally only in rolling updates), and never replaces pods (kubernetes:
//! pkg/controller/deployment/sync.go, `isScalingEvent` and `scale`). This happens if both the type and the number change during a rollout.
//! The pods then stay, whatever the spec requests, even zero. As a paused rolling update, the Deployment is scaled, and continues
//! afterward.
//!
//! Every rollout of that type is in this state for a moment, and pausing it then starts the earlier pods again. So the state has to last
//! for a while without any change, by the clock of `now`.

use std::time::Duration;

use api::condition_type;
use jiff::{SignedDuration, Timestamp};

use super::Observed;
use super::standstill::seems_stuck;

/// How long the state has to last. A controller that is only busy needs less: terminating pods do not count.
const STUCK_AFTER: SignedDuration = SignedDuration::from_secs(15);

/// How many pods the controller deletes per second, at least. Its limit is 20 requests per second.
const DELETIONS_PER_SECOND: i32 = 10;

/// How often the time doubles after attempts without success.
const MAX_DOUBLINGS: u32 = 6;

/// How much longer an apparent standstill counts as progress.
pub(super) fn time_left(observed: &Observed, now: Timestamp) -> Option<Duration> {
    let live = observed.deployment.owned().filter(|live| !observed.app.spec.paused && seems_stuck(live))?;
    let tries = observed.standstill.as_ref().map_or(0, |standstill| standstill.tries);
    let deletions = SignedDuration::from_secs((live.rollout.replicas / DELETIONS_PER_SECOND).into());
    let timeout = STUCK_AFTER * (1 << tries.min(MAX_DOUBLINGS)) + deletions;
    let since = match &observed.standstill {
        Some(standstill) => standstill.since,
        None => since_applied(observed, live.applied?),
    };
    Some(Duration::try_from(timeout - now.duration_since(since)).unwrap_or_default())
}

/// When the Deployment was applied. The API server's clock sets `applied`; if the clock of this process is ahead, the time since which the
/// MyApp is Reconciling is later, and counts instead.
fn since_applied(observed: &Observed, applied: Timestamp) -> Timestamp {
    let reconciling = observed.app.status.contract.condition(condition_type::RECONCILING);
    reconciling.map_or(applied, |reconciling| reconciling.last_transition_time.max(applied))
}
