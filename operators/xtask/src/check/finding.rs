//! What is wrong with a bundle, and how bad it is.

use serde::Deserialize;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// The bundle would be refused.
    Error,
    /// It would be taken, and be the worse for it.
    Warning,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    pub level: Level,
    /// Whose rule, and which: `scorecard/olm-spec-descriptors`.
    pub check: String,
    pub message: String,
}

impl Finding {
    pub fn error(check: &str, message: impl Into<String>) -> Self {
        Self { level: Level::Error, check: check.to_owned(), message: message.into() }
    }

    pub fn warning(check: &str, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, check: check.to_owned(), message: message.into() }
    }
}
