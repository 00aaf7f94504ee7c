//! Delays between tries. The only file that knows the crate `backoff` (see deny.toml for why it is here, and the way out).

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use backoff::{ExponentialBackoff, ExponentialBackoffBuilder, backoff::Backoff as _};

/// First delay after an object's reconcile failed.
const FIRST: Duration = Duration::from_millis(200);
/// Longest delay of an object: at a few requests a try, a broken object costs less than 20 requests a minute.
const LONGEST: Duration = Duration::from_secs(60);
/// First delay after a watch failed.
const WATCH_FIRST: Duration = Duration::from_millis(400);
/// Longest delay of a watch; a missing CRD is noticed within it.
const WATCH_LONGEST: Duration = Duration::from_secs(15);

/// An endless sequence of growing delays, each scattered by half of it to either side.
#[derive(Debug)]
pub struct Backoff {
    sequence: ExponentialBackoff,
    longest: Duration,
}

impl Backoff {
    /// Delays of one object: 0.2 s, doubling to 60 s.
    #[must_use]
    pub fn object() -> Self {
        Self::new(FIRST, LONGEST)
    }

    /// Delays of one watch: 0.4 s, doubling to 15 s.
    #[must_use]
    pub fn watch() -> Self {
        Self::new(WATCH_FIRST, WATCH_LONGEST)
    }

    fn new(first: Duration, longest: Duration) -> Self {
        let sequence = ExponentialBackoffBuilder::new()
            .with_initial_interval(first)
            .with_max_interval(longest)
            .with_multiplier(2.0)
            .with_randomization_factor(0.5)
            // The crate gives up after 15 minutes unless told otherwise; an operator never does.
            .with_max_elapsed_time(None)
            .build();
        Self { sequence, longest }
    }

    /// The longest delay of one object.
    #[must_use]
    pub fn longest_of_object() -> Duration {
        jittered(LONGEST)
    }

    /// The next delay.
    pub fn delay(&mut self) -> Duration {
        self.sequence.next_backoff().unwrap_or(self.longest)
    }

    /// Starts over.
    pub fn reset(&mut self) {
        self.sequence.reset();
    }
}

/// `delay` and up to a tenth more, so that what was scheduled together does not stay together.
#[must_use]
pub fn jittered(delay: Duration) -> Duration {
    delay + scattered(delay / 10)
}

/// Any time up to `longest`.
#[must_use]
pub fn scattered(longest: Duration) -> Duration {
    // RandomState is seeded anew for each value: randomness enough for spreading load, without another dependency.
    let share = RandomState::new().hash_one(0_u8) % 1000;
    longest / 1000 * u32::try_from(share).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_the_longest_and_never_ends() {
        let mut backoff = Backoff::object();
        assert!(backoff.delay() <= FIRST * 3 / 2);
        let hour: Duration = (0..200).map(|_| backoff.delay()).sum();
        assert!(hour > Duration::from_secs(3600), "200 delays last {hour:?}");
        let plateau = backoff.delay();
        assert!(plateau >= LONGEST / 2 && plateau <= LONGEST * 3 / 2, "{plateau:?}");
        backoff.reset();
        assert!(backoff.delay() <= FIRST * 3 / 2);
    }

    #[test]
    fn jitter_adds_at_most_a_tenth() {
        let second = Duration::from_secs(1);
        for _ in 0..100 {
            assert!((second..=second * 11 / 10).contains(&jittered(second)));
        }
    }
}
