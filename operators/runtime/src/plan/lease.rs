//! Who leads, decided from what a Lease says and when we saw it say so. Pure: the two clocks come in as values, and
//! times that other machines wrote are never compared with ours.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// How long a claim that is not renewed keeps others out. As client-go's default.
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// How long after its last renewal a leader may still act. Shorter than [`LEASE_DURATION`], so that it stops before
/// anybody else may start. It may act again once it has renewed a lease that nobody else has taken.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often a leader renews, and how often a candidate polls while it cannot watch.
pub const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// How long a standby hears nothing of a Lease before it looks at it: by then two renewals, up to 2.4 s apart, have not come.
pub const SILENCE: Duration = Duration::from_secs(5);
/// How much longer than its own duration a foreign claim must stand still before we call its manager gone.
const FOREIGN_GRACE: Duration = Duration::from_secs(2);

/// What a Lease says, reduced to what an election reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Identity of the holder; empty when released.
    pub holder: String,
    /// How long the claim stands without renewal.
    pub duration: Duration,
    /// How many times the holder has changed.
    pub transitions: i32,
    /// When the holder acquired it, by the holder's clock.
    pub acquired: Option<Timestamp>,
    /// When the holder last renewed it, by the holder's clock. Only ever compared with its own earlier value.
    pub renewed: Option<Timestamp>,
}

impl Record {
    /// Reads a Lease's spec. A missing or senseless duration counts as [`LEASE_DURATION`]: too long is the safe side.
    #[must_use]
    pub fn read(spec: &LeaseSpec) -> Self {
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Self {
            holder: spec.holder_identity.clone().unwrap_or_default(),
            duration: seconds.filter(|seconds| *seconds > 0).map_or(LEASE_DURATION, Duration::from_secs),
            transitions: spec.lease_transitions.unwrap_or_default(),
            acquired: spec.acquire_time.as_ref().map(|time| time.0),
            renewed: spec.renew_time.as_ref().map(|time| time.0),
        }
    }

    /// Writes itself over `spec`, leaving fields it does not know.
    pub fn write(&self, spec: &mut LeaseSpec) {
        spec.holder_identity = Some(self.holder.clone());
        spec.lease_duration_seconds = Some(i32::try_from(self.duration.as_secs()).unwrap_or(i32::MAX));
        spec.lease_transitions = Some(self.transitions);
        spec.acquire_time = self.acquired.map(MicroTime);
        spec.renew_time = self.renewed.map(MicroTime);
    }

    /// The record that frees the lease after draining: no holder, and valid for so short that nobody waits for it.
    #[must_use]
    pub fn released(&self, wall: Timestamp) -> Self {
        let duration = Duration::from_secs(1);
        Self {
            holder: String::new(),
            duration,
            transitions: self.transitions,
            acquired: Some(wall),
            renewed: Some(wall),
        }
    }
}

/// The last record seen, and when it last changed, by our monotonic clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// `None`: the Lease does not exist.
    pub record: Option<Record>,
    /// When we first saw this record.
    pub since: Duration,
}

impl Seen {
    /// Takes in what was read at `monotonic`; only a change restarts the clock.
    pub fn observe(&mut self, record: Option<Record>, monotonic: Duration) {
        if self.record != record {
            *self = Self { record, since: monotonic };
        }
    }
}

/// Both clocks, read at once.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Time since some fixed moment of this process; judges expiry.
    pub monotonic: Duration,
    /// What goes into a record for people to read.
    pub wall: Timestamp,
}

/// What to do next about the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is free: write this record to become leader.
    Acquire(Record),
    /// It is ours: write this record to stay leader.
    Renew(Record),
    /// Nothing to do before this much time has passed, unless the lease changes.
    Wait(Duration),
    /// We led and may no longer.
    Lost(String),
}

/// Decides the next step of the candidate `me`, who last renewed at `last_renew` (`None`: does not lead).
#[must_use]
pub fn decide(seen: &Seen, me: &str, last_renew: Option<Duration>, now: Now) -> Step {
    match last_renew {
        Some(renewed) => stay(seen, me, renewed, now),
        None => contend(seen, me, now),
    }
}

