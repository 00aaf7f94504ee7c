//! What becomes of one child: it is applied, left alone, or deleted. Pure.

use runtime::plan::{Apply, Delete, Effect, Seen};
use runtime::views::Kept;

/// A child that is wanted or not: applied, left alone, or deleted.
pub(super) fn optional<V: Kept>(seen: &Seen<V>, wanted: Option<Apply>) -> Option<Effect> {
    match wanted {
        Some(apply) => applied(seen, apply).map(Effect::Apply),
        None => unwanted(seen, false),
    }
}

/// What makes a child as wanted; nothing if it is, or cannot be now.
pub(super) fn applied<V: Kept>(seen: &Seen<V>, wanted: Apply) -> Option<Apply> {
    match seen {
        Seen::Leaving | Seen::Unreadable(_) => None,
        Seen::Absent | Seen::Ours(_) => seen.kept(wanted),
    }
}

/// The deletion of a child of ours that is not wanted.
pub(super) fn unwanted<V: Kept>(seen: &Seen<V>, wanted: bool) -> Option<Effect> {
    let child = seen.ours().filter(|_| !wanted)?;
    Some(Effect::Delete(Delete::of(V::KIND, child.meta())))
}
