//! Pure: what a store keeps of an object.

use std::time::Instant;

use crate::apply::drift::Fingerprint;
use crate::plan::meta::{Kind, Meta, Owner};

/// A projection of one kind's objects: what planners read, and nothing else.
pub trait Projection: Sized + Send + Sync + 'static {
    /// The kind.
    const KIND: Kind;
    /// Whether only objects with the managed-by label are watched: so for children, not for custom resources.
    const SELECTED: bool;
    /// Whether the kind is of a CRD that a cluster may do without, so that it is nobody's fault if it is not served.
    const MAY_BE_MISSING: bool = false;

    /// Reads one object as the API server sends it.
    ///
    /// # Errors
    /// If the object is not of the shape expected; the store then keeps it as [`super::Broken`].
    fn decode(json: &str) -> serde_json::Result<Self>;

    /// Who it is.
    fn meta(&self) -> &Meta;

    /// The object of ours that it belongs to, by which its changes find their queue.
    fn owner(&self) -> Option<&Owner> {
        self.meta().controller.as_ref().map(|c| &c.owner)
    }

    /// What of it is ours; nothing of what we do not apply.
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_nothing()
    }

    /// Whether nothing that a planner reads differs, identity and metadata apart.
    fn same(&self, before: &Self) -> bool;

    /// Takes over from the version `before`, if the store holds one, what is still so and not told any more.
    fn carry_over(&mut self, _before: Option<&Self>, _now: Instant) {}

    /// Whether nothing differs that only others write. An event in which such a thing changes is news even if it bears
    /// the version of our own last write: an apply that changes nothing is answered with the version of somebody's else.
    fn only_own_fields_changed(&self, _before: &Self) -> bool {
        true
    }

    /// Since when it reads otherwise than it did, though nobody has written another spec: by a CRD that has changed.
    fn reread(&self) -> Option<Instant> {
        None
    }

    /// Whether the store holds it at all.
    fn kept(&self) -> bool {
        true
    }
}

/// Whether nothing that a planner reads differs, metadata included.
pub(super) fn unchanged<V: Projection>(now: &V, before: &V) -> bool {
    let (a, b) = (now.meta(), before.meta());
    a.uid == b.uid
        && a.generation == b.generation
        && a.deleting == b.deleting
        && a.controller == b.controller
        && a.finalizers == b.finalizers
        && now.same(before)
}
