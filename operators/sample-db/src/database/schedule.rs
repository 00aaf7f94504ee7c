//! Pure: the times of a schedule. It is pure: time zones come from the table that the program carries, not from the machine.

use croner::Cron;
use croner::parser::CronParser;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp, Zoned};

/// The longest that a start is put off, so that what is due at the same second is not begun at the same second.
const SPREAD: SignedDuration = SignedDuration::from_mins(15);
/// Which part of the time between two of its times, at most.
const PART: i32 = 4;

/// Missed times are counted up to here; beyond it nobody cares how many.
const MOST_MISSED: i64 = 1000;

/// A schedule in a time zone.
#[derive(Debug)]
pub struct Schedule {
    cron: Cron,
    zone: TimeZone,
    /// Who it is of, as a number: how far in the spread it starts.
    of: u64,
    /// When the manager that runs now began to look.
    began: Option<Timestamp>,
}

/// Over which time that is spread which came while no manager ran.
const MISSED: SignedDuration = SignedDuration::from_mins(5);

/// How long after its time a start may be put off for both reasons.
pub(super) const LATEST: SignedDuration = SignedDuration::from_mins(20);

/// What of a schedule is due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The latest time that has come and may still be made up for.
    pub slot: Option<Timestamp>,
    /// How many times have come and gone.
    pub missed: i64,
    /// The latest time that has come, made up for or not.
    pub latest: Option<Timestamp>,
    /// The next time.
    pub next: Option<Timestamp>,
}

impl Schedule {
    /// Reads five fields, and the name of a time zone.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(fields: &str, zone: &str) -> Result<Self, String> {
        let cron = CronParser::new().parse(fields);
        let cron = cron.map_err(|error| format!("backup.schedule {fields:?} cannot be read: {error}"))?;
        let zone = TimeZoneDatabase::bundled().get(zone);
        let zone = zone.map_err(|error| format!("backup.timeZone is not known: {error}"))?;
        Ok(Self { cron, zone, of: 0, began: None })
    }

    /// The same times, of which each is started later: by how much follows from a number, and is the same every time.
    #[must_use]
    pub fn spread(self, of: u64) -> Self {
        Self { of, ..self }
    }

    /// The same times; those that came before a manager began to look are started some time after that.
    #[must_use]
    pub fn looked_at_since(self, began: Option<Timestamp>) -> Self {
        Self { began, ..self }
    }

    /// When what is due at `slot` begins: all databases see in the same pass what came before any manager looked.
    fn begins(&self, slot: Timestamp) -> Timestamp {
        let start = self.start(slot);
        match self.began.filter(|began| start <= *began) {
            Some(began) => began.checked_add(missed_by(self.of)).unwrap_or(began),
            None => start,
        }
    }

    /// By how much it is late. Whoever waits for its turn after the manager has come back is no later for that.
    fn late(&self, slot: Timestamp, now: Timestamp) -> SignedDuration {
        let waits = self.began.filter(|began| self.start(slot) <= *began).map(|began| now.duration_since(began));
        let waited = waits.map_or(SignedDuration::ZERO, |waited| waited.min(missed_by(self.of)));
        now.duration_since(self.start(slot)).saturating_sub(waited)
    }

    /// The first time after `since`; none if none ever comes.
    #[must_use]
    pub fn after(&self, since: Timestamp) -> Option<Timestamp> {
        let next = self.cron.find_next_occurrence(&since.to_zoned(self.zone.clone()), false).ok()?;
        Some(next.timestamp())
    }

    /// The last time before `until`, or at it; none if none ever came.
    #[must_use]
    pub fn last(&self, until: Timestamp) -> Option<Timestamp> {
        let last = self.cron.find_previous_occurrence(&until.to_zoned(self.zone.clone()), true).ok()?;
        Some(last.timestamp())
    }

    /// The last time of which the start has come at `now`.
    #[must_use]
    pub fn last_started(&self, now: Timestamp) -> Option<Timestamp> {
        let last = self.last(now)?;
        if self.start(last) <= now {
            return Some(last);
        }
        self.last(last.checked_sub(SignedDuration::from_secs(1)).ok()?)
    }

    /// When what is due at `slot` is started: no later than after a quarter of the time to the next slot.
    #[must_use]
    pub fn start(&self, slot: Timestamp) -> Timestamp {
        let gap = self.after(slot).map_or(SPREAD, |next| next.duration_since(slot) / PART);
        let seconds = u64::try_from(gap.min(SPREAD).as_secs()).unwrap_or(0);
        let delay = self.of.checked_rem(seconds).and_then(|delay| i64::try_from(delay).ok()).unwrap_or(0);
        slot.checked_add(SignedDuration::from_secs(delay)).unwrap_or(slot)
    }

    /// What is due at `now` of what came after `since`.
    ///
    /// # Errors
    /// That the schedule never comes.
    pub fn due(&self, since: Timestamp, now: Timestamp, deadline: SignedDuration) -> Result<Due, String> {
        let at = |time: Timestamp| time.to_zoned(self.zone.clone());
        let started = self.last_started(now);
        // The one whose time has come, and whose start has not, is still to come.
        let next = self.after(started.unwrap_or(now));
        let next = self.start(next.ok_or_else(|| "backup.schedule names a time that never comes".to_owned())?);
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
        while let Some(time) = earlier.filter(|time| time.timestamp() > since && missed < MOST_MISSED) {
            missed += 1;
            earlier = before(&time, false);
        }
        Ok(Due { slot, missed, latest: Some(latest.timestamp()), next: Some(next) })
    }
}

