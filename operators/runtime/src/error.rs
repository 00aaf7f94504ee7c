//! Pure: errors, classified by what resolves them.

use api::{Reason, ReconcileReason};

mod contention;

/// The response to an apply whose body is no valid object of the kind, as a server error (500): a value of another type, for
/// example, or two list items with the same keys.
const NO_SUCH_OBJECT: &str = "failed to create typed patch object";

/// How that message continues if the schema of the object has no such field.
const UNDECLARED: &str = "field not declared in schema";

/// The response to a creation while the CRD of the kind is being deleted.
/// (kubernetes: apiextensions-apiserver/pkg/apiserver/customresource_handler.go)
const KIND_TERMINATING: &str = "not allowed while custom resource definition is terminating";

/// How many such failures in a row are expected for a kind that is not served: its watch checks this, and knows it sooner.
const NOT_SERVED_FAILURES: u32 = 5;

/// Why a reconcile did not complete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The desired state is not possible: waits for an edit.
    #[error("{message}")]
    Invalid {
        /// The condition's reason.
        reason: Reason,
        /// What is wrong, and what to do.
        message: String,
    },
    /// Something else has to change first, which a watch reports (with a slow requeue, in case it does not).
    #[error("{message}")]
    Blocked {
        /// The condition's reason.
        reason: Reason,
        /// What the operator waits for.
        message: String,
    },
    /// It may resolve itself: retried with backoff.
    #[error("{message}")]
    Transient {
        /// The condition's reason.
        reason: Reason,
        /// What failed.
        message: String,
        /// Whether it needs attention already.
        stalled: bool,
    },
}

impl Error {
    /// An [`Error::Transient`] that needs no attention yet.
    #[must_use]
    pub fn transient(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Transient { reason: reason.into(), message: message.into(), stalled: false }
    }

    /// An [`Error::Blocked`].
    #[must_use]
    pub fn blocked(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Blocked { reason: reason.into(), message: message.into() }
    }

    /// This manager does not lead now, so it must not write.
    #[must_use]
    pub fn not_leading() -> Self {
        Self::transient(ReconcileReason::NotLeading, "this manager does not lead now: nothing is written")
    }

    /// The class, as the label of a metric.
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

    /// Adds the name and the size of the object to an error about its size.
    #[must_use]
    pub fn about(self, kind: &str, name: &str, bytes: usize) -> Self {
        match self {
            Self::Invalid { reason, message } if reason == ReconcileReason::TooLarge => {
                Self::Invalid { reason, message: format!("{kind} {name} ({} KiB): {message}", bytes.div_ceil(1024)) }
            }
            other => other,
        }
    }

    /// Whether it is expected, and not to be reported, after that many failures in a row.
    #[must_use]
    pub fn is_expected(&self, failures: u32) -> bool {
        let reason = self.reason();
        reason.is_one_of(&[ReconcileReason::OwnerLeaving, ReconcileReason::NotLeading])
            || (failures == 0 && reason == ReconcileReason::Conflict)
            || (failures < NOT_SERVED_FAILURES && reason == ReconcileReason::KindNotServed)
    }

    /// Whether the schema of the object has no such field.
    #[must_use]
    pub fn is_undeclared_field(&self) -> bool {
        matches!(self, Self::Transient { message, .. } if message.contains(UNDECLARED))
    }

    /// The error for a child: a retry cannot succeed if its body does not match its schema.
    #[must_use]
    pub fn of_child(self) -> Self {
        match self {
            Self::Transient { message, .. }
                if [NO_SUCH_OBJECT, UNDECLARED].iter().any(|text| message.contains(text)) =>
            {
                Self::Invalid { reason: ReconcileReason::Rejected.into(), message }
            }
            other => other,
        }
    }

    /// The error for a child of an optional kind: the CRD was deleted, or is being deleted.
    #[must_use]
    pub fn of_optional(self, kind: &str) -> Self {
        match self {
            Self::Transient { reason, message, .. }
                if reason == ReconcileReason::NotFound || message.contains(KIND_TERMINATING) =>
            {
                Self::transient(
                    ReconcileReason::KindNotServed,
                    format!("the API server does not serve {kind}, or will stop serving it: {message}"),
                )
            }
            other => other,
        }
    }

    /// Whether it needs attention.
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
            let message = format!("the response of the API server cannot be read: {why}");
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
                    "the object is too large for the API server, which usually stores at most 1.5 MiB: reduce the spec, or move \
                     contents to ConfigMaps and Secrets and refer to them: {message}"
                ),
            },
            422 | 400 => Self::Invalid { reason: ReconcileReason::Rejected.into(), message },
            409 => Self::transient(ReconcileReason::Conflict, message),
            // The namespace is being deleted; no permission is missing.
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

/// Whether the object is too large: for the request limit of the API server (3 MiB), for that of etcd (usually 1.5 MiB), or for
/// the connection between them. Those of etcd have the code 500, as if they were transient.
/// (k8s.io/apiserver: pkg/endpoints/handlers/rest.go)
fn is_too_large(refusal: &kube::core::Status) -> bool {
    let phrases =
        ["Request entity too large", "etcdserver: request is too large", "trying to send message larger than max"];
    refusal.code == 413 || phrases.iter().any(|phrase| refusal.message.contains(phrase))
}

/// Whether the request was rejected because its namespace is being deleted.
fn terminating(refusal: &kube::core::Status) -> bool {
    let causes = refusal.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// Whether the admission plugin `OwnerReferencesPermissionEnforcement` did not find the owner's kind. It looks up kinds in a list
/// that it renews every ten seconds, so it rejects an owner of a kind whose CRD is newer; no permission is missing.
/// (kubernetes: plugin/pkg/admission/gc/gc_admission.go)
fn is_owner_unknown(refusal: &kube::core::Status) -> bool {
    refusal.message.contains("cannot set blockOwnerDeletion") && refusal.message.contains("cannot find RESTMapping")
}

/// The innermost cause, which a user can act on.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Whether an error or one of its causes is an `E`.
pub(crate) fn is_caused_by<E: std::error::Error + 'static>(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |cause| cause.source()).any(|cause| cause.is::<E>())
}

#[cfg(test)]
mod tests;
