//! The duration of a command.

use std::time::Instant;

/// The time since the command began, in seconds, rounded to milliseconds.
pub(crate) fn seconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1000.0).round() / 1000.0
}
