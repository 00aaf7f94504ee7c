//! A child as a plan sees it.

use std::sync::Arc;

use super::meta::Meta;

/// What the cache says of a child with a given name.
#[derive(Debug)]
pub enum Seen<V> {
    /// Nothing that is this owner's. Something else may bear the name: a live look precedes the first apply.
    Absent,
    /// The owner's.
    Ours(Arc<V>),
    /// The owner's, and being deleted: waited for.
    Leaving,
    /// It does not decode; says why.
    Unreadable(String),
}

impl<V> Seen<V> {
    /// The child, if it is the owner's and stays.
    #[must_use]
    pub fn ours(&self) -> Option<&V> {
        match self {
            Self::Ours(view) => Some(view),
            _ => None,
        }
    }

    /// Judges a child by its metadata.
    #[must_use]
    pub fn judge(view: Arc<V>, meta: &Meta, owner: &Meta) -> Self {
        match (meta.controlled_by(&owner.uid), meta.deleting) {
            (true, false) => Self::Ours(view),
            (true, true) => Self::Leaving,
            (false, _) => Self::Absent,
        }
    }
}
