//! Pure: when an upgrade begins that nothing else keeps from it.

use api::ConditionStatus;
use api::sample_db::{SampleDBReason, SampleDBStatus, condition_type as domain};
use jiff::{SignedDuration, Timestamp, Unit};

use crate::database::observed::Observed;
use crate::database::pinned::{Pinned, Refusal};
use crate::database::schedule::missed_by;
use crate::database::target::TargetRelease;
use crate::operand::names::fingerprint;

/// Over how many seconds the upgrades are spread that a new catalog leads to, since all databases see it at once.
const SPREAD: u64 = 300;
/// Why an upgrade does not begin yet, and until when.
pub(super) fn put_off(observed: &Observed, pinned: &Pinned, goal: &TargetRelease, now: Timestamp) -> Option<Refusal> {
    let kept = still_kept(observed, pinned, goal, now).map(|why| (SampleDBReason::PreviousVolumeKept, why));
    kept.or_else(|| spread(observed, pinned, goal, now).map(|why| (SampleDBReason::UpgradeWaits, why)))
}

/// Whether an upgrade waits for a time that no watch tells of.
pub(in crate::database) fn is_spread(status: &SampleDBStatus) -> bool {
    status.contract.condition(domain::UP_TO_DATE).is_some_and(|told| told.reason == SampleDBReason::UpgradeWaits)
}

/// It would take the place of the volume that was promised to be kept.
fn still_kept(observed: &Observed, pinned: &Pinned, goal: &TargetRelease, now: Timestamp) -> Option<String> {
    let storage = &observed.db.status.storage;
    let until = storage.previous_claim_until.filter(|until| *until > now && goal.major != pinned.major)?;
    let claim = storage.previous_claim.as_deref().and_then(|claim| observed.claim(claim))?;
    (!claim.meta.deleting).then(|| {
        format!(
            "PostgreSQL {} is to run once the volume {} of before the last upgrade is kept no longer, at {until} \
             (upgrade.keepPreviousVolumeFor); to have it run now, delete that claim",
            goal.name(),
            claim.meta.key.name
        )
    })
}

/// What the catalog leads to begins some time after it was first seen, which follows from the database's uid. What somebody
/// asks for in the spec begins at once.
fn spread(observed: &Observed, pinned: &Pinned, goal: &TargetRelease, now: Timestamp) -> Option<String> {
    let db = &*observed.db;
    let exact = db.spec.engine.version.as_deref().is_some_and(|version| version.contains('.'));
    let asked = goal.major != pinned.major || exact || db.spec.engine.image.is_some();
    if asked || db.status.contract.observed_generation != db.meta.generation {
        return None;
    }
    let told = db.status.contract.condition(domain::UP_TO_DATE);
    let told = told.filter(|told| told.status == ConditionStatus::False).map(|told| told.last_transition_time);
    let seen = told.or_else(|| now.round(Unit::Second).ok())?;
    let place = fingerprint(&db.meta.uid);
    let delay = i64::try_from(place % SPREAD).unwrap_or(0);
    let start = seen.checked_add(SignedDuration::from_secs(delay)).ok()?;
    // What came while no manager ran would begin everywhere in the same pass.
    let start = match observed.began.filter(|began| start <= *began) {
        Some(began) => began.checked_add(missed_by(place)).ok()?,
        None => start,
    };
    if start <= now {
        return None;
    }
    let goal = goal.name();
    Some(format!("PostgreSQL {goal} of the catalog is to run, from {start} on: not all databases are upgraded at once"))
}
