//! Pure: Pods that the kubelet is done with: it has rejected them, evicted them, or their node was shut down.

use api::ConditionStatus;
use api::condition_type::READY;
use jiff::{SignedDuration, Timestamp};

use super::step::Step;
use crate::plan::roster::{Node, Roster};
use crate::plan::{Observed, clock};

/// How old such a pod has to be before it is replaced: one that is rejected at once would be again.
const PAUSE: SignedDuration = SignedDuration::from_secs(15);
/// The same, where that has been going on for [`PERSISTENT`].
const LONG_PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// For how long a member does not answer before pods that are made for it are replaced less often.
const PERSISTENT: SignedDuration = SignedDuration::from_mins(1);

/// Deletes such a pod. On its volume, a member comes back in another one.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>, now: Timestamp) -> Option<Step> {
    let failed = roster.nodes.iter().filter(|node| node.running().is_some_and(|running| running.over));
    let mut ripe = failed.filter(|node| !is_young(observed, node, now));
    ripe.next().map(|node| Step::DropPod { name: node.name.clone() })
}

/// Whether a pod has failed so soon that the next one would, too.
fn is_young(observed: &Observed, node: &Node<'_>, now: Timestamp) -> bool {
    let Some(running) = node.running() else { return false };
    let Some(created) = running.created else { return false };
    let status = &observed.cluster.status;
    // One that joins has another name each time.
    let joins = node.member.is_none() && status.cluster_id.is_some();
    let unready = status.contract.condition(READY).filter(|ready| joins && ready.status == ConditionStatus::False);
    let since = match unready {
        Some(unready) => Some(unready.last_transition_time),
        None => status.member(&node.name).and_then(|status| status.since),
    };
    let persists = since.is_some_and(|since| clock::lasted(since, now) >= PERSISTENT);
    // One that ended, and was not rejected, says when it ceased to be ready: by that it is old whatever the manager's clock says.
    let lived = running.ready_since.map_or(SignedDuration::ZERO, |ended| ended.duration_since(created));
    now.duration_since(created).max(lived) < if persists { LONG_PAUSE } else { PAUSE }
}

/// Why the kubelet is done with a member's pod.
pub(super) fn why(node: &Node<'_>) -> Option<String> {
    let running = node.running().filter(|running| running.over)?;
    Some(format!("its pod has failed: {}", running.failure.as_deref()?))
}
