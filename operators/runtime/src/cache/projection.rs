//! Pure: the part of an object that a store keeps.

use tokio::time::Instant;

use crate::apply::drift::Fingerprint;
use crate::plan::meta::{Meta, Owner, ResourceKind};

/// The projection of one kind: what planners read, and nothing else.
pub trait Projection: Sized + Send + Sync + 'static {
    /// The kind.
    const KIND: ResourceKind;
    /// Whether only objects with the managed-by label are watched: true for children, false for custom resources.
    const SELECTED: bool;
    /// Whether the kind belongs to an optional CRD, so that it is no failure if the API server does not serve it.
    const MAY_BE_MISSING: bool = false;

    /// Reads one object as the API server sends it.
    ///
    /// # Errors
    /// If the object has an unexpected shape; the store then keeps it as [`super::Undecodable`].
    fn decode(json: &str) -> serde_json::Result<Self>;

    /// Its metadata.
    fn meta(&self) -> &Meta;

    /// The managed object that it belongs to, whose key its changes enqueue.
    fn owner(&self) -> Option<&Owner> {
        self.meta().controller.as_ref().map(|c| &c.owner)
    }

    /// The fingerprint of its owned part; that of nothing if it is never applied.
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_nothing()
    }

    /// Whether nothing that a planner reads differs, apart from metadata.
    fn has_same_content(&self, before: &Self) -> bool;

    /// Carries over from the version `before`, if the store holds one, what still holds and is no longer sent.
    fn carry_over(&mut self, _before: Option<&Self>, _now: Instant) {}

    /// Whether no field differs that only others write. An event with such a change triggers a reconcile even if it has the
    /// version of our own last write: the response to an apply that changes nothing has the version of another client's write.
    fn only_own_fields_changed(&self, _before: &Self) -> bool {
        true
    }

    /// When its decoded spec changed within one generation, that is, through a change of the CRD.
    fn reread(&self) -> Option<Instant> {
        None
    }

    /// Whether the store keeps it.
    fn is_retained(&self) -> bool {
        true
    }
}

/// Whether nothing that a planner reads differs, metadata included.
pub(super) fn is_unchanged<V: Projection>(now: &V, before: &V) -> bool {
    let (a, b) = (now.meta(), before.meta());
    a.uid == b.uid
        && a.generation == b.generation
        && a.deleting == b.deleting
        && a.controller == b.controller
        && a.finalizers == b.finalizers
        && now.has_same_content(before)
}
