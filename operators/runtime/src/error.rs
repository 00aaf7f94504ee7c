//! Errors, by what ends them.

use std::borrow::Cow;

/// Why a pass did not do all it planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What is asked for cannot be had: waits for an edit.
    #[error("{message}")]
    Invalid {
        /// The condition's reason.
        reason: Cow<'static, str>,
        /// What is wrong, and what to do.
        message: String,
    },
    /// Something else has to change first, and a watch will tell (with a slow second look, should it not).
    #[error("{message}")]
    Blocked {
        /// The condition's reason.
        reason: Cow<'static, str>,
        /// What is waited for.
        message: String,
    },
    /// May pass: tried again with growing delays.
    #[error("{message}")]
    Transient {
        /// The condition's reason.
        reason: Cow<'static, str>,
        /// What failed.
        message: String,
        /// Whether a person should look already.
        stalled: bool,
    },
}

impl Error {
    /// A [`Error::Transient`] that nobody need look at yet.
    #[must_use]
    pub fn transient(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Transient { reason: reason.into(), message: message.into(), stalled: false }
    }

    /// A [`Error::Blocked`].
    #[must_use]
    pub fn blocked(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Blocked { reason: reason.into(), message: message.into() }
    }

    /// The class, as a metric's label.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "Invalid",
            Self::Blocked { .. } => "Blocked",
            Self::Transient { .. } => "Transient",
        }
    }

    /// The condition's reason.
    #[must_use]
    pub fn reason(&self) -> Cow<'static, str> {
        match self {
            Self::Invalid { reason, .. } | Self::Blocked { reason, .. } | Self::Transient { reason, .. } => {
                reason.clone()
            }
        }
    }

    /// The reason of a pass over an object that is gone, or on its way: its own event will say so in a moment.
    pub const OWNER_LEAVING: &str = "OwnerLeaving";

    /// Whether it is the ordinary course of things, and nobody's news, after that many failures in a row.
    #[must_use]
    pub fn is_ordinary(&self, failures: u32) -> bool {
        let reason = self.reason();
        reason == Self::OWNER_LEAVING || (failures == 0 && reason == "Conflict")
    }

    /// Whether a person is needed.
    #[must_use]
    pub fn stalled(&self) -> bool {
        match self {
            Self::Invalid { .. } => true,
            Self::Blocked { .. } => false,
            Self::Transient { stalled, .. } => *stalled,
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        let kube::Error::Api(status) = &error else {
            return Self::transient(
                "APIServerUnreachable",
                format!("the API server did not answer: {}", innermost(&error)),
            );
        };
        let message = status.message.clone();
        match status.code {
            422 | 400 => Self::Invalid { reason: "Rejected".into(), message },
            409 => Self::transient("Conflict", message),
            // What is asked for goes with its namespace; no right is missing.
            403 if terminating(status) => Self::blocked("NamespaceTerminating", message),
            403 => Self::Transient { reason: "Forbidden".into(), message, stalled: true },
            404 => Self::Transient { reason: "NotFound".into(), message, stalled: true },
            _ => Self::transient("APIServerError", message),
        }
    }
}

/// Whether the refusal is that of a namespace that is being deleted.
fn terminating(refusal: &kube::core::Status) -> bool {
    let causes = refusal.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// The innermost cause, which is what a person can act on.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
