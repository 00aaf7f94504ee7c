//! Pure: an additional member while another one cannot be kept.

use super::corruption;
use super::outdated::needs_new_pod;
use crate::plan::Observed;
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView};

/// Desires one more member while a member must be replaced. A terminating PVC is deleted, with its data, once its pod ends, and
/// that cannot be undone. So the operator adds a member on another volume, and removes the old member once the new one votes. It
/// does the same for members that keep their data in their pods and need new ones: if the new member never runs, no running one
/// is lost.
pub(super) fn with_surge_member(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Desired {
    let no_surge = members.voters().count() <= desired.size;
    let surges = no_surge
        && needs_surge_member(observed, members, desired)
        && (desired.durable || observed.pod_rejected.is_none() && !observed.refuses_new_pods());
    Desired { size: desired.size + usize::from(surges), ..desired.clone() }
}

/// Whether a new member has to replace a healthy voter. Fewer than three members without volumes are not replaced; nor are any
/// while the data of one of them differs, since the leader might copy that to the new one.
pub(super) fn needs_surge_member(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> bool {
    let enough = desired.durable || members.voters().count() >= 3 && !corruption::is_on(observed);
    enough && members.voters().any(|member| member.is_healthy() && must_be_replaced(member, desired))
}

/// Whether a member cannot be kept: its PVC is terminating, or its data is in a pod that has to be replaced.
pub(super) fn must_be_replaced(member: &MemberView<'_>, desired: &Desired) -> bool {
    if desired.durable { member.has_unusable_claim() } else { needs_new_pod(member, desired) }
}
