//! Pure: an object of `restartOn`, and the answer to a read of it.

use std::fmt;
use std::sync::Arc;

/// An object that `restartOn` names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The namespace of the MyApp.
    pub namespace: Arc<str>,
    pub(crate) kind: Kind,
    /// Its name.
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    ConfigMap,
    Secret,
}

impl Kind {
    pub(crate) fn plural(self) -> &'static str {
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

/// The answer to a read of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A digest of its content.
    Content([u8; 32]),
    /// There is no such object.
    Missing,
    /// The manager lacks the permission: the API server's message.
    Forbidden(String),
    /// The API server has not answered yet, and may in a moment.
    Awaited,
    /// The API server has not answered for longer than pods wait for it.
    Unknown,
}