fn stay(seen: &Seen, me: &str, renewed: Duration, now: Now) -> Step {
    let passed = now.monotonic.saturating_sub(renewed);
    match &seen.record {
        Some(record) if record.holder != me && record.holder.is_empty() => Step::Lost("the lease was released".into()),
        Some(record) if record.holder != me => Step::Lost(format!("{} holds the lease now", record.holder)),
        _ if passed < RETRY_PERIOD => Step::Wait(RETRY_PERIOD - passed),
        Some(record) => Step::Renew(Record { duration: LEASE_DURATION, renewed: Some(now.wall), ..record.clone() }),
        None if passed >= RENEW_DEADLINE => Step::Lost("the lease was deleted while it could not be renewed".into()),
        // Deleted by somebody: whoever writes first leads, so it is written anew at once.
        None => Step::Renew(claim(me, 0, now.wall)),
    }
}

fn contend(seen: &Seen, me: &str, now: Now) -> Step {
    let Some(record) = &seen.record else {
        return Step::Acquire(claim(me, 0, now.wall));
    };
    if record.holder == me {
        // Our write arrived although its answer did not.
        return Step::Renew(Record { duration: LEASE_DURATION, renewed: Some(now.wall), ..record.clone() });
    }
    let still = now.monotonic.saturating_sub(seen.since);
    if record.holder.is_empty() || still >= record.duration {
        return Step::Acquire(claim(me, record.transitions.saturating_add(1), now.wall));
    }
    Step::Wait(record.duration - still)
}

fn claim(me: &str, transitions: i32, wall: Timestamp) -> Record {
    let (acquired, renewed) = (Some(wall), Some(wall));
    Record { holder: me.to_owned(), duration: LEASE_DURATION, transitions, acquired, renewed }
}

