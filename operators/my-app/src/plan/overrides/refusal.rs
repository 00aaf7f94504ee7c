//! Why overrides are not merged, and where in a MyApp they are.

use api::my_app::MyAppReason;

/// Why overrides are not merged: a condition's reason, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct Refusal {
    pub(in crate::plan) reason: MyAppReason,
    pub(in crate::plan) message: String,
}

impl Refusal {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { reason: MyAppReason::PodOverridesInvalid, message: message.into() }
    }
}

/// Where overrides are in a MyApp, as messages tell it.
pub(super) const PATH: &str = "spec.podOverrides";
