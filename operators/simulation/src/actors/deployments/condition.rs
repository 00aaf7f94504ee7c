//! A condition of a Deployment, as it is when it changes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::object::time;

/// The type of the condition of the progress.
pub(super) const PROGRESSING: &str = "Progressing";

/// The condition of the progress.
pub(super) fn progressing(status: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    condition(PROGRESSING, status, reason, message, now)
}

/// A condition of that type.
pub(super) fn condition(type_: &str, status: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastUpdateTime": time(now), "lastTransitionTime": time(now),
    })
}
