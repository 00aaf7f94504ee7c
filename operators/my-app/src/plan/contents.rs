//! Pure: what is known of the objects whose content restarts pods (`spec.restartOn`). Pure data.

use std::time::Duration;

use api::Reason;

/// What is known of the objects that `restartOn` names; nothing if it names none.
#[derive(Debug, Default)]
pub struct Contents {
    /// A digest of their content, if all could be read.
    pub digest: Option<String>,
    /// Why not, where the user has to act: a condition's reason, and a message.
    pub failure: Option<(Reason, String)>,
    /// An object that the API server has not answered for so far.
    pub unread: Option<Unread>,
    /// When to read them again.
    pub due: Option<Duration>,
}

/// An object of which nothing is known yet: neither its content, nor whether it exists and may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Its kind and name.
    pub source: String,
    /// Whether an answer is expected in a moment, so that the creation of pods waits for it.
    pub is_awaited: bool,
}

impl Unread {
    /// One of two: preferably one that is awaited.
    pub(crate) fn more(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if other.is_awaited && !one.is_awaited => Some(other),
            (one, other) => one.or(other),
        }
    }
}

/// A dry run of a pod with overrides that the API server has not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRunFailure {
    /// Whether the API server did not answer, rather than refuse the pod.
    pub is_transient: bool,
    /// Its answer, or why there is none.
    pub message: String,
    /// When to try again.
    pub due: Duration,
}
