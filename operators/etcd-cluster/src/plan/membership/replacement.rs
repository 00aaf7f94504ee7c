//! Pure: removes a member so that a new one replaces it.

use api::etcd_cluster::EtcdClusterReason;

use super::step::EtcdStep;
use crate::plan::member_set::{MemberSet, MemberView};

/// Removes a member so that a new one replaces it, if the others have quorum without it.
pub(super) fn replace(members: &MemberSet<'_>, member: &MemberView<'_>, why: String) -> EtcdStep {
    let Some(listed) = member.listed else { return EtcdStep::Rest };
    if members.listed().count() > 1 && members.keeps_quorum_without(member) {
        return EtcdStep::Remove {
            name: member.name.clone(),
            id: listed.id,
            replaced_because: Some(why),
            keeps_claim: false,
        };
    }
    let others =
        if members.listed().count() > 1 { "the others have no quorum without it" } else { "it is the only member" };
    EtcdStep::stuck(
        EtcdClusterReason::MemberLost,
        format!(
            "member {} is not replaced: it cannot restart ({why}), and {others}; recover its volume, or restore the cluster \
             from a backup",
            member.name
        ),
    )
}

/// The same for a member whose PVC no new pod can use.
pub(super) fn replace_without_volume(members: &MemberSet<'_>, member: &MemberView<'_>) -> EtcdStep {
    replace(members, member, "its PVC is terminating or its volume is lost".to_owned())
}
