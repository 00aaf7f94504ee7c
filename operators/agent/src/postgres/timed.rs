//! How long a command took.

use std::time::Instant;

/// That, in seconds, to the millisecond.
pub(crate) fn seconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 1000.0).round() / 1000.0
}
