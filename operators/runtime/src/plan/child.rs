//! Pure: a child as a plan sees it.

use api::ReconcileReason;
use std::ops::Deref;
use std::sync::Arc;

use super::meta::Meta;
use crate::apply::drift::Fingerprint;

/// What the cache says of a child with a given name.
#[derive(Debug)]
pub enum ChildState<V> {
    /// Nothing that is this owner's. Something else may bear the name: a creation is refused then, and of kinds that are not
    /// created a live look precedes the first apply.
    Absent,
    /// The owner's.
    Owned(OwnedChild<V>),
    /// The owner's, and being deleted: waited for.
    Terminating,
    /// It does not decode; says why.
    Undecodable(String),
}

/// What the cache says of a child of a kind that may not be served.
#[derive(Debug)]
pub enum Served<V> {
    /// The kind is not served.
    Not,
    /// It is not known, or nothing is seen of it: says why.
    Unknown(String),
    /// It is served, and this is the child.
    Child(ChildState<V>),
}

impl<V> Served<V> {
    /// The child, if there can be one.
    #[must_use]
    pub fn seen(&self) -> Option<&ChildState<V>> {
        match self {
            Self::Child(seen) => Some(seen),
            Self::Not | Self::Unknown(_) => None,
        }
    }
}

/// A child that is there to stay.
#[derive(Debug)]
pub struct OwnedChild<V> {
    /// What the cache holds of it.
    pub view: Arc<V>,
    /// What was rendered last, if the child still is as the API server made it of that; else what of it is ours now.
    pub fingerprint: Fingerprint,
}

impl<V> Deref for OwnedChild<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.view
    }
}

impl<V> ChildState<V> {
    /// The child, if it is the owner's and stays.
    #[must_use]
    pub fn owned(&self) -> Option<&OwnedChild<V>> {
        match self {
            Self::Owned(live) => Some(live),
            _ => None,
        }
    }

    /// Why the child, called `what`, cannot be judged now: a condition's reason, and a sentence.
    #[must_use]
    pub fn obstacle(&self, what: &str) -> Option<(ReconcileReason, String)> {
        match self {
            Self::Terminating => {
                Some((ReconcileReason::WaitingForDeletion, format!("waiting for the {what} to be deleted")))
            }
            Self::Undecodable(why) => {
                Some((ReconcileReason::Unreadable, format!("the {what} cannot be decoded: {why}")))
            }
            Self::Absent | Self::Owned(_) => None,
        }
    }

    /// Judges a child by its metadata.
    #[must_use]
    pub fn judge(live: OwnedChild<V>, meta: &Meta, owner: &Meta) -> Self {
        match (meta.controlled_by(&owner.uid), meta.deleting) {
            (true, false) => Self::Owned(live),
            (true, true) => Self::Terminating,
            (false, _) => Self::Absent,
        }
    }
}