/// How far in the spread of what came while no manager ran that of a database is.
pub(super) fn missed_by(of: u64) -> SignedDuration {
    let seconds = of.checked_rem(MISSED.as_secs().unsigned_abs()).and_then(|seconds| i64::try_from(seconds).ok());
    SignedDuration::from_secs(seconds.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each database has its own time, and all are late when a manager comes back.
    #[test]
    fn what_came_while_no_manager_ran_is_spread_again() {
        let (slot, began) = (at("2026-11-21T02:00:00Z"), at("2026-11-21T02:40:00Z"));
        let daily = |of| Schedule::parse("0 2 * * *", "Etc/UTC").unwrap().spread(of).looked_at_since(Some(began));
        let due = |of, now: Timestamp| daily(of).due(at("2026-11-20T02:00:00Z"), now, HOUR).unwrap();
        let first: Vec<u64> = (0..900).filter(|of| due(*of, began).slot.is_some()).collect();
        assert_eq!(first, [0, 300, 600]);
        let early = due(10, began);
        assert_eq!((early.slot, early.missed, early.latest), (None, 0, None));
        assert_eq!(early.next, Some(at("2026-11-21T02:40:10Z")));
        assert_eq!(due(10, at("2026-11-21T02:40:10Z")).slot, Some(slot));
        // It waits no longer than it may, and what was too late when the manager came is.
        let short = |of, now: &str, minutes| {
            let deadline = SignedDuration::from_mins(minutes);
            daily(of).due(at("2026-11-20T02:00:00Z"), at(now), deadline).unwrap()
        };
        assert_eq!(short(299, "2026-11-21T02:45:00Z", 41).slot, Some(slot));
        let late = short(10, "2026-11-21T02:40:00Z", 30);
        assert_eq!((late.slot, late.missed), (None, 1));
        // What comes later is started in its own time.
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
        // What comes often is put off by less than it takes to come again.
        let often = Schedule::parse("* * * * *", "Etc/UTC").unwrap().spread(899);
        assert!(often.start(slot).duration_since(slot).as_secs() < 15);
    }

    #[test]
    fn times_are_those_of_the_zone() {
        let due = due("0 2 * * *", "Europe/Paris", "2026-07-01T00:00:00Z", "2026-07-01T00:30:00Z");
        assert_eq!((due.slot, due.next), (None, Some(at("2026-07-02T00:00:00Z"))));
    }

    #[test]
    fn what_cannot_be_read_or_never_comes_is_told() {
        assert!(Schedule::parse("0 2 * *", "Etc/UTC").is_err());
        assert!(Schedule::parse("0 2 * * *", "Mars/Olympus").unwrap_err().contains("timeZone"));
        let never = Schedule::parse("0 0 30 2 *", "Etc/UTC").unwrap();
        assert!(never.due(at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z"), HOUR).is_err());
    }
}
