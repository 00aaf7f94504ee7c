//! Pure: which version of which object a write made, or an event brought.

use crate::plan::meta::{Key, Kind};

/// One version of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The object's kind.
    pub kind: Kind,
    /// The object.
    pub key: Key,
    /// Its `resourceVersion`, or what else is known of it.
    pub at: At,
}

/// Which version of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// That `resourceVersion`.
    Version(u64),
    /// Deleted, or on its way out.
    Gone,
}

impl Version {
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.kind == other.kind && self.key == other.key
    }

    /// Whether having seen `self` means that `write` has come back.
    pub(super) fn covers(&self, write: &Self) -> bool {
        self.is_of(write)
            && match (self.at, write.at) {
                (At::Gone, _) => true,
                (At::Version(seen), At::Version(written)) => seen >= written,
                (At::Version(_), At::Gone) => false,
            }
    }
}
