//! A child as a plan sees it.

use api::ReconcileReason;
use std::ops::Deref;
use std::sync::Arc;

use super::drift::Fingerprint;
use super::meta::Meta;

/// What the cache says of a child with a given name.
#[derive(Debug)]
pub enum Seen<V> {
    /// Nothing that is this owner's. Something else may bear the name: a creation is refused then, and of kinds that are not
    /// created a live look precedes the first apply.
    Absent,
    /// The owner's.
    Ours(Live<V>),
    /// The owner's, and being deleted: waited for.
    Leaving,
    /// It does not decode; says why.
    Unreadable(String),
}

/// What the cache says of a child of a kind that may not be served.
#[derive(Debug)]
pub enum Served<V> {
    /// The kind is not served.
    Not,
    /// It is not known, or nothing is seen of it: says why.
    Unknown(String),
    /// It is served, and this is the child.
    Seen(Seen<V>),
}

impl<V> Served<V> {
    /// The child, if there can be one.
    #[must_use]
    pub fn seen(&self) -> Option<&Seen<V>> {
        match self {
            Self::Seen(seen) => Some(seen),
            Self::Not | Self::Unknown(_) => None,
        }
    }
}

/// A child that is there to stay.
#[derive(Debug)]
pub struct Live<V> {
    /// What the cache holds of it.
    pub view: Arc<V>,
    /// What was rendered last, if the child still is as the API server made it of that; else what of it is ours now.
    pub fingerprint: Fingerprint,
}

impl<V> Deref for Live<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.view
    }
}

impl<V> Seen<V> {
    /// The child, if it is the owner's and stays.
    #[must_use]
    pub fn ours(&self) -> Option<&Live<V>> {
        match self {
            Self::Ours(live) => Some(live),
            _ => None,
        }
    }

    /// Why the child, called `what`, cannot be judged now: a condition's reason, and a sentence.
    #[must_use]
    pub fn obstacle(&self, what: &str) -> Option<(ReconcileReason, String)> {
        match self {
            Self::Leaving => Some((
                ReconcileReason::WaitingForDeletion,
                format!("waiting until the {what} that is being deleted is gone"),
            )),
            Self::Unreadable(why) => {
                Some((ReconcileReason::Unreadable, format!("the {what} is not of the shape expected: {why}")))
            }
            Self::Absent | Self::Ours(_) => None,
        }
    }

    /// Judges a child by its metadata.
    #[must_use]
    pub fn judge(live: Live<V>, meta: &Meta, owner: &Meta) -> Self {
        match (meta.controlled_by(&owner.uid), meta.deleting) {
            (true, false) => Self::Ours(live),
            (true, true) => Self::Leaving,
            (false, _) => Self::Absent,
        }
    }
}
