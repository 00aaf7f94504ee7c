//! Delays between attempts. Only this file uses the crate `backoff` (see deny.toml for the reason and the alternative).

use std::time::Duration;

use backoff::{ExponentialBackoff, ExponentialBackoffBuilder, backoff::Backoff as _};

use crate::clock;

/// The first delay after the reconcile of an object failed.
const OBJECT_FIRST_DELAY: Duration = Duration::from_millis(200);
/// The longest delay of an object: with a few requests per attempt, a failing object costs less than 20 requests a minute.
const OBJECT_LONGEST_DELAY: Duration = Duration::from_secs(60);
/// The first delay after a watch failed.
const WATCH_FIRST_DELAY: Duration = Duration::from_millis(400);
/// The longest delay of a watch; a new CRD is noticed within it.
const WATCH_LONGEST_DELAY: Duration = Duration::from_secs(15);

/// An endless sequence of growing delays, each randomized by half of it in either direction.
#[derive(Debug)]
pub struct Backoff {
    sequence: ExponentialBackoff,
    longest: Duration,
}

impl Backoff {
    /// Delays of one object: 0.2 s, doubling to 60 s.
    #[must_use]
    pub fn object() -> Self {
        Self::new(OBJECT_FIRST_DELAY, OBJECT_LONGEST_DELAY)
    }

    /// Delays of one watch: 0.4 s, doubling to 15 s.
    #[must_use]
    pub fn watch() -> Self {
        Self::new(WATCH_FIRST_DELAY, WATCH_LONGEST_DELAY)
    }

    fn new(first: Duration, longest: Duration) -> Self {
        let sequence = ExponentialBackoffBuilder::new()
            .with_initial_interval(first)
            .with_max_interval(longest)
            .with_multiplier(2.0)
            // The random part is [`clock`]'s, as all others.
            .with_randomization_factor(0.0)
            // By default, the crate gives up after 15 minutes; an operator never does.
            .with_max_elapsed_time(None)
            .build();
        Self { sequence, longest }
    }

    /// The longest delay of one object.
    #[must_use]
    pub fn longest_of_object() -> Duration {
        jittered(OBJECT_LONGEST_DELAY)
    }

    /// The next delay.
    pub fn delay(&mut self) -> Duration {
        let delay = self.sequence.next_backoff().unwrap_or(self.longest);
        delay / 2 + scattered(delay)
    }

    /// Starts over.
    pub fn reset(&mut self) {
        self.sequence.reset();
    }
}

/// `delay` and up to a tenth more, so that simultaneous requeues spread.
#[must_use]
pub fn jittered(delay: Duration) -> Duration {
    delay + scattered(delay / 10)
}

/// A random time up to `longest`.
#[must_use]
pub fn scattered(longest: Duration) -> Duration {
    let share = clock::random() % 1000;
    longest / 1000 * u32::try_from(share).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_the_longest_and_never_ends() {
        let mut backoff = Backoff::object();
        assert!(backoff.delay() <= OBJECT_FIRST_DELAY * 3 / 2);
        let hour: Duration = (0..200).map(|_| backoff.delay()).sum();
        assert!(hour > Duration::from_secs(3600), "200 delays last {hour:?}");
        let plateau = backoff.delay();
        assert!(plateau >= OBJECT_LONGEST_DELAY / 2 && plateau <= OBJECT_LONGEST_DELAY * 3 / 2, "{plateau:?}");
        backoff.reset();
        assert!(backoff.delay() <= OBJECT_FIRST_DELAY * 3 / 2);
    }

    #[test]
    fn jitter_adds_at_most_a_tenth() {
        let second = Duration::from_secs(1);
        for _ in 0..100 {
            assert!((second..=second * 11 / 10).contains(&jittered(second)));
        }
    }
}
