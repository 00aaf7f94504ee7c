//! Pure: why overrides are rejected, and their path in a MyApp.

use api::my_app::MyAppReason;

/// Why overrides are rejected: a condition's reason, and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct Rejection {
    pub(in crate::plan) reason: MyAppReason,
    pub(in crate::plan) message: String,
}

impl Rejection {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { reason: MyAppReason::PodOverridesInvalid, message: message.into() }
    }
}

/// The path of the overrides in a MyApp, for messages.
pub(super) const PATH: &str = "spec.podOverrides";
