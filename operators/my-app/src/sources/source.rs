//! An object of `restartOn`, and what a look at it gave.

use std::fmt;
use std::sync::Arc;

/// One object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Source {
    pub(super) namespace: Arc<str>,
    pub(super) kind: Kind,
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    ConfigMap,
    Secret,
}

impl Kind {
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.name)
    }
}

/// What a look at an object gave.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// A digest of what is in it.
    Content([u8; 32]),
    Missing,
    /// The right is missing: the API server's words.
    Forbidden(String),
    /// Nothing has been said so far, and there may be an answer in a moment.
    Awaited,
    /// Nothing has been said for longer than anybody waits for it.
    Unknown,
}
