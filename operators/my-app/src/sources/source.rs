//! Pure: an object of `restartOn`, and what a read of it found.

use std::fmt;
use std::sync::Arc;

/// An object that `restartOn` names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RestartSource {
    /// The namespace of the MyApp.
    pub namespace: Arc<str>,
    pub(crate) kind: SourceKind,
    /// Its name.
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SourceKind {
    ConfigMap,
    Secret,
}

impl SourceKind {
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
        }
    }
}

impl fmt::Display for RestartSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.name)
    }
}

/// What a read of an object found.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceState {
    /// A digest of its content.
    Content([u8; 32]),
    /// There is no such object.
    Missing,
    /// The manager lacks the permission: the API server's message.
    Forbidden(String),
    /// The API server has not answered yet, and pods wait for the answer.
    Awaited,
    /// The API server has not answered for longer than pods wait for it.
    Unknown,
}
