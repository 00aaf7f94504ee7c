//! Pure: the times of a schedule. Time zones come from the table in the program, not from the machine.

use croner::Cron;
use croner::parser::CronParser;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp, Zoned};

/// The longest delay of a start, so that what is due at the same second does not start at the same second.
const SPREAD: SignedDuration = SignedDuration::from_mins(15);
/// The delay is at most this fraction of the interval between two slots.
const MAX_SPREAD_FRACTION: i32 = 4;

/// Missed slots are counted up to here.
const MAX_MISSED: i64 = 1000;

/// A schedule in a time zone.
#[derive(Debug)]
pub struct Schedule {
    cron: Cron,
    zone: TimeZone,
    /// By which starts are spread: usually a hash of the object's UID.
    spread_key: u64,
    /// When this manager began to observe.
    observing_since: Option<Timestamp>,
}

/// Over which time starts are spread that came due while no manager ran.
const CATCH_UP_SPREAD: SignedDuration = SignedDuration::from_mins(5);

/// The longest delay of a start, for both reasons together.
pub const MAX_START_DELAY: SignedDuration = SignedDuration::from_mins(20);

/// What is due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The latest slot that has come and may still be caught up.
    pub slot: Option<Timestamp>,
    /// How many slots were missed.
    pub missed: i64,
    /// The latest slot that has come, caught up or not.
    pub latest: Option<Timestamp>,
    /// The next start.
    pub next: Option<Timestamp>,
}

impl Schedule {
    /// Parses five cron fields, and the name of a time zone.
    ///
    /// # Errors
    /// What is wrong, in a sentence that begins with the name of the field: `schedule` or `timeZone`.
    pub fn parse(fields: &str, zone: &str) -> Result<Self, String> {
        let cron = CronParser::new().parse(fields);
        let cron = cron.map_err(|error| format!("schedule {fields:?} cannot be read: {error}"))?;
        let zone = TimeZoneDatabase::bundled().get(zone);
        let zone = zone.map_err(|error| format!("timeZone is unknown: {error}"))?;
        Ok(Self { cron, zone, spread_key: 0, observing_since: None })
    }

    /// The same slots, with starts delayed by a time that follows from a number, and is always the same.
    #[must_use]
    pub fn spread(self, spread_key: u64) -> Self {
        Self { spread_key, ..self }
    }

    /// The same slots; those that came due before a manager began to observe are started some time after that.
    #[must_use]
    pub fn observed_since(self, observing_since: Option<Timestamp>) -> Self {
        Self { observing_since, ..self }
    }

    /// When what is due at `slot` starts: all objects see in the same reconcile what came due before any manager observed.
    fn begins(&self, slot: Timestamp) -> Timestamp {
        let start = self.start(slot);
        match self.observing_since.filter(|observing_since| start <= *observing_since) {
            Some(observing_since) => {
                observing_since.checked_add(catch_up_delay(self.spread_key)).unwrap_or(observing_since)
            }
            None => start,
        }
    }

    /// By how much a start is late. Waiting for its turn after the manager has come back does not count.
    fn late(&self, slot: Timestamp, now: Timestamp) -> SignedDuration {
        let waits = self
            .observing_since
            .filter(|observing_since| self.start(slot) <= *observing_since)
            .map(|observing_since| now.duration_since(observing_since));
        let waited = waits.map_or(SignedDuration::ZERO, |waited| waited.min(catch_up_delay(self.spread_key)));
        now.duration_since(self.start(slot)).saturating_sub(waited)
    }

    /// The first slot after `since`; `None` if there is none.
    #[must_use]
    pub fn after(&self, since: Timestamp) -> Option<Timestamp> {
        let next = self.cron.find_next_occurrence(&since.to_zoned(self.zone.clone()), false).ok()?;
        Some(next.timestamp())
    }

    /// The last slot before or at `until`; `None` if there is none.
    #[must_use]
    pub fn last(&self, until: Timestamp) -> Option<Timestamp> {
        let last = self.cron.find_previous_occurrence(&until.to_zoned(self.zone.clone()), true).ok()?;
        Some(last.timestamp())
    }

