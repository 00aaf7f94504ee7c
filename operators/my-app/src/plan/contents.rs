//! Pure: what is known of the objects whose content restarts pods (`spec.restartOn`).

use std::time::Duration;

use api::Reason;

/// What is known of the objects that `restartOn` names; the default if it names none.
#[derive(Debug, Default)]
pub struct RestartContents {
    /// A digest of their content, if all could be read.
    pub digest: Option<String>,
    /// Why not, if the user has to act: a condition's reason, and a message.
    pub failure: Option<(Reason, String)>,
    /// An object for which the API server has not answered yet.
    pub unread: Option<UnreadSource>,
    /// When to read them again.
    pub due: Option<Duration>,
}

/// An object for which the API server has not answered: it is unknown whether it exists and may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadSource {
    /// Its kind and name.
    pub source: String,
    /// Whether the operator expects an answer soon, and creates no pods until then.
    pub is_awaited: bool,
}

impl UnreadSource {
    /// The first of two, or the second if only that one is awaited.
    pub(crate) fn prefer_awaited(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if other.is_awaited && !one.is_awaited => Some(other),
            (one, other) => one.or(other),
        }
    }
}

/// A dry run of a pod with overrides that the API server has not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRunFailure {
    /// Whether the API server did not answer. Otherwise it rejected the pod.
    pub is_transient: bool,
    /// Its message, or why it did not answer.
    pub message: String,
    /// When to try again.
    pub due: Duration,
}
