//! Pure: pods that have ended for good: the kubelet has rejected or evicted them, or their node was shut down.

use api::ConditionStatus;
use api::condition_type::READY;
use jiff::{SignedDuration, Timestamp};

use super::step::EtcdStep;
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::{Observed, clock};

/// How old such a pod has to be before it is replaced: if the kubelet rejected it at once, it would reject the next one, too.
const REPLACE_AFTER: SignedDuration = SignedDuration::from_secs(15);
/// The same after failures for [`PERSISTENT_AFTER`].
const REPLACE_PERSISTENT_AFTER: SignedDuration = SignedDuration::from_mins(1);
/// How long a member does not answer before its pods are replaced less often.
const PERSISTENT_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// Deletes such a pod. The member restarts on its volume in another one.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>, now: Timestamp) -> Option<EtcdStep> {
    let failed = members.all.iter().filter(|member| member.pod_details().is_some_and(|details| details.terminal));
    let mut old = failed.filter(|member| !is_young(observed, member, now));
    old.next().map(|member| EtcdStep::DeletePod { name: member.name.clone() })
}

/// Whether a pod has failed so soon after its creation that the next one would, too.
fn is_young(observed: &Observed, member: &MemberView<'_>, now: Timestamp) -> bool {
    let Some(details) = member.pod_details() else { return false };
    let Some(created) = details.created else { return false };
    let status = &observed.cluster.status;
    // A joining member has a new name each time.
    let joins = member.listed.is_none() && status.cluster_id.is_some();
    let unready = status.contract.condition(READY).filter(|ready| joins && ready.status == ConditionStatus::False);
    let since = match unready {
        Some(unready) => Some(unready.last_transition_time),
        None => status.member(&member.name).and_then(|status| status.since),
    };
    let persists = since.is_some_and(|since| clock::elapsed(since, now) >= PERSISTENT_AFTER);
    // A pod that ended, and was not rejected, has a time at which it ceased to be ready. By that it is old whatever the manager's
    // clock says.
    let lived = details.ready_since.map_or(SignedDuration::ZERO, |ended| ended.duration_since(created));
    now.duration_since(created).max(lived) < if persists { REPLACE_PERSISTENT_AFTER } else { REPLACE_AFTER }
}

/// Why a member's pod has ended for good.
pub(super) fn failure_of(member: &MemberView<'_>) -> Option<String> {
    let details = member.pod_details().filter(|details| details.terminal)?;
    Some(format!("its pod has failed: {}", details.failure.as_deref()?))
}