    /// The last slot whose start has come at `now`.
    #[must_use]
    pub fn last_started(&self, now: Timestamp) -> Option<Timestamp> {
        let last = self.last(now)?;
        if self.start(last) <= now {
            return Some(last);
        }
        self.last(last.checked_sub(SignedDuration::from_secs(1)).ok()?)
    }

    /// When what is due at `slot` is started: after no more than a quarter of the time to the next slot.
    #[must_use]
    pub fn start(&self, slot: Timestamp) -> Timestamp {
        let gap = self.after(slot).map_or(SPREAD, |next| next.duration_since(slot) / MAX_SPREAD_FRACTION);
        let seconds = u64::try_from(gap.min(SPREAD).as_secs()).unwrap_or(0);
        let delay = self.spread_key.checked_rem(seconds).and_then(|delay| i64::try_from(delay).ok()).unwrap_or(0);
        slot.checked_add(SignedDuration::from_secs(delay)).unwrap_or(slot)
    }

    /// What is due at `now` of the slots after `since`.
    ///
    /// # Errors
    /// That the schedule has no time to come, in such a sentence.
    pub fn due(&self, since: Timestamp, now: Timestamp, deadline: SignedDuration) -> Result<Due, String> {
        let at = |time: Timestamp| time.to_zoned(self.zone.clone());
        let started = self.last_started(now);
        // A slot that has come, and whose start has not, is still the next one.
        let next = self.after(started.unwrap_or(now));
        let next = self.start(next.ok_or_else(|| "schedule names a time that never comes".to_owned())?);
        let waits = |slot: &Timestamp| self.begins(*slot) > now && self.late(*slot, now) <= deadline;
        if let Some(slot) = started.filter(|slot| *slot > since).filter(waits) {
            return Ok(Due { next: Some(self.begins(slot)), ..Due::default() });
        }
        let before = |time: &Zoned, inclusive| self.cron.find_previous_occurrence(time, inclusive).ok();
        let Some(latest) = started.filter(|latest| *latest > since).map(at) else {
            return Ok(Due { next: Some(next), ..Due::default() });
        };
        let slot = Some(latest.timestamp()).filter(|slot| self.late(*slot, now) <= deadline);
        let mut missed = i64::from(slot.is_none());
        let mut earlier = before(&latest, false);
        while let Some(time) = earlier.filter(|time| time.timestamp() > since && missed < MAX_MISSED) {
            missed += 1;
            earlier = before(&time, false);
        }
        Ok(Due { slot, missed, latest: Some(latest.timestamp()), next: Some(next) })
    }
}

