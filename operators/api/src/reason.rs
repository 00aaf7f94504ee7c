//! Reasons of conditions and Events.
//!
//! Each kind has its own enum; [`ReconcileReason`] and [`PodReason`] have the reasons that all kinds share. Plans use and compare
//! these. A [`Reason`] is read from an object: another release or program may have written one that no enum has.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// The `reason` of a condition or of an Event: one CamelCase word for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// A reason that another program reports, such as the kubelet or a controller of Kubernetes.
    #[must_use]
    pub fn reported(reason: &str) -> Self {
        Self(Cow::Owned(reason.to_owned()))
    }

    /// Whether it is one of `reasons`.
    #[must_use]
    pub fn is_one_of<R: Copy>(&self, reasons: &[R]) -> bool
    where
        Self: PartialEq<R>,
    {
        reasons.iter().any(|reason| self == reason)
    }

    /// The reason as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Reason {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl JsonSchema for Reason {
    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Declares an enum of reasons: a unit variant for each, with its meaning as the doc comment. The reason is the variant's name, or the
/// text that follows it.
macro_rules! reasons {
    (@text $variant:ident) => { stringify!($variant) };
    (@text $variant:ident $text:literal) => { $text };
    ($(#[$about:meta])* $name:ident { $($(#[doc = $meaning:literal])+ $variant:ident $(= $text:literal)?,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $meaning])+ $variant,)+
        }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The reason as text, as objects have it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $crate::reason::reasons!(@text $variant $($text)?),)+
                }
            }

            /// What it means.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($meaning),+).trim_ascii_start(),)+
                }
            }
        }

        impl From<$name> for $crate::Reason {
            fn from(reason: $name) -> Self {
                Self::of(reason.as_str())
            }
        }

        impl PartialEq<$name> for $crate::Reason {
            fn eq(&self, other: &$name) -> bool {
                self.as_str() == other.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use reasons;

impl Reason {
    /// The reason of an enum's variant.
    pub(crate) const fn of(reason: &'static str) -> Self {
        Self(Cow::Borrowed(reason))
    }
}

reasons! {
    /// Reasons that every kind shares: what keeps a reconcile from doing what was planned.
    ReconcileReason {
        /// The API server answers requests with an error that may pass.
        APIServerError,
        /// The API server does not answer.
        APIServerUnreachable,
        /// The CRD of the kind is not this manager's, or is older than it needs.
        CRDMismatch,
        /// Another client changed the object between the read and the write.
        Conflict,
        /// Another client keeps changing what the operator writes.
        Contested,
        /// The manager lacks a permission.
        Forbidden,
        /// The API server does not serve a kind that a cluster may lack.
        KindNotServed,
        /// Another live manager holds the object.
        ManagedElsewhere,
        /// The manager may not list or watch a kind.
        MissingRight,
        /// A child's name is taken by an object that has another owner.
        NameTaken,
        /// The namespace is being deleted.
        NamespaceTerminating,
        /// The API server does not find an object or a kind that the operator needs.
        NotFound,
        /// This manager is not the leader, so it writes nothing.
        NotLeading,
        /// The API server does not know the kind as an owner yet, as in the seconds after its CRD is created.
        OwnerKindUnknown,
        /// The object is being deleted, so nothing is created for it.
        OwnerLeaving,
        /// The reconcile panicked.
        Panic,
        /// The API server refuses a child that the spec asks for.
        Rejected,
        /// The reconcile took longer than the manager allows.
        Timeout,
        /// A child is larger than the API server takes.
        TooLarge,
        /// The object itself does not decode.
        Undecodable,
        /// A child does not decode.
        Unreadable,
        /// The request cannot be put into the form in which it is sent.
        Unsendable,
        /// An earlier child that is being deleted is waited for.
        WaitingForDeletion,
        /// The manager sees all that it has to watch.
        Watching,
        /// The manager sees no changes of a kind that the object needs.
        WatchFailing,
    }
}

reasons! {
    /// What the kubelet and the scheduler say of pods, as far as operators decide by it.
    PodReason {
        /// A container ends again and again.
        CrashLoopBackOff,
        /// A ConfigMap, a Secret or a key that a container needs is missing.
        CreateContainerConfigError,
        /// The container runtime cannot create a container.
        CreateContainerError,
        /// The image is not on the node and may not be pulled.
        ErrImageNeverPull,
        /// The image cannot be pulled.
        ErrImagePull,
        /// The image cannot be pulled, and the kubelet waits before it tries again.
        ImagePullBackOff,
        /// The name of the image is not one.
        InvalidImageName,
        /// A container's program cannot be started.
        RunContainerError,
        /// A container has ended because its program could not be started.
        StartError,
        /// The scheduler finds no node for the pod.
        Unschedulable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_a_string_in_json_and_in_text() {
        let reason = Reason::from(ReconcileReason::APIServerError);
        assert_eq!(serde_json::to_value(&reason).unwrap(), "APIServerError");
        assert_eq!(serde_json::from_value::<Reason>("APIServerError".into()).unwrap(), reason);
        assert!(reason == ReconcileReason::APIServerError && reason != ReconcileReason::NotFound);
        assert!(reason.is_one_of(&[ReconcileReason::NotFound, ReconcileReason::APIServerError]));
        assert!(Reason::reported("Unschedulable") == PodReason::Unschedulable);
        assert_eq!(ReconcileReason::APIServerUnreachable.meaning(), "The API server does not answer.");
    }
}
