//! Pure: the Events of a plan.

use api::Reason;

/// An Event to publish on the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDraft {
    /// Whether its type is Warning rather than Normal.
    pub warning: bool,
    /// The condition's reason.
    pub reason: Reason,
    /// The condition's message.
    pub message: String,
}
