//! Pure: members whose data differs from that of their peers (alarm CORRUPT). While that alarm is on, the others may hold the
//! only good copies, so the operator removes none of them for a smaller size or a new pod.

use super::step::EtcdStep;
use crate::plan::member_set::{MemberSet, MemberView, transfer_target};
use crate::plan::{Alarm, Observed};

/// Whether the alarm is on, even if it is not known whose data differs.
pub(super) fn is_on(observed: &Observed) -> bool {
    observed.etcd.alarms.iter().any(|(_, alarm)| *alarm == Alarm::Corrupt)
}

/// Whether the alarm names a member.
pub(super) fn is_named(observed: &Observed, member: &MemberView<'_>) -> bool {
    member.listed.is_some_and(|listed| observed.etcd.alarms.contains(&(listed.id, Alarm::Corrupt)))
}

/// Whether a member may be removed where that repairs nothing. With the alarm on, these are a member that it names, unless it
/// names all, and a member whose PVC a user has deleted as the remedy of the alarm says.
pub(super) fn may_remove(observed: &Observed, members: &MemberSet<'_>, member: &MemberView<'_>) -> bool {
    let named = || is_named(observed, member) && members.voters().any(|other| !is_named(observed, other));
    !is_on(observed) || member.has_unusable_claim() || named()
}

/// The step if no member may be removed. Its message follows that of the alarm.
pub(super) fn wait() -> EtcdStep {
    EtcdStep::wait(Alarm::Corrupt.reason(), "no other member is removed or replaced until the alarm is disarmed")
}

/// Transfers leadership from a leader that the alarm names, before new members copy its data.
pub(super) fn transfer_leadership(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdStep> {
    let leader = members.leader().filter(|leader| is_named(observed, leader))?;
    let target = transfer_target(members, leader, |member| is_good_leader(observed, members, member))?;
    Some(EtcdStep::MoveLeader { to: target.name.clone(), requested: false })
}

/// Whether a member is healthy, has caught up and keeps its volume, and its data is not corrupt.
pub(super) fn is_good_leader(observed: &Observed, members: &MemberSet<'_>, member: &MemberView<'_>) -> bool {
    member.is_healthy() && members.has_caught_up(member) && !member.has_unusable_claim() && !is_named(observed, member)
}
