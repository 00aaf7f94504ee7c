//! Pure: when a Job that failed is created again, by a status that counts its failures.

use jiff::{SignedDuration, Timestamp};

/// How many times the pause doubles at most.
const DOUBLINGS: u32 = 10;

/// The pauses between attempts, each twice as long as the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// The pause after the first failure.
    pub first: SignedDuration,
    /// The longest pause.
    pub longest: SignedDuration,
}

impl Pauses {
    /// When the next attempt is due after `failures` in a row, of which the last was at that time.
    #[must_use]
    pub fn next(&self, last: Timestamp, failures: i32) -> Option<Timestamp> {
        let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(0).min(DOUBLINGS);
        let pause = self.first.checked_mul(1 << doublings).map_or(self.longest, |pause| pause.min(self.longest));
        last.checked_add(pause).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses = Pauses { first: SignedDuration::from_secs(30), longest: SignedDuration::from_mins(10) };
        let last: Timestamp = "2027-01-15T08:00:00Z".parse().unwrap();
        let after = |failures| pauses.next(last, failures).unwrap().duration_since(last).as_secs();
        assert_eq!([0, 1, 2, 3, 5, 6, 1000, i32::MAX].map(after), [30, 30, 60, 120, 480, 600, 600, 600]);
        assert_eq!(pauses.next(Timestamp::MAX, 1), None);
    }
}
