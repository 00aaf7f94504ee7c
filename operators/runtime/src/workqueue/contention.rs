//! Whether another writer keeps changing the children of a key: counts of writes and repairs within windows.

use std::time::Duration;

use tokio::time::Instant;

use crate::plan::meta::{Key, ResourceKind};

/// So many times within so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The number of times.
    pub times: u32,
    /// The time within which they happened.
    pub within: Duration,
}

/// So many writes to children of one key are a contention with another writer, not a user at work.
pub const CONTENTION_WRITES: Rate = Rate { times: 300, within: Duration::from_secs(60) };
/// So are so many repairs: of a writer that an API server with much to do slows down, or one that comes every few seconds, such as
/// a GitOps tool.
pub const CONTENTION_REPAIRS: Rate = Rate { times: 60, within: Duration::from_secs(300) };
/// So many repairs are reported, even if they are too few for a contention.
pub const SLOW_CONTENTION: Rate = Rate { times: 10, within: Duration::from_secs(3600) };
/// How long a key rests after that many repairs; after that many writes, it does until their window ends.
const REST: Duration = Duration::from_secs(60);

/// A contention with another writer over a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    /// The last written child.
    pub child: (ResourceKind, Key),
    /// How often the manager has written to children.
    pub rate: Rate,
    /// The time until it ends, if it is not detected again.
    pub left: Duration,
}

/// What has been counted for one key.
#[derive(Default)]
pub(super) struct Contentions {
    writes: Count,
    repairs: Count,
    slow: Count,
    /// The child of the last repair, once there were [`SLOW_CONTENTION`] of them; until it is reported.
    unreported: Option<(ResourceKind, Key)>,
    /// The last contention.
    last: Option<Detected>,
}

struct Detected {
    at: Instant,
    rests_until: Instant,
    contention: Contention,
}

impl Contentions {
    pub(super) fn count_write(&mut self, kind: ResourceKind, child: &Key, now: Instant) {
        if let Some(since) = self.writes.reaches(CONTENTION_WRITES, now) {
            self.detected(CONTENTION_WRITES, (kind, child.clone()), now, since + CONTENTION_WRITES.within);
        }
    }

    pub(super) fn count_repair(&mut self, kind: ResourceKind, child: &Key, now: Instant) {
        if self.repairs.reaches(CONTENTION_REPAIRS, now).is_some() {
            self.detected(CONTENTION_REPAIRS, (kind, child.clone()), now, now + REST);
        }
        if self.slow.reaches(SLOW_CONTENTION, now).is_some() {
            self.unreported = Some((kind, child.clone()));
        }
    }

    /// It is reported until it has been detected again, if it continues.
    fn detected(&mut self, rate: Rate, child: (ResourceKind, Key), at: Instant, rests_until: Instant) {
        let left = rate.within + REST;
        self.last = Some(Detected { at, rests_until, contention: Contention { child, rate, left } });
    }

    /// Until when the key rests, or until its object is edited.
    pub(super) fn rests_until(&self, now: Instant) -> Option<Instant> {
        self.last.as_ref().map(|last| last.rests_until).filter(|end| now < *end)
    }

    /// The present or recent contention.
    pub(super) fn present(&self, now: Instant) -> Option<Contention> {
        let last = self.last.as_ref()?;
        let left = (last.at + last.contention.left).saturating_duration_since(now);
        (!left.is_zero()).then(|| Contention { left, ..last.contention.clone() })
    }

    /// The child that another writer changes occasionally, once.
    pub(super) fn take_slow(&mut self) -> Option<(ResourceKind, Key)> {
        self.unreported.take()
    }

    /// The object was edited, which may have ended the contention.
    pub(super) fn edited(&mut self) {
        (self.writes, self.repairs, self.last) = (Count::default(), Count::default(), None);
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.writes.is_over(CONTENTION_WRITES, now)
            && self.repairs.is_over(CONTENTION_REPAIRS, now)
            && self.slow.is_over(SLOW_CONTENTION, now)
            && self.unreported.is_none()
            && self.present(now).is_none()
    }
}

/// A count, and since when.
#[derive(Clone, Copy, Default)]
struct Count(Option<(Instant, u32)>);

impl Count {
    /// Counts one more, in a new window if the last one is over. Returns when the window began if that makes the rate, and starts
    /// again.
    fn reaches(&mut self, rate: Rate, now: Instant) -> Option<Instant> {
        let (since, before) = self.0.filter(|(since, _)| now < *since + rate.within).unwrap_or((now, 0));
        let reached = before + 1 >= rate.times;
        self.0 = (!reached).then_some((since, before + 1));
        reached.then_some(since)
    }

    fn is_over(self, rate: Rate, now: Instant) -> bool {
        self.0.is_none_or(|(since, _)| now >= since + rate.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILD: ResourceKind =
        ResourceKind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };
    const SECOND: Duration = Duration::from_secs(1);

    /// Repairs at that interval for so long, but for the times of rest. Returns when contentions were detected.
    fn repaired_every(interval: Duration, lasts: Duration) -> (Contentions, Vec<Duration>) {
        let (mut counted, begun) = (Contentions::default(), Instant::now());
        let (child, mut at, mut detected) = (Key::new("n", "child"), begun, Vec::new());
        while at < begun + lasts {
            counted.count_write(CHILD, &child, at);
            counted.count_repair(CHILD, &child, at);
            if let Some(end) = counted.rests_until(at) {
                detected.push(at - begun);
                at = end;
            }
            at += interval;
        }
        (counted, detected)
    }

    #[test]
    fn a_writer_that_is_slow_but_does_not_stop_is_a_contention_until_it_does() {
        for interval in [SECOND, 4 * SECOND] {
            let (counted, detected) = repaired_every(interval, 2000 * SECOND);
            assert_eq!(detected.first(), Some(&(interval * 59)));
            let last = counted.last.as_ref().expect("it was detected");
            assert_eq!(last.contention.rate, CONTENTION_REPAIRS);
            // It is reported without a gap meanwhile, and not for ever.
            let gaps = detected.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(gaps.clone().all(|gap| gap < last.contention.left), "{detected:?}");
            assert!(counted.present(last.at + last.contention.left).is_none());
        }
    }

    #[test]
    fn a_writer_that_comes_seldom_is_reverted_each_time() {
        let (mut counted, detected) = repaired_every(6 * SECOND, 2000 * SECOND);
        assert!(detected.is_empty(), "{detected:?}");
        assert!(counted.take_slow().is_some(), "it is reported all the same");
    }

    #[test]
    fn an_edit_ends_the_rest() {
        let (mut counted, _) = repaired_every(SECOND, 60 * SECOND);
        let at = counted.last.as_ref().expect("it was detected").at;
        assert!(counted.rests_until(at).is_some());
        counted.edited();
        assert!(counted.rests_until(at).is_none() && counted.present(at).is_none());
    }
}
