//! Pure: one member more, where another cannot be kept.

use super::corrupt;
use super::outdated::needs_other_pod;
use crate::plan::Observed;
use crate::plan::roster::{Node, Roster};
use crate::plan::wish::Wish;

/// A claim that somebody deleted goes with its pod, and the data with it; and it cannot be kept. So one member more is wanted, on
/// a volume that stays. When that votes, the one whose claim goes is the first to be removed. The same for members that keep
/// their data in their pods and need others: should the new member never run, none of those that do has been given up.
pub(super) fn with_a_spare(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Wish {
    let few = roster.voters().count() <= wish.size;
    let spare = few
        && is_spare_needed(observed, roster, wish)
        && (wish.durable || observed.refused.is_none() && observed.options_refused.is_none());
    Wish { size: wish.size + usize::from(spare), ..wish.clone() }
}

/// Whether a healthy voter has to make way for a new member. Fewer than three without volumes stay as they are; so do any while the data
/// of one of them differ, with which the leader might fill the new one.
pub(super) fn is_spare_needed(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> bool {
    let enough = wish.durable || roster.voters().count() >= 3 && !corrupt::is_on(observed);
    enough && roster.voters().any(|node| node.is_healthy() && makes_way(node, wish))
}

/// Whether a member cannot be kept: its volume goes with its pod, or its data with a pod that has to be another.
pub(super) fn makes_way(node: &Node<'_>, wish: &Wish) -> bool {
    if wish.durable { node.is_doomed() } else { needs_other_pod(node, wish) }
}
