//! Pure: taking a member off the list, for a new one to come.

use api::etcd_cluster::EtcdClusterReason;

use super::step::Step;
use crate::plan::roster::{Node, Roster};

/// Takes a member off the list, for a new one to come; if the others can do without it.
pub(super) fn replace(roster: &Roster<'_>, node: &Node<'_>, why: String) -> Step {
    let Some(member) = node.member else { return Step::Rest };
    if roster.members().count() > 1 && roster.can_lose(node) {
        return Step::Remove { name: node.name.clone(), id: member.id, dead: Some(why) };
    }
    let others =
        if roster.members().count() > 1 { "the others have no quorum without it" } else { "it is the only one" };
    Step::stuck(
        EtcdClusterReason::MemberLost,
        format!(
            "member {} cannot come back ({why}), and {others}, so it is not replaced: bring its volume back, or restore \
             the cluster from a backup",
            node.name
        ),
    )
}

/// The same, for a member that would not find its data again in another pod.
pub(super) fn replace_doomed(roster: &Roster<'_>, node: &Node<'_>) -> Step {
    replace(roster, node, "its claim is being deleted, or its volume lost".to_owned())
}
