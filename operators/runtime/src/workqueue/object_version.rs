//! Pure: the version of an object after a write or in an event.

use crate::plan::meta::{Key, ResourceKind};

/// A version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// The object's kind.
    pub kind: ResourceKind,
    /// The object.
    pub key: Key,
    /// Its version.
    pub version: ResourceVersion,
}

/// A version, or a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceVersion {
    /// This `resourceVersion`.
    Exact(u64),
    /// Deleted or terminating.
    Deleted,
}

impl ObjectVersion {
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.kind == other.kind && self.key == other.key
    }

    /// Whether the event of `self` implies that of `write`.
    pub(super) fn covers(&self, write: &Self) -> bool {
        self.is_of(write)
            && match (self.version, write.version) {
                (ResourceVersion::Deleted, _) => true,
                (ResourceVersion::Exact(seen), ResourceVersion::Exact(written)) => seen >= written,
                (ResourceVersion::Exact(_), ResourceVersion::Deleted) => false,
            }
    }
}
