//! Pure: whether a child is applied, left unchanged, or deleted.

use runtime::plan::{Apply, ChildState, Delete, Effect};
use runtime::projections::AppliedChild;

/// The effect on a child that the spec may request: an apply, a deletion, or none.
pub(super) fn optional<V: AppliedChild>(seen: &ChildState<V>, desired: Option<Apply>) -> Option<Effect> {
    match desired {
        Some(apply) => applied(seen, apply).map(Effect::Apply),
        None => removal(seen, false),
    }
}

/// The apply of a child; `None` if it matches, or cannot be applied now.
pub(super) fn applied<V: AppliedChild>(seen: &ChildState<V>, desired: Apply) -> Option<Apply> {
    match seen {
        ChildState::Terminating | ChildState::Undecodable(_) => None,
        ChildState::Absent | ChildState::Owned(_) => seen.apply_if_drifted(desired),
    }
}

/// The deletion of an owned child, unless it is `desired`.
pub(super) fn removal<V: AppliedChild>(seen: &ChildState<V>, desired: bool) -> Option<Effect> {
    let child = seen.owned().filter(|_| !desired)?;
    Some(Effect::Delete(Delete::of(V::KIND, child.meta())))
}
