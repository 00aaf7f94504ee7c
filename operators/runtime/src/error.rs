//! Pure: errors, by what ends them.

use api::{Reason, ReconcileReason};

mod fights;

/// What an apply is answered, as a fault of the server (500), where it is no object of that kind: a value is of another type, say, or
/// two items of a list have the same keys.
const NO_SUCH_OBJECT: &str = "failed to create typed patch object";

/// How that goes on where the schema of the object lacks a field.
const UNDECLARED: &str = "field not declared in schema";

/// What a creation is answered while the CRD of its kind is being deleted.
/// (kubernetes: apiextensions-apiserver/pkg/apiserver/customresource_handler.go)
const KIND_TERMINATING: &str = "not allowed while custom resource definition is terminating";

/// How often in a row a kind may be found not to be served until that is news: the watch, which then looks, knows sooner.
const KIND_GONE_FAILURES: u32 = 5;

/// Why a pass did not do all it planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What is asked for cannot be had: waits for an edit.
    #[error("{message}")]
    Invalid {
        /// The condition's reason.
        reason: Reason,
        /// What is wrong, and what to do.
        message: String,
    },
    /// Something else has to change first, and a watch will tell (with a slow second look, should it not).
    #[error("{message}")]
    Blocked {
        /// The condition's reason.
        reason: Reason,
        /// What is waited for.
        message: String,
    },
    /// May pass: tried again with growing delays.
    #[error("{message}")]
    Transient {
        /// The condition's reason.
        reason: Reason,
        /// What failed.
        message: String,
        /// Whether a person should look already.
        stalled: bool,
    },
}

impl Error {
    /// A [`Error::Transient`] that nobody need look at yet.
    #[must_use]
    pub fn transient(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Transient { reason: reason.into(), message: message.into(), stalled: false }
    }

    /// A [`Error::Blocked`].
    #[must_use]
    pub fn blocked(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Blocked { reason: reason.into(), message: message.into() }
    }

    /// This manager may write no more, for the time being at least.
    #[must_use]
    pub fn not_leading() -> Self {
        Self::transient(ReconcileReason::NotLeading, "this manager does not lead now, so it writes nothing")
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
    pub fn reason(&self) -> Reason {
        match self {
            Self::Invalid { reason, .. } | Self::Blocked { reason, .. } | Self::Transient { reason, .. } => {
                reason.clone()
            }
        }
    }

    /// The same, with the object's name and size where it is its size that matters.
    #[must_use]
    pub fn about(self, kind: &str, name: &str, bytes: usize) -> Self {
        match self {
            Self::Invalid { reason, message } if reason == ReconcileReason::TooLarge => {
                Self::Invalid { reason, message: format!("{kind} {name} ({} KiB): {message}", bytes.div_ceil(1024)) }
            }
            other => other,
        }
    }

    /// Whether it is the ordinary course of things, and nobody's news, after that many failures in a row.
    #[must_use]
    pub fn is_expected(&self, failures: u32) -> bool {
        let reason = self.reason();
        reason.is_one_of(&[ReconcileReason::OwnerLeaving, ReconcileReason::NotLeading])
            || (failures == 0 && reason == ReconcileReason::Conflict)
            || (failures < KIND_GONE_FAILURES && reason == ReconcileReason::KindNotServed)
    }

    /// Whether it is what an apply is told by an API server whose schema of the object lacks a field.
    #[must_use]
    pub fn is_undeclared_field(&self) -> bool {
        matches!(self, Self::Transient { message, .. } if message.contains(UNDECLARED))
    }

    /// The same of a child: what its schema does not have was asked for, and no try brings it.
    #[must_use]
    pub fn of_child(self) -> Self {
        match self {
            Self::Transient { message, .. }
                if [NO_SUCH_OBJECT, UNDECLARED].iter().any(|said| message.contains(said)) =>
            {
                Self::Invalid { reason: ReconcileReason::Rejected.into(), message }
            }
            other => other,
        }
    }

    /// The same of a child of a kind that a cluster may do without: there is none of it because its CRD is being taken away.
    #[must_use]
    pub fn of_optional(self, kind: &str) -> Self {
        match self {
            Self::Transient { reason, message, .. }
                if reason == ReconcileReason::NotFound || message.contains(KIND_TERMINATING) =>
            {
                Self::transient(
                    ReconcileReason::KindNotServed,
                    format!("the API server does not serve {kind}, or is about to serve it no more: {message}"),
                )
            }
            other => other,
        }
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
        if let kube::Error::SerdeError(why) = &error {
            let message = format!("the API server's answer cannot be read: {why}");
            return Self::Transient { reason: ReconcileReason::Unreadable.into(), message, stalled: true };
        }
        let kube::Error::Api(status) = &error else {
            return Self::transient(
                ReconcileReason::APIServerUnreachable,
                format!("the API server did not answer: {}", innermost(&error)),
            );
        };
        let message = status.message.clone();
        match status.code {
            _ if is_too_large(status) => Self::Invalid {
                reason: ReconcileReason::TooLarge.into(),
                message: format!(
                    "what is asked for is too large for the API server, which keeps objects of at most 1.5 MiB as a rule: ask for \
                     less, or keep contents in ConfigMaps and Secrets and name them: {message}"
                ),
            },
            422 | 400 => Self::Invalid { reason: ReconcileReason::Rejected.into(), message },
            409 => Self::transient(ReconcileReason::Conflict, message),
            // What is asked for goes with its namespace; no right is missing.
            403 if terminating(status) => Self::blocked(ReconcileReason::NamespaceTerminating, message),
            403 if is_owner_unknown(status) => Self::transient(
                ReconcileReason::OwnerKindUnknown,
                format!(
                    "the API server does not know this kind as an owner yet, as in the seconds after its CRD is created: {message}"
                ),
            ),
            403 => Self::Transient { reason: ReconcileReason::Forbidden.into(), message, stalled: true },
            404 => Self::Transient { reason: ReconcileReason::NotFound.into(), message, stalled: true },
            _ => Self::transient(ReconcileReason::APIServerError, message),
        }
    }
}

/// Whether it is the size of an object that was refused: by the API server's limit of a request (3 MiB), by etcd's (1.5 MiB as
/// a rule), or by that of the connection between them. Those of etcd come with the code 500, as if they might pass.
/// (k8s.io/apiserver: pkg/endpoints/handlers/rest.go)
fn is_too_large(refusal: &kube::core::Status) -> bool {
    let words =
        ["Request entity too large", "etcdserver: request is too large", "trying to send message larger than max"];
    refusal.code == 413 || words.iter().any(|words| refusal.message.contains(words))
}

/// Whether the refusal is that of a namespace that is being deleted.
fn terminating(refusal: &kube::core::Status) -> bool {
    let causes = refusal.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// Whether the admission plugin `OwnerReferencesPermissionEnforcement` could not find the owner's kind. It looks kinds up in a
/// list that it renews every ten seconds, so it refuses what owns anything of a kind whose CRD is newer; no right is missing.
/// (kubernetes: plugin/pkg/admission/gc/gc_admission.go)
fn is_owner_unknown(refusal: &kube::core::Status) -> bool {
    refusal.message.contains("cannot set blockOwnerDeletion") && refusal.message.contains("cannot find RESTMapping")
}

/// The innermost cause, which is what a person can act on.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Whether an error is an `E`, or an `E` is among its causes.
pub(crate) fn is_caused_by<E: std::error::Error + 'static>(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |cause| cause.source()).any(|cause| cause.is::<E>())
}

#[cfg(test)]
mod tests;
