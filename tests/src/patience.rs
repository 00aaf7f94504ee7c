//! Deadlines that follow the machine's speed. A limit is in normal time: the time that the reference machine would have
//! needed. On a machine that is three times as slow, because it is, or because other work keeps it busy, 120 s of normal time
//! are 360 s by the clock.

use std::fmt;
use std::time::{Duration, Instant};

use tokio::time::sleep;

mod pace;
mod sampler;

pub use pace::SLOWEST;

/// By how much a deadline exceeds its limit at most, however slow the machine is: a test that hangs has to end.
const LONGEST_DELAY: Duration = Duration::from_secs(15 * 60);
/// How often a deadline is recomputed, since the machine's speed changes.
const RECOMPUTE: Duration = Duration::from_secs(1);

/// A moment, by the clock and in normal time.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    real: Instant,
    normal: Duration,
}

impl Moment {
    /// The present one.
    #[must_use]
    pub fn now() -> Self {
        let real = Instant::now();
        Self { real, normal: sampler::pace().normal_time(real) }
    }

    /// What has passed since.
    #[must_use]
    pub fn passed(&self) -> Passed {
        let now = Self::now();
        Passed {
            real: now.real.saturating_duration_since(self.real),
            normal: now.normal.saturating_sub(self.normal),
            slowness: sampler::pace().slowness(),
        }
    }
}

/// A time that has passed.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// By the clock.
    pub real: Duration,
    /// As the reference machine would have needed.
    pub normal: Duration,
    slowness: f64,
}

impl Passed {
    /// How many times as slow as the reference machine this one has been on average.
    #[must_use]
    pub fn slowness(&self) -> f64 {
        // No time, no average.
        if self.normal < Duration::from_millis(1) { self.slowness } else { self.real.div_duration_f64(self.normal) }
    }
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1?} by the clock, {:.1} times as slow as the reference machine", self.real, self.slowness())
    }
}

/// The end of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    begun: Moment,
    limit: Duration,
}

impl Deadline {
    /// After so much normal time from now on.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self { begun: Moment::now(), limit }
    }

    /// Whether the time is up.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// The normal time that is left.
    #[must_use]
    pub fn left(&self) -> Duration {
        let passed = self.begun.passed();
        if passed.real >= longest(self.limit) { Duration::ZERO } else { self.limit.saturating_sub(passed.normal) }
    }

    /// Waits until the time is up.
    pub async fn reached(&self) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            sleep(left.clamp(Duration::from_millis(1), RECOMPUTE)).await;
        }
    }

    /// What to say when the time is up.
    #[must_use]
    pub fn late(&self) -> Late {
        Late { limit: self.limit, passed: self.begun.passed() }
    }
}

/// What a wait with that limit takes by the clock at most.
#[must_use]
pub fn longest(limit: Duration) -> Duration {
    limit.mul_f64(SLOWEST).min(limit + LONGEST_DELAY)
}

/// A wait that was in vain.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    limit: Duration,
    passed: Passed,
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waited {:?} of normal time ({})", self.limit, self.passed)
    }
}

impl std::error::Error for Late {}

/// What a future gives, if it does within so much normal time.
///
/// # Errors
/// If it does not.
pub async fn timeout<F: Future>(limit: Duration, future: F) -> Result<F::Output, Late> {
    let deadline = Deadline::after(limit);
    tokio::select! {
        biased;
        output = future => Ok(output),
        () = deadline.reached() => Err(deadline.late()),
    }
}

/// What a product promises to be done in: timers take as long on every machine, work takes longer on a slow one.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Periods and delays, by the clock.
    pub timers: Duration,
    /// The rest, in normal time.
    pub work: Duration,
}

impl Bar {
    /// Work alone.
    #[must_use]
    pub const fn work(work: Duration) -> Self {
        Self { timers: Duration::ZERO, work }
    }

    /// Checks whether a measured time meets the bar on a machine of this slowness.
    ///
    /// # Errors
    /// A message, if it does not.
    pub fn holds(&self, what: &str, took: Duration, slowness: f64) -> Result<(), String> {
        let bar = self.timers + self.work.mul_f64(slowness);
        if took <= bar {
            return Ok(());
        }
        let Self { timers, work } = self;
        Err(format!(
            "{what} took {took:.2?}; the bar is {bar:.2?}: {timers:?} of timers, and {work:?} of work on a machine that is \
             {slowness:.1} times as slow as the reference machine"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAR: Bar = Bar { timers: Duration::from_secs(15), work: Duration::from_secs(2) };

    #[test]
    fn only_the_work_in_a_bar_grows_with_slowness() {
        assert!(BAR.holds("it", Duration::from_secs(17), 1.0).is_ok());
        assert!(BAR.holds("it", Duration::from_secs(21), 3.0).is_ok());
        let missed = BAR.holds("it", Duration::from_millis(21_100), 3.0).expect_err("more than 15 s + 3 * 2 s");
        for part in ["it took 21.10s", "the bar is 21.00s", "15s of timers", "2s of work", "3.0 times as slow"] {
            assert!(missed.contains(part), "{missed}");
        }
    }

    #[test]
    fn no_wait_is_endless() {
        assert_eq!(longest(Duration::from_secs(10)), Duration::from_secs(80));
        assert_eq!(longest(Duration::from_secs(900)), Duration::from_secs(1800));
    }

    #[test]
    fn a_deadline_that_has_passed_is_over_and_says_so() {
        let ago = |real: u64, normal: u64| {
            let now = Moment::now();
            // Instants of the first seconds after a boot have nothing before them.
            let real = now.real.checked_sub(Duration::from_secs(real)).expect("the machine has run for a while");
            Moment { real, normal: now.normal.saturating_sub(Duration::from_secs(normal)) }
        };
        let limit = Duration::from_secs(10);
        // However slow, 8 times the limit is the end.
        assert!(Deadline { begun: ago(81, 0), limit }.is_over());
        assert!(!Deadline { begun: ago(30, 0), limit }.is_over());
        let late = Deadline { begun: ago(30, 0), limit }.late().to_string();
        assert!(late.starts_with("waited 10s of normal time (30.0s by the clock, "), "{late}");
    }
}
