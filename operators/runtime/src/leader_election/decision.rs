//! Pure: who leads, decided from what a Lease says and when we saw it say so. The two clocks come in as values, and times that
//! other machines wrote are never compared with ours.

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
pub struct ObservedRecord {
    /// `None`: the Lease does not exist.
    pub record: Option<Record>,
    /// What a Lease said that has been deleted since. Whoever held it may not have noticed, and acts until its renew deadline.
    pub deleted: Option<Record>,
    /// When we first saw this record, or that there is none any more.
    pub since: Duration,
}

impl ObservedRecord {
    /// Takes in what was read at `monotonic`; only a change restarts the clock.
    pub fn observe(&mut self, record: Option<Record>, monotonic: Duration) {
        if self.record != record {
            let deleted = self.record.take().filter(|_| record.is_none());
            *self = Self { record, deleted, since: monotonic };
        }
    }

    /// What somebody holds, or held when the Lease was deleted; it counts from `since`.
    fn claim(&self) -> Option<&Record> {
        self.record.as_ref().or(self.deleted.as_ref()).filter(|record| !record.holder.is_empty())
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
pub fn decide(seen: &ObservedRecord, me: &str, last_renew: Option<Duration>, now: Now) -> Step {
    match last_renew {
        Some(renewed) => stay(seen, me, renewed, now),
        None => contend(seen, me, now),
    }
}

fn stay(seen: &ObservedRecord, me: &str, renewed: Duration, now: Now) -> Step {
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

fn contend(seen: &ObservedRecord, me: &str, now: Now) -> Step {
    if let Some(record) = seen.record.as_ref().filter(|record| record.holder == me) {
        // Our write arrived although its answer did not.
        return Step::Renew(Record { duration: LEASE_DURATION, renewed: Some(now.wall), ..record.clone() });
    }
    let still = now.monotonic.saturating_sub(seen.since);
    match seen.claim() {
        Some(theirs) if theirs.holder != me && still < theirs.duration => Step::Wait(theirs.duration - still),
        _ => {
            let transitions = seen.record.as_ref().map_or(0, |record| record.transitions.saturating_add(1));
            Step::Acquire(claim(me, transitions, now.wall))
        }
    }
}

fn claim(me: &str, transitions: i32, wall: Timestamp) -> Record {
    let (acquired, renewed) = (Some(wall), Some(wall));
    Record { holder: me.to_owned(), duration: LEASE_DURATION, transitions, acquired, renewed }
}

/// Whether another manager's lease, last read at `read` (monotonic), still has a live holder.
///
/// It has until it was seen unchanged, or absent, for its own duration plus 2 s: one reading never proves death, and a leader
/// whose Lease is deleted acts on and makes it again. One that was never seen held is nobody's.
#[must_use]
pub fn foreign_is_live(seen: &ObservedRecord, read: Duration) -> bool {
    let passed = read.saturating_sub(seen.since);
    seen.claim().is_some_and(|claim| passed < claim.duration.saturating_add(FOREIGN_GRACE))
}

#[cfg(test)]
mod tests;
