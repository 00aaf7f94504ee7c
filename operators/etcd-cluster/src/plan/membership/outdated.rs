//! Pure: which members' pods are not as wished.

use crate::plan::objects::{TEMPLATE, VERSION};
use crate::plan::roster::{Node, Roster};
use crate::plan::wish::Wish;
use crate::plan::{Observed, space};

/// Whether a member is to get another pod, and keeps its data with it.
pub(in crate::plan) fn takes_other_pod(node: &Node<'_>, wish: &Wish) -> bool {
    wish.durable && !node.is_doomed() && needs_other_pod(node, wish)
}

/// Whether a roll is to reach a member. While options are refused, none is: what is wished lacks them, so it is not what a person has
/// asked for either.
pub(in crate::plan) fn rolls(observed: &Observed, node: &Node<'_>, wish: &Wish) -> bool {
    observed.options_refused.is_none() && is_outdated(node, wish)
}

/// Whether a member is to get another pod, or its pod another image.
pub(in crate::plan) fn is_to_change(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, wish: &Wish) -> bool {
    rolls(observed, node, wish) || space::can_have_more(observed, roster, node)
}

/// Whether only the image in a member's pod is to be another one.
pub(in crate::plan) fn keeps_its_pod(node: &Node<'_>, wish: &Wish) -> bool {
    !needs_other_pod(node, wish) && needs_other_version(node, wish)
}

/// Whether a member's pod differs from what is wished.
pub(in crate::plan) fn is_outdated(node: &Node<'_>, wish: &Wish) -> bool {
    needs_other_pod(node, wish) || needs_other_version(node, wish)
}

pub(in crate::plan) fn needs_other_pod(node: &Node<'_>, wish: &Wish) -> bool {
    node.annotation(TEMPLATE) != Some(wish.template.as_str())
}

pub(in crate::plan) fn needs_other_version(node: &Node<'_>, wish: &Wish) -> bool {
    node.annotation(VERSION) != Some(wish.version.to_string().as_str())
}

/// Whether two pods are made of the same.
pub(in crate::plan) fn same_pod(one: &Node<'_>, other: &Node<'_>) -> bool {
    [TEMPLATE, VERSION].iter().all(|name| one.annotation(name) == other.annotation(name))
}
