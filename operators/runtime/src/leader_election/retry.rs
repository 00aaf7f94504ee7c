//! When a candidate retries.

use std::time::Duration;

use crate::clock::random;
use crate::leader_election::decision::RETRY_PERIOD;

/// The retry period, extended by up to a fifth at random, so that candidates do not retry simultaneously.
pub(super) fn retry_period() -> Duration {
    RETRY_PERIOD.mul_f64(1.0 + 0.2 * fraction())
}

/// A random number from 0 to 1.
pub(super) fn fraction() -> f64 {
    random() as f64 / u64::MAX as f64
}
