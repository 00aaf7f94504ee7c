//! Pure: compares times from other clocks: of the API server, of a kubelet, or of the previous leader.

use jiff::{SignedDuration, Timestamp};

/// How far a time may be in the future because clocks differ as usual.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(5);

/// The time since `since`. If that is clearly in the future, the other clock was ahead or this one is behind. A wait must not
/// last until the clocks agree, so the time that has elapsed is the longest possible.
pub(super) fn elapsed(since: Timestamp, now: Timestamp) -> SignedDuration {
    let elapsed = now.duration_since(since);
    if elapsed < -CLOCK_SKEW { SignedDuration::MAX } else { elapsed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_the_future_has_elapsed_for_long() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let elapsed = |since, now| elapsed(at(since), at(now)).as_secs();
        assert_eq!([elapsed(0, 60), elapsed(60, 60), elapsed(65, 60)], [60, 0, -5], "as clocks differ anyway");
        assert_eq!([elapsed(66, 60), elapsed(9_000, 60)], [i64::MAX; 2]);
    }
}
