//! A Deployment that its own controller has come to a standstill with. Pure.
//!
//! While two ReplicaSets of a Deployment of type Recreate have pods, and ask for another number than the Deployment does, that
//! controller takes each look for one that scales, scales neither ("proportionally" is for rolling updates alone), and never gets
//! to replacing pods (kubernetes: pkg/controller/deployment/sync.go, `isScalingEvent` and `scale`). It takes a change of the type
//! amid a rollout together with one of the number; the pods then stay, whatever is asked for, none included. As a paused rolling
//! update it is scaled, and then goes on as it was.
//!
//! Every rollout of that type looks so for a moment, and to pause one starts the earlier pods again. So it has to have looked so,
//! without any change, for a while by the clock that `now` is of.

use std::time::Duration;

use api::condition_type;
use jiff::{SignedDuration, Timestamp};

use super::Observed;
use super::stand::looks_so;

/// A controller that is merely at work is done with this sooner: pods that are on their way out are not counted.
const STANDS: SignedDuration = SignedDuration::from_secs(15);

/// So many pods a second it deletes at least, and it counts them after all (it may send 20 requests a second).
const DELETED_A_SECOND: i32 = 10;

/// So often the time is doubled, if it did not help.
const DOUBLINGS: u32 = 6;

/// For how long it is still taken for work, if it looks like a standstill.
pub(super) fn left(observed: &Observed, now: Timestamp) -> Option<Duration> {
    let live = observed.deployment.ours().filter(|live| !observed.app.spec.paused && looks_so(live))?;
    let tries = observed.stand.as_ref().map_or(0, |stand| stand.tries);
    let deletions = SignedDuration::from_secs((live.rollout.replicas / DELETED_A_SECOND).into());
    let takes = STANDS * (1 << tries.min(DOUBLINGS)) + deletions;
    let since = match &observed.stand {
        Some(stand) => stand.since,
        None => since_applied(observed, live.applied?),
    };
    Some(Duration::try_from(takes - now.duration_since(since)).unwrap_or_default())
}

/// When what was applied then was, as far as our own clock can be later than the API server's, which tells `applied`: what has been
/// under way since then was not done before.
fn since_applied(observed: &Observed, applied: Timestamp) -> Timestamp {
    let working = observed.app.status.contract.condition(condition_type::RECONCILING);
    working.map_or(applied, |working| working.last_transition_time.max(applied))
}
