//! Pure: members whose data are not those of their peers (alarm CORRUPT). While that alarm is on, the others may hold the only
//! good copies: none of them is given up because fewer members are wanted, or other pods.

use super::step::Step;
use crate::plan::roster::{Node, Roster, heir};
use crate::plan::{Alarm, Observed};

/// Whether the alarm is on, be it known whose data differ or not.
pub(super) fn is_on(observed: &Observed) -> bool {
    observed.etcd.alarms.iter().any(|(_, alarm)| *alarm == Alarm::Corrupt)
}

/// Whether the alarm names a member.
pub(super) fn differs(observed: &Observed, node: &Node<'_>) -> bool {
    node.member.is_some_and(|member| observed.etcd.alarms.contains(&(member.id, Alarm::Corrupt)))
}

/// Whether a member may go for good, where that heals nothing: with the alarm on, the one that it names, unless it names all; and the one
/// whose claim a person has deleted, as the alarm's remedy says.
pub(super) fn may_go(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>) -> bool {
    let named = || differs(observed, node) && roster.voters().any(|other| !differs(observed, other));
    !is_on(observed) || node.is_doomed() || named()
}

/// What is told where none may. The alarm itself is told first.
pub(super) fn wait() -> Step {
    Step::wait(
        Alarm::Corrupt.reason(),
        "until the alarm is off, no other member is removed, nor replaced for another pod",
    )
}

/// Has another member lead before new ones are filled with what the leader has, if the alarm names that.
pub(super) fn hand_over(observed: &Observed, roster: &Roster<'_>) -> Option<Step> {
    let leader = roster.leader().filter(|leader| differs(observed, leader))?;
    let good =
        |node: &Node<'_>| node.is_healthy() && roster.caught_up(node) && !node.is_doomed() && !differs(observed, node);
    let heir = heir(roster, leader, good)?;
    Some(Step::MoveLeader { to: heir.name.clone(), asked: false })
}
