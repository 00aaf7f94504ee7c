//! How long a verb took.

use std::time::Instant;

use serde_json::Value;

/// A result with the seconds that it took.
pub(crate) fn timed(mut result: Value, since: Instant) -> Value {
    let seconds = (since.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    result["seconds"] = seconds.into();
    result
}
