//! Pure: the state of a child in a plan.

use api::ReconcileReason;
use std::ops::Deref;
use std::sync::Arc;

use super::meta::Meta;
use crate::apply::drift::Fingerprint;

/// The state of a child with a given name, from the cache.
#[derive(Debug)]
pub enum ChildState<V> {
    /// The owner has no such child. Another object may have the name: then a creation is rejected, and for kinds without
    /// creation, a live read precedes the first apply.
    Absent,
    /// The child exists, and the owner controls it.
    Owned(OwnedChild<V>),
    /// The owner controls it, and it is being deleted: the operator waits.
    Terminating,
    /// It does not decode, for this reason.
    Undecodable(String),
}

/// The state of a child of an optional kind, from the cache.
#[derive(Debug)]
pub enum Served<V> {
    /// The kind is not served.
    Not,
    /// It is not known, for this reason.
    Unknown(String),
    /// The kind is served, with this state of the child.
    Child(ChildState<V>),
}

impl<V> Served<V> {
    /// The state of the child, if the kind is served.
    #[must_use]
    pub fn seen(&self) -> Option<&ChildState<V>> {
        match self {
            Self::Child(seen) => Some(seen),
            Self::Not | Self::Unknown(_) => None,
        }
    }
}

/// A child that the owner controls, and that is not being deleted.
#[derive(Debug)]
pub struct OwnedChild<V> {
    /// Its projection.
    pub view: Arc<V>,
    /// The fingerprint that was rendered last, if the child is still as the API server stored it; otherwise that of its owned
    /// part.
    pub fingerprint: Fingerprint,
}

impl<V> Deref for OwnedChild<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.view
    }
}

impl<V> ChildState<V> {
    /// The child, if the owner controls it and it is not being deleted.
    #[must_use]
    pub fn owned(&self) -> Option<&OwnedChild<V>> {
        match self {
            Self::Owned(live) => Some(live),
            _ => None,
        }
    }

    /// Why the child, named `what` in the message, blocks decisions now: the reason and the message of a condition.
    #[must_use]
    pub fn blocking_reason(&self, what: &str) -> Option<(ReconcileReason, String)> {
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

    /// The state of a child, by its metadata.
    #[must_use]
    pub fn judge(live: OwnedChild<V>, meta: &Meta, owner: &Meta) -> Self {
        match (meta.controlled_by(&owner.uid), meta.deleting) {
            (true, false) => Self::Owned(live),
            (true, true) => Self::Terminating,
            (false, _) => Self::Absent,
        }
    }
}
