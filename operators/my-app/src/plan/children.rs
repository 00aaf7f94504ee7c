//! Pure: what happens to one child: it is applied, left alone, or deleted.

use runtime::plan::{Apply, ChildState, Delete, Effect};
use runtime::projections::Kept;

/// A child that is wanted or not: applied, left alone, or deleted.
pub(super) fn optional<V: Kept>(seen: &ChildState<V>, wanted: Option<Apply>) -> Option<Effect> {
    match wanted {
        Some(apply) => applied(seen, apply).map(Effect::Apply),
        None => removal(seen, false),
    }
}

/// The apply of a child; `None` if it matches, or cannot be applied now.
pub(super) fn applied<V: Kept>(seen: &ChildState<V>, wanted: Apply) -> Option<Apply> {
    match seen {
        ChildState::Terminating | ChildState::Undecodable(_) => None,
        ChildState::Absent | ChildState::Owned(_) => seen.kept(wanted),
    }
}

/// The deletion of an owned child, unless it is `wanted`.
pub(super) fn removal<V: Kept>(seen: &ChildState<V>, wanted: bool) -> Option<Effect> {
    let child = seen.owned().filter(|_| !wanted)?;
    Some(Effect::Delete(Delete::of(V::KIND, child.meta())))
}
