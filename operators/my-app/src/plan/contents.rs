//! What is known of the objects whose content restarts pods (`spec.restartOn`). Pure data.

use std::time::Duration;

use api::Reason;

/// What is known of the objects that `restartOn` names; nothing if it names none.
#[derive(Debug, Default)]
pub struct Contents {
    /// A digest of what is in them, if all could be read.
    pub digest: Option<String>,
    /// Why not, where that takes a person: a condition's reason, and a sentence.
    pub trouble: Option<(Reason, String)>,
    /// Why not, where the API server has not said anything of one so far.
    pub unread: Option<Unread>,
    /// When to look at them again.
    pub due: Option<Duration>,
}

/// An object of which nothing is known yet: neither what is in it, nor that it is missing or may not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Its kind and name.
    pub source: String,
    /// Whether an answer may be there in a moment, so that pods that are yet to be made wait for it.
    pub is_awaited: bool,
}

impl Unread {
    /// One of two: what is awaited, rather than what is not.
    pub(crate) fn more(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if other.is_awaited && !one.is_awaited => Some(other),
            (one, other) => one.or(other),
        }
    }
}

/// That the API server has not accepted pods with overrides, in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Whether it has not said anything of them, which may pass, and has not refused them.
    pub is_passing: bool,
    /// Its answer, or why there is none.
    pub message: String,
    /// When to ask again.
    pub due: Duration,
}
