//! How far a pod of a StatefulSet has come.

use jiff::Timestamp;
use serde_json::Value;

use super::super::conditions;
use super::super::object::{is_deleting, read_time, text};

/// Whether a pod runs, and is ready. One that is being deleted may be.
pub(super) fn is_ready(pod: &Value) -> bool {
    text(&pod["status"]["phase"]) == "Running" && conditions::find_true(&pod["status"], "Ready").is_some()
}

/// How many milliseconds are left until a ready pod is available: 0 or less if it is; none if it is not ready.
pub(super) fn until_available(pod: &Value, min_ready_seconds: i64, now: Timestamp) -> Option<i64> {
    let ready = conditions::find_true(&pod["status"], "Ready").filter(|_| is_ready(pod))?;
    if min_ready_seconds == 0 {
        return Some(0);
    }
    let since = read_time(&ready["lastTransitionTime"])?.as_millisecond();
    Some(since + min_ready_seconds * 1000 - now.as_millisecond())
}

/// Whether a pod has been ready for long enough.
pub(super) fn is_available(pod: &Value, min_ready_seconds: i64, now: Timestamp) -> bool {
    until_available(pod, min_ready_seconds, now).is_some_and(|left| left <= 0)
}

/// Whether a pod is available, and stays.
pub(super) fn is_healthy(pod: &Value, min_ready_seconds: i64, now: Timestamp) -> bool {
    is_available(pod, min_ready_seconds, now) && !is_deleting(pod)
}
