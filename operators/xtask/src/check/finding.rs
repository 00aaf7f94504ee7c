//! A finding about a bundle, and its severity.

use serde::Deserialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// The bundle would be rejected.
    Error,
    /// The bundle would be accepted with a defect.
    Warning,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    pub level: Level,
    /// The source of the rule, and its name: `scorecard/olm-spec-descriptors`.
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
