//! Pure: decides who leads, from the content of a Lease and the time at which it was observed. The two clocks are parameters, and
//! times that other machines wrote are never compared with ours.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// How long a Lease that is not renewed is valid; the default of client-go.
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// How long after its last renewal a leader may act. Shorter than [`LEASE_DURATION`], so that it stops before another candidate
/// may start. It may act again once it has renewed a Lease that no other candidate has taken.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often a leader renews, and how often a candidate polls while it cannot watch.
pub const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// After how long without an event a candidate reads the Lease: by then, two renewals, up to 2.4 s apart, are missing.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// How much longer than its duration a Lease of another manager must be unchanged before it counts as expired.
const FOREIGN_GRACE: Duration = Duration::from_secs(2);

/// The fields of a Lease that an election reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// Identity of the holder; empty when released.
    pub holder: String,
    /// How long the Lease is valid without a renewal.
    pub duration: Duration,
    /// How many times the holder has changed.
    pub transitions: i32,
    /// When the holder acquired it, by the holder's clock.
    pub acquired: Option<Timestamp>,
    /// When the holder last renewed it, by the holder's clock. Only ever compared with its own earlier value.
    pub renewed: Option<Timestamp>,
}

impl LeaseRecord {
    /// Reads the spec of a Lease. A missing or invalid duration counts as [`LEASE_DURATION`]: too long is safe.
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

    /// Writes the record to `spec`, and keeps unknown fields.
    pub fn write(&self, spec: &mut LeaseSpec) {
        spec.holder_identity = Some(self.holder.clone());
        spec.lease_duration_seconds = Some(i32::try_from(self.duration.as_secs()).unwrap_or(i32::MAX));
        spec.lease_transitions = Some(self.transitions);
        spec.acquire_time = self.acquired.map(MicroTime);
        spec.renew_time = self.renewed.map(MicroTime);
    }

    /// The record of a release: no holder, and a duration so short that no candidate waits for it.
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

/// The last observed record, and when it last changed, by our monotonic clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedRecord {
    /// `None`: the Lease does not exist.
    pub record: Option<LeaseRecord>,
    /// The last record of a deleted Lease. Its holder may not have noticed the deletion, and acts until its renew deadline.
    pub deleted: Option<LeaseRecord>,
    /// When this record, or the deletion, was first observed.
    pub since: Duration,
}

impl ObservedRecord {
    /// Records what was read at `monotonic`; only a change restarts the clock.
    pub fn observe(&mut self, record: Option<LeaseRecord>, monotonic: Duration) {
        if self.record != record {
            let deleted = self.record.take().filter(|_| record.is_none());
            *self = Self { record, deleted, since: monotonic };
        }
    }

    /// The record of a holder, also of one whose Lease was deleted; it is valid from `since`.
    fn held_record(&self) -> Option<&LeaseRecord> {
        self.record.as_ref().or(self.deleted.as_ref()).filter(|record| !record.holder.is_empty())
    }
}

/// The readings of both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Time since a fixed moment of this process; decides about expiry.
    pub monotonic: Duration,
    /// The time that is written to a record, for readers.
    pub wall: Timestamp,
}

/// What to do next about the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElectionStep {
    /// The Lease is free: write this record to become the leader.
    Acquire(LeaseRecord),
    /// This candidate holds it: write this record to stay the leader.
    Renew(LeaseRecord),
    /// Nothing to do for this time, unless the Lease changes.
    Wait(Duration),
    /// This candidate led and may no longer.
    Lost(String),
}

/// Decides the next step of the candidate `me`, which last renewed at `last_renew` (`None`: it does not lead).
#[must_use]
pub fn decide(observed: &ObservedRecord, me: &str, last_renew: Option<Duration>, now: Now) -> ElectionStep {
    match last_renew {
        Some(renewed) => decide_as_leader(observed, me, renewed, now),
        None => decide_as_candidate(observed, me, now),
    }
}

fn decide_as_leader(observed: &ObservedRecord, me: &str, renewed: Duration, now: Now) -> ElectionStep {
    let passed = now.monotonic.saturating_sub(renewed);
    match &observed.record {
        Some(record) if record.holder != me && record.holder.is_empty() => {
            ElectionStep::Lost("the lease was released".into())
        }
        Some(record) if record.holder != me => ElectionStep::Lost(format!("{} holds the lease now", record.holder)),
        _ if passed < RETRY_PERIOD => ElectionStep::Wait(RETRY_PERIOD - passed),
        Some(record) => {
            ElectionStep::Renew(LeaseRecord { duration: LEASE_DURATION, renewed: Some(now.wall), ..record.clone() })
        }
        None if passed >= RENEW_DEADLINE => {
            ElectionStep::Lost("the lease was deleted while it could not be renewed".into())
        }
        // A client deleted the Lease: the first writer leads, so it is recreated at once.
        None => ElectionStep::Renew(new_record(me, 0, now.wall)),
    }
}

fn decide_as_candidate(observed: &ObservedRecord, me: &str, now: Now) -> ElectionStep {
    if let Some(record) = observed.record.as_ref().filter(|record| record.holder == me) {
        // Our write took effect although its response was lost.
        return ElectionStep::Renew(LeaseRecord {
            duration: LEASE_DURATION,
            renewed: Some(now.wall),
            ..record.clone()
        });
    }
    let still = now.monotonic.saturating_sub(observed.since);
    match observed.held_record() {
        Some(theirs) if theirs.holder != me && still < theirs.duration => ElectionStep::Wait(theirs.duration - still),
        _ => {
            let transitions = observed.record.as_ref().map_or(0, |record| record.transitions.saturating_add(1));
            ElectionStep::Acquire(new_record(me, transitions, now.wall))
        }
    }
}

fn new_record(me: &str, transitions: i32, wall: Timestamp) -> LeaseRecord {
    let (acquired, renewed) = (Some(wall), Some(wall));
    LeaseRecord { holder: me.to_owned(), duration: LEASE_DURATION, transitions, acquired, renewed }
}

/// Whether another manager still holds its Lease, which was last read at `read` (monotonic).
///
/// It does until the Lease was observed unchanged, or absent, for its own duration plus 2 s: one read cannot show that it has
/// expired, and a leader whose Lease is deleted keeps acting and recreates it. A Lease that was never observed with a holder is
/// free.
#[must_use]
pub fn is_foreign_held(observed: &ObservedRecord, read: Duration) -> bool {
    let passed = read.saturating_sub(observed.since);
    observed.held_record().is_some_and(|record| passed < record.duration.saturating_add(FOREIGN_GRACE))
}

#[cfg(test)]
mod tests;