/// The delay of a start that came due while no manager ran.
#[must_use]
pub fn catch_up_delay(spread_key: u64) -> SignedDuration {
    let seconds = spread_key
        .checked_rem(CATCH_UP_SPREAD.as_secs().unsigned_abs())
        .and_then(|seconds| i64::try_from(seconds).ok());
    SignedDuration::from_secs(seconds.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each object has its own time, and all are late when a manager comes back.
    #[test]
    fn starts_that_came_due_while_no_manager_ran_are_spread_again() {
        let (slot, observing_since) = (at("2026-11-21T02:00:00Z"), at("2026-11-21T02:40:00Z"));
        let daily =
            |of| Schedule::parse("0 2 * * *", "Etc/UTC").unwrap().spread(of).observed_since(Some(observing_since));
        let due = |of, now: Timestamp| daily(of).due(at("2026-11-20T02:00:00Z"), now, HOUR).unwrap();
        let first: Vec<u64> = (0..900).filter(|of| due(*of, observing_since).slot.is_some()).collect();
        assert_eq!(first, [0, 300, 600]);
        let early = due(10, observing_since);
        assert_eq!((early.slot, early.missed, early.latest), (None, 0, None));
        assert_eq!(early.next, Some(at("2026-11-21T02:40:10Z")));
        assert_eq!(due(10, at("2026-11-21T02:40:10Z")).slot, Some(slot));
        // It waits no longer than it may; what was too late when the manager came back stays so.
        let short = |of, now: &str, minutes| {
            let deadline = SignedDuration::from_mins(minutes);
            daily(of).due(at("2026-11-20T02:00:00Z"), at(now), deadline).unwrap()
        };
        assert_eq!(short(299, "2026-11-21T02:45:00Z", 41).slot, Some(slot));
        let late = short(10, "2026-11-21T02:40:00Z", 30);
        assert_eq!((late.slot, late.missed), (None, 1));
        // Later slots start at their own times.
        assert_eq!(due(10, at("2026-11-22T02:00:10Z")).slot, Some(at("2026-11-22T02:00:00Z")));
    }

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn due(fields: &str, zone: &str, since: &str, now: &str) -> Due {
        Schedule::parse(fields, zone).unwrap().due(at(since), at(now), HOUR).unwrap()
    }

    #[test]
    fn the_latest_missed_time_is_due_and_older_ones_are_counted() {
        let due = due("0 2 * * *", "Etc/UTC", "2026-11-18T02:00:00Z", "2026-11-21T02:30:00Z");
        assert_eq!(due.slot, Some(at("2026-11-21T02:00:00Z")));
        assert_eq!((due.missed, due.next), (2, Some(at("2026-11-22T02:00:00Z"))));
    }

    #[test]
    fn what_is_too_late_is_missed() {
        let due = due("0 2 * * *", "Etc/UTC", "2026-11-20T02:00:00Z", "2026-11-21T03:30:00Z");
        assert_eq!((due.slot, due.missed), (None, 1));
        assert_eq!(due.latest, Some(at("2026-11-21T02:00:00Z")));
    }

    #[test]
    fn nothing_is_due_twice() {
        let due = due("0 2 * * *", "Etc/UTC", "2026-11-21T02:00:00Z", "2026-11-21T02:00:01Z");
        assert_eq!((due.slot, due.missed, due.latest), (None, 0, None));
    }

    #[test]
    fn starts_are_spread_and_slots_are_not() {
        let daily = |of| Schedule::parse("0 2 * * *", "Etc/UTC").unwrap().spread(of);
        let slot = at("2026-11-21T02:00:00Z");
        let starts: std::collections::BTreeSet<_> = (0..900).map(|of| daily(of).start(slot)).collect();
        assert_eq!(starts.len(), 900);
        assert!(starts.iter().all(|start| (0..900).contains(&start.duration_since(slot).as_secs())));
        let of = daily(300);
        let due = |now: &str| of.due(at("2026-11-20T02:00:00Z"), at(now), HOUR).unwrap();
        let early = due("2026-11-21T02:04:59Z");
        assert_eq!((early.slot, early.missed, early.next), (None, 0, Some(at("2026-11-21T02:05:00Z"))));
        let come = due("2026-11-21T02:05:00Z");
        assert_eq!((come.slot, come.missed, come.next), (Some(slot), 0, Some(at("2026-11-22T02:05:00Z"))));
        assert_eq!(due("2026-11-21T03:05:00Z").slot, Some(slot), "the deadline counts from the start on");
        // A frequent schedule is delayed by less than its interval.
        let often = Schedule::parse("* * * * *", "Etc/UTC").unwrap().spread(899);
        assert!(often.start(slot).duration_since(slot).as_secs() < 15);
    }

    #[test]
    fn times_are_those_of_the_zone() {
        let due = due("0 2 * * *", "Europe/Paris", "2026-07-01T00:00:00Z", "2026-07-01T00:30:00Z");
        assert_eq!((due.slot, due.next), (None, Some(at("2026-07-02T00:00:00Z"))));
    }

    #[test]
    fn invalid_schedules_and_those_without_a_time_to_come_are_errors() {
        assert!(Schedule::parse("0 2 * *", "Etc/UTC").is_err());
        assert!(Schedule::parse("0 2 * * *", "Mars/Olympus").unwrap_err().contains("timeZone"));
        let never = Schedule::parse("0 0 30 2 *", "Etc/UTC").unwrap();
        assert!(never.due(at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z"), HOUR).is_err());
    }
}
