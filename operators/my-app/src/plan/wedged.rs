//! A Deployment that its own controller has come to a standstill with. Pure.
//!
//! While two ReplicaSets of a Deployment of type Recreate have pods, and ask for another number than the Deployment does, that
//! controller takes each look for one that scales, scales neither ("proportionally" is for rolling updates alone), and never gets
//! to replacing pods (kubernetes: pkg/controller/deployment/sync.go, `isScalingEvent` and `scale`). It takes a change of the type
//! amid a rollout together with one of the number; the pods then stay, whatever is asked for, none included. As a paused rolling
//! update it is scaled, and then goes on as it was.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use runtime::views::Deployment;

use super::Observed;

/// A controller that is merely at work is done with this sooner: pods that are on their way out are not counted.
const STANDS: SignedDuration = SignedDuration::from_secs(15);

/// For how long it is still taken for work, if it looks like a standstill.
pub(super) fn left(observed: &Observed, now: Timestamp) -> Option<Duration> {
    let live = observed.deployment.ours().filter(|_| !observed.app.spec.paused)?;
    let since = live.applied.filter(|_| looks_so(live))?;
    Some(Duration::try_from(STANDS - now.duration_since(since)).unwrap_or_default())
}

fn looks_so(live: &Deployment) -> bool {
    let rollout = &live.rollout;
    let recreates = !live.has_pace;
    let observed = rollout.observed_generation >= live.meta.generation;
    recreates && !live.paused && observed && rollout.replicas > rollout.updated_replicas
}
