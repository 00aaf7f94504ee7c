//! From samples of the machine's speed to normal time. Nothing here reads a clock.

use std::time::{Duration, Instant};

/// What the sampled work takes on the reference machine: 8 million rounds of [`super::sampler`], by the fastest of 400 runs on
/// two cores of an Intel Xeon (model 167, 2.6 GHz by its name, about 4 GHz by this) with nothing else to do.
pub(super) const REFERENCE: Duration = Duration::from_millis(8);
/// Slower than this no machine counts: a test that hangs has to end.
pub const SLOWEST: f64 = 8.0;
/// The weight of a new sample. With a sample a second, a load that begins counts by two thirds after 4 s.
const WEIGHT: f64 = 0.25;

/// How slow the machine is, and how much normal time has passed by now.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    at: Instant,
    normal: Duration,
    slowness: Option<f64>,
}

impl Pace {
    /// Normal time begins.
    pub(super) fn new(at: Instant) -> Self {
        Self { at, normal: Duration::ZERO, slowness: None }
    }

    /// Records how long the sampled work took. The time until now has passed at the speed that was known then: normal time never
    /// goes back.
    pub(super) fn sample(&mut self, at: Instant, took: Duration) {
        self.normal = self.normal_time(at);
        self.at = self.at.max(at);
        let sample = took.div_duration_f64(REFERENCE).clamp(1.0, SLOWEST);
        self.slowness = Some(self.slowness.map_or(sample, |before| before + WEIGHT * (sample - before)));
    }

    /// How many times as slow as the reference machine this one is now.
    pub(super) fn slowness(&self) -> f64 {
        self.slowness.unwrap_or(1.0)
    }

    /// The normal time that has passed at a moment.
    pub(super) fn normal_time(&self, at: Instant) -> Duration {
        self.normal + at.saturating_duration_since(self.at).div_f64(self.slowness())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Normal time after so many seconds, with these samples, one a second, each in multiples of the reference.
    fn after(samples: &[f64]) -> (Pace, Instant) {
        let begun = Instant::now();
        let (mut pace, mut at) = (Pace::new(begun), begun);
        for sample in samples {
            pace.sample(at, REFERENCE.mul_f64(*sample));
            at += SECOND;
        }
        (pace, at)
    }

    fn near(duration: Duration, seconds: f64) -> bool {
        (duration.as_secs_f64() - seconds).abs() < 0.01
    }

    #[test]
    fn on_the_reference_machine_normal_time_is_the_clocks() {
        let (pace, at) = after(&[1.0; 10]);
        assert!(near(pace.normal_time(at), 10.0), "{pace:?}");
    }

    #[test]
    fn a_faster_machine_counts_as_the_reference() {
        let (pace, at) = after(&[0.2; 10]);
        assert!(near(pace.normal_time(at), 10.0), "{pace:?}");
    }

    #[test]
    fn three_times_as_slow_a_third_of_the_time_passes() {
        let (pace, at) = after(&[3.0; 12]);
        assert!(near(pace.normal_time(at), 4.0), "{pace:?}");
    }

    #[test]
    fn however_slow_time_passes() {
        let (pace, at) = after(&[1000.0; 16]);
        assert!((pace.slowness() - SLOWEST).abs() < 0.001 && near(pace.normal_time(at), 2.0), "{pace:?}");
    }

    #[test]
    fn one_odd_sample_hardly_counts_and_a_load_that_stays_does() {
        let (pace, _) = after(&[1.0, 1.0, 1.0, 8.0]);
        assert!(pace.slowness() < 3.0, "{pace:?}");
        let (pace, _) = after(&[1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0]);
        assert!((3.0..3.1).contains(&pace.slowness()), "{pace:?}");
        let (pace, _) = after(&[4.0, 4.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(pace.slowness() < 1.4, "{pace:?}");
    }

    #[test]
    fn without_samples_and_with_late_ones_time_goes_on_and_never_back() {
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        assert_eq!(pace.normal_time(begun + SECOND), SECOND);
        pace.sample(begun + SECOND, REFERENCE);
        pace.sample(begun + 10 * SECOND, 8 * REFERENCE);
        let before = pace.normal_time(begun + 10 * SECOND);
        assert_eq!(before, 10 * SECOND, "what has passed has passed at the speed that was known");
        // A sample from before the last one, and a question about the past.
        pace.sample(begun + 5 * SECOND, 8 * REFERENCE);
        assert_eq!(pace.normal_time(begun), before);
    }
}
