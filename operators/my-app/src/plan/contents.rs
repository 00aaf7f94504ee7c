//! What is known of the objects whose content restarts pods (`spec.restartOn`). Pure data.

use std::time::Duration;

/// What is known of the objects that `restartOn` names; nothing if it names none.
#[derive(Debug, Default)]
pub struct Contents {
    /// A digest of what is in them, if all could be read.
    pub digest: Option<String>,
    /// Why not, where that takes a person: a condition's reason, and a sentence.
    pub trouble: Option<(&'static str, String)>,
    /// When to look at them again.
    pub due: Option<Duration>,
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
