//! How long a Job waits after a failed pod before it creates the next one (kubernetes: `backoff_utils.go`).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::super::object::{items, read_time};

/// The delay after the first failure, in seconds. It doubles with each further one.
const FIRST_DELAY: u64 = 10;
/// The longest delay, in seconds.
const LONGEST_DELAY: u64 = 600;

/// The failed pods of a Job since the last one that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Failures {
    count: u32,
    last: Option<Timestamp>,
}

impl Failures {
    /// Those after these pods have ended, too.
    pub(super) fn after(self, succeeded: &[&Arc<Value>], failed: &[&Arc<Value>], now: Timestamp) -> Self {
        let last_success = succeeded.iter().map(|pod| finished(pod, now)).max();
        let is_later = |at: &Timestamp| last_success.is_none_or(|success| *at > success);
        let times: Vec<Timestamp> = failed.iter().map(|pod| finished(pod, now)).filter(is_later).collect();
        let before = if last_success.is_some() { Self::default() } else { self };
        let count = before.count.saturating_add(u32::try_from(times.len()).unwrap_or(u32::MAX));
        Self { count, last: times.into_iter().chain(before.last).max() }
    }

    /// How long no pod is created; none if one may be.
    pub(super) fn remaining(self, now: Timestamp) -> Option<Duration> {
        let last = self.last?;
        let doublings = self.count.saturating_sub(1);
        let delay = FIRST_DELAY.saturating_mul(2_u64.saturating_pow(doublings)).min(LONGEST_DELAY);
        let elapsed = Duration::try_from(now.duration_since(last)).unwrap_or_default();
        Duration::from_secs(delay).checked_sub(elapsed).filter(|left| !left.is_zero())
    }
}

/// When the last container of a pod ended.
fn finished(pod: &Value, now: Timestamp) -> Timestamp {
    let statuses = ["containerStatuses", "initContainerStatuses"].into_iter();
    let containers = statuses.flat_map(|list| items(&pod["status"][list]));
    containers.filter_map(|one| read_time(&one["state"]["terminated"]["finishedAt"])).max().unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ended(second: u32) -> Arc<Value> {
        let terminated = json!({ "finishedAt": format!("2026-01-01T00:00:{second:02}Z") });
        Arc::new(json!({ "status": { "containerStatuses": [{ "state": { "terminated": terminated } }] } }))
    }

    #[test]
    fn the_delay_doubles_with_each_failure_until_a_pod_succeeds() {
        let at = |second: i64| Timestamp::from_second(1_767_225_600 + second).unwrap();
        let none = Failures::default();
        assert_eq!(none.remaining(at(0)), None);
        let once = none.after(&[], &[&ended(5)], at(6));
        assert_eq!(once.remaining(at(6)), Some(Duration::from_secs(9)));
        assert_eq!(once.remaining(at(15)), None);
        let thrice = once.after(&[], &[&ended(20), &ended(21)], at(22));
        assert_eq!(thrice.remaining(at(21)), Some(Duration::from_secs(40)));
        let often = (0..40).fold(thrice, |failures, _| failures.after(&[], &[&ended(30)], at(30)));
        assert_eq!(often.remaining(at(30)), Some(Duration::from_secs(600)));
        assert_eq!(thrice.after(&[&ended(40)], &[&ended(39)], at(41)), none);
        let again = thrice.after(&[&ended(40)], &[&ended(41)], at(41));
        assert_eq!(again.remaining(at(41)), Some(Duration::from_secs(10)));
    }
}
