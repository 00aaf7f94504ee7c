//! When the state changed. It outlives the changes, which the API server may forget.

use tokio::time::Instant;

use super::kinds::KindId;

/// The versions that ended an instant with changes, by time.
#[derive(Default)]
struct Times(Vec<(Instant, u64)>);

impl Times {
    fn note(&mut self, now: Instant, version: u64) {
        match self.0.last_mut() {
            Some((last, of)) if *last == now => *of = version,
            _ => self.0.push((now, version)),
        }
    }

    /// When the first change after that version was.
    fn after(&self, version: u64) -> Option<Instant> {
        let next = self.0.partition_point(|(_, known)| *known <= version);
        self.0.get(next).map(|(at, _)| *at)
    }

    /// The version at the end of that instant.
    fn at(&self, when: Instant) -> Option<u64> {
        let next = self.0.partition_point(|(at, _)| *at <= when);
        self.0.get(next.checked_sub(1)?).map(|(_, version)| *version)
    }
}

/// When the objects of all kinds, and of each kind, changed.
pub(super) struct ChangeTimes {
    all: Times,
    kinds: Vec<Times>,
}

impl ChangeTimes {
    /// The first version, which nothing is known to have preceded, of that many kinds.
    pub(super) fn new(now: Instant, version: u64, kinds: usize) -> Self {
        let begun = || Times(vec![(now, version)]);
        Self { all: begun(), kinds: (0..kinds).map(|_| begun()).collect() }
    }

    /// Notes the version with which an object of that kind changed.
    pub(super) fn note(&mut self, now: Instant, version: u64, kind: KindId) {
        self.all.note(now, version);
        if let Some(times) = self.kinds.get_mut(kind) {
            times.note(now, version);
        }
    }

    /// When an object of that kind changed first after that version.
    pub(super) fn of_kind_after(&self, kind: KindId, version: u64) -> Option<Instant> {
        self.kinds.get(kind)?.after(version)
    }

    /// The first instant from `from` on at which there were changes after that version, and the version at its end.
    pub(super) fn next(&self, version: u64, from: Instant) -> Option<(Instant, u64)> {
        let when = self.all.after(version)?.max(from);
        Some((when, self.all.at(when)?))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn changes_at_one_instant_are_one() {
        let begin = Instant::now();
        let [first, second] = [1, 2].map(|seconds| begin + Duration::from_secs(seconds));
        let mut times = ChangeTimes::new(begin, 5, 2);
        times.note(first, 6, 0);
        times.note(first, 7, 1);
        times.note(second, 8, 0);
        assert_eq!(times.next(5, begin), Some((first, 7)));
        assert_eq!(times.next(5, second), Some((second, 8)));
        assert_eq!(times.next(8, second), None);
        let of_kind = [(0, 5), (0, 6), (1, 6), (1, 7)].map(|(kind, version)| times.of_kind_after(kind, version));
        assert_eq!(of_kind, [Some(first), Some(second), Some(first), None]);
    }
}
