//! The wall clock and random numbers. Durations are measured with [`tokio::time::Instant`].
//!
//! Everything that the manager learns of time and chance comes from here or from tokio, so that a simulation determines both.

use std::hash::{BuildHasher, RandomState};

use jiff::Timestamp;

/// The present time.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> Timestamp {
    #[cfg(feature = "testing")]
    if let Some(now) = simulated::now() {
        return now;
    }
    Timestamp::now()
}

/// A random number: enough to spread load and to name things, without another dependency. Every `RandomState` is seeded by the
/// operating system.
#[must_use]
pub fn random() -> u64 {
    #[cfg(feature = "testing")]
    if let Some(number) = simulated::random() {
        return number;
    }
    RandomState::new().hash_one(0)
}

/// Fills `bytes` with random numbers that nobody can guess, as passwords need them: those of the operating system.
///
/// # Errors
/// The operating system has none.
pub fn fill_random(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    #[cfg(feature = "testing")]
    if simulated::fill(bytes) {
        return Ok(());
    }
    getrandom::fill(bytes)
}

/// The clock and the random numbers of a simulation, for all code of a thread.
#[cfg(feature = "testing")]
pub mod simulated {
    use std::cell::{Cell, RefCell};

    use jiff::{SignedDuration, Timestamp};
    use tokio::time::Instant;

    type Numbers = Box<dyn FnMut() -> u64>;

    thread_local! {
        static BEGUN: Cell<Option<(Timestamp, Instant)>> = const { Cell::new(None) };
        static NUMBERS: RefCell<Option<Numbers>> = const { RefCell::new(None) };
    }

    /// Ends with its value: the thread then has the real clock and real random numbers again.
    #[must_use]
    pub struct Simulated(());

    /// From now on, the clock of this thread shows `start` and what tokio's clock has advanced since, and random numbers are
    /// `numbers`. Must be called in the tokio runtime whose clock it is.
    pub fn begin(start: Timestamp, numbers: impl FnMut() -> u64 + 'static) -> Simulated {
        BEGUN.set(Some((start, Instant::now())));
        NUMBERS.set(Some(Box::new(numbers)));
        Simulated(())
    }

    impl Drop for Simulated {
        fn drop(&mut self) {
            BEGUN.set(None);
            NUMBERS.set(None);
        }
    }

    pub(super) fn now() -> Option<Timestamp> {
        let (start, begun) = BEGUN.get()?;
        let elapsed = SignedDuration::try_from(begun.elapsed()).ok()?;
        start.checked_add(elapsed).ok()
    }

    pub(super) fn random() -> Option<u64> {
        NUMBERS.with_borrow_mut(|numbers| numbers.as_mut().map(|next| next()))
    }

    /// Fills `bytes` with numbers of the simulation, if there is one.
    pub(super) fn fill(bytes: &mut [u8]) -> bool {
        NUMBERS.with_borrow_mut(|numbers| {
            let Some(next) = numbers else { return false };
            for part in bytes.chunks_mut(8) {
                part.iter_mut().zip(next().to_le_bytes()).for_each(|(byte, random)| *byte = random);
            }
            true
        })
    }

    #[cfg(test)]
    mod tests {
        use std::time::Duration;

        use super::*;

        #[tokio::test(start_paused = true)]
        async fn time_and_chance_are_the_worlds_until_it_ends() {
            let mut count = 0;
            let world = begin(Timestamp::UNIX_EPOCH, move || {
                count += 1;
                count
            });
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(crate::clock::now(), Timestamp::UNIX_EPOCH + Duration::from_secs(5));
            assert_eq!((crate::clock::random(), crate::clock::random()), (1, 2));
            let mut bytes = [0; 10];
            crate::clock::fill_random(&mut bytes).unwrap();
            assert_eq!(bytes, [3, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
            drop(world);
            let mut others = [[0; 32]; 2];
            others.iter_mut().for_each(|bytes| crate::clock::fill_random(bytes).unwrap());
            assert_ne!(others[0], others[1]);
            assert!(crate::clock::now() > Timestamp::UNIX_EPOCH + Duration::from_secs(3600));
        }
    }
}