/// Whether another manager's lease, last read at `read` (monotonic), still has a live holder.
///
/// It has until it was seen unchanged for its own duration plus 2 s: one reading never proves death.
#[must_use]
pub fn foreign_is_live(seen: &Seen, read: Duration) -> bool {
    seen.record.as_ref().is_some_and(|record| {
        !record.holder.is_empty() && read.saturating_sub(seen.since) < record.duration.saturating_add(FOREIGN_GRACE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: &str = "me_1";

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn now(seconds: u64) -> Now {
        Now { monotonic: at(seconds), wall: wall(seconds) }
    }

    /// A wall clock that has nothing to do with the monotonic one.
    fn wall(seconds: u64) -> Timestamp {
        Timestamp::from_second(1_000 - seconds as i64).unwrap()
    }

    fn held_by(holder: &str, transitions: i32) -> Record {
        Record { holder: holder.into(), ..claim("", transitions, wall(0)) }
    }

    fn seen(record: Record, since: u64) -> Seen {
        Seen { record: Some(record), since: at(since) }
    }

    #[test]
    fn an_absent_lease_is_claimed_with_no_transition() {
        let step = decide(&Seen::default(), ME, None, now(3));
        assert_eq!(step, Step::Acquire(claim(ME, 0, wall(3))));
    }

    #[test]
    fn a_held_lease_is_waited_for_from_when_we_saw_it_change() {
        let mut seen = seen(held_by("other", 4), 10);
        assert_eq!(decide(&seen, ME, None, now(12)), Step::Wait(at(13)));
        // The same record again does not restart the wait, a renewed one does.
        seen.observe(Some(held_by("other", 4)), at(20));
        assert_eq!(decide(&seen, ME, None, now(24)), Step::Wait(at(1)));
        seen.observe(Some(Record { renewed: Some(wall(7)), ..held_by("other", 4) }), at(24));
        assert_eq!(decide(&seen, ME, None, now(24)), Step::Wait(at(15)));
    }

    #[test]
    fn an_expired_lease_is_claimed_with_one_more_transition() {
        let seen = seen(held_by("other", 4), 10);
        assert_eq!(decide(&seen, ME, None, now(25)), Step::Acquire(claim(ME, 5, wall(25))));
    }

    #[test]
    fn a_released_lease_is_claimed_at_once() {
        let released = held_by("other", 4).released(wall(1));
        assert_eq!((released.holder.as_str(), released.duration), ("", at(1)));
        assert_eq!(decide(&seen(released, 10), ME, None, now(10)), Step::Acquire(claim(ME, 5, wall(10))));
    }

    #[test]
    fn the_times_that_others_wrote_decide_nothing() {
        for far in [Timestamp::MIN, Timestamp::MAX] {
            let record = Record { renewed: Some(far), acquired: Some(far), ..held_by("other", 0) };
            assert_eq!(decide(&seen(record, 0), ME, None, now(14)), Step::Wait(at(1)));
        }
    }

    #[test]
    fn a_claim_whose_answer_was_lost_is_ours() {
        let step = decide(&seen(held_by(ME, 2), 0), ME, None, now(1));
        assert!(matches!(step, Step::Renew(record) if record.transitions == 2 && record.acquired == Some(wall(0))));
    }

    #[test]
    fn a_leader_renews_every_two_seconds_and_keeps_when_it_acquired() {
        let seen = seen(held_by(ME, 2), 0);
        assert_eq!(decide(&seen, ME, Some(at(5)), now(6)), Step::Wait(at(1)));
        let Step::Renew(record) = decide(&seen, ME, Some(at(5)), now(7)) else { panic!("no renewal") };
        assert_eq!((record.transitions, record.acquired, record.renewed), (2, Some(wall(0)), Some(wall(7))));
    }

    /// The write is of the version that was seen, so it is refused if anybody has led meanwhile.
    #[test]
    fn a_leader_that_missed_its_deadline_renews_a_lease_that_nobody_has_taken() {
        assert!(matches!(decide(&Seen::default(), ME, Some(at(5)), now(15)), Step::Lost(_)), "somebody may have led");
        let seen = seen(held_by(ME, 2), 5);
        assert!(matches!(decide(&seen, ME, Some(at(5)), now(14)), Step::Renew(_)));
        assert!(matches!(decide(&seen, ME, Some(at(5)), now(1000)), Step::Renew(record) if record.transitions == 2));
        assert!(matches!(decide(&seen, "other", None, now(19)), Step::Wait(_)));
        assert!(matches!(decide(&seen, "other", None, now(20)), Step::Acquire(_)));
    }

    #[test]
    fn a_leader_that_was_replaced_is_lost_at_once_and_one_whose_lease_was_deleted_writes_it_anew() {
        assert!(matches!(decide(&seen(held_by("other", 3), 6), ME, Some(at(5)), now(6)), Step::Lost(_)));
        assert!(
            matches!(decide(&Seen::default(), ME, Some(at(5)), now(7)), Step::Renew(record) if record.holder == ME)
        );
    }

    #[test]
    fn a_record_survives_the_way_through_a_lease() {
        let mut spec = LeaseSpec { strategy: Some("kept".into()), ..LeaseSpec::default() };
        let record = held_by("other", 7);
        record.write(&mut spec);
        assert_eq!(Record::read(&spec), record);
        assert_eq!(spec.strategy.as_deref(), Some("kept"));
        for junk in [None, Some(0), Some(-5)] {
            spec.lease_duration_seconds = junk;
            assert_eq!(Record::read(&spec).duration, LEASE_DURATION);
        }
    }

    #[test]
    fn a_foreign_lease_lives_until_it_was_seen_still_for_its_duration_and_two_seconds() {
        let mut seen = seen(held_by("them", 0), 100);
        assert!(foreign_is_live(&seen, at(100)));
        assert!(foreign_is_live(&seen, at(116)));
        assert!(!foreign_is_live(&seen, at(117)));
        seen.observe(Some(Record { renewed: Some(wall(9)), ..held_by("them", 0) }), at(117));
        assert!(foreign_is_live(&seen, at(117)));
        seen.observe(Some(held_by("", 0)), at(118));
        assert!(!foreign_is_live(&seen, at(118)));
        seen.observe(None, at(119));
        assert!(!foreign_is_live(&seen, at(119)));
    }
}
