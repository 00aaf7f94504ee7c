//! Pure: when an upgrade starts that nothing else prevents.

use api::ConditionStatus;
use api::sample_db::{SampleDBReason, SampleDBStatus, condition_type as domain};
use jiff::{SignedDuration, Timestamp, Unit};

use crate::database::observed::Observed;
use crate::database::pinned::{Pinned, SpecRefusal};
use crate::database::target::TargetRelease;
use crate::operand::names::fingerprint;
use runtime::schedule::catch_up_delay;

/// Over how many seconds the upgrades to a new catalog are spread, because all databases see it at once.
const SPREAD: u64 = 300;
/// Why an upgrade does not start yet, and until when.
pub(super) fn postponed(
    observed: &Observed,
    pinned: &Pinned,
    goal: &TargetRelease,
    now: Timestamp,
) -> Option<SpecRefusal> {
    let kept = previous_volume_kept(observed, pinned, goal, now).map(|why| (SampleDBReason::PreviousVolumeKept, why));
    kept.or_else(|| spread(observed, pinned, goal, now).map(|why| (SampleDBReason::UpgradeWaits, why)))
}

/// Whether an upgrade waits for a time, which no watch reports.
pub(in crate::database) fn is_spread(status: &SampleDBStatus) -> bool {
    status
        .contract
        .condition(domain::UP_TO_DATE)
        .is_some_and(|reported| reported.reason == SampleDBReason::UpgradeWaits)
}

/// The upgrade would replace the volume that was promised to be kept.
fn previous_volume_kept(observed: &Observed, pinned: &Pinned, goal: &TargetRelease, now: Timestamp) -> Option<String> {
    let storage = &observed.db.status.storage;
    let until = storage.previous_claim_until.filter(|until| *until > now && goal.major != pinned.major)?;
    let claim = storage.previous_claim.as_deref().and_then(|claim| observed.claim(claim))?;
    (!claim.meta.deleting).then(|| {
        format!(
            "the upgrade to PostgreSQL {} waits until {until}: the volume {} from before the last upgrade is kept until then \
             (upgrade.keepPreviousVolumeFor); delete that PVC to upgrade now",
            goal.name(),
            claim.meta.key.name
        )
    })
}

/// An upgrade to a new release of the catalog starts some time after it was first observed, by the database's UID. What the spec
/// requests starts at once.
fn spread(observed: &Observed, pinned: &Pinned, goal: &TargetRelease, now: Timestamp) -> Option<String> {
    let db = &*observed.db;
    let exact = db.spec.engine.version.as_deref().is_some_and(|version| version.contains('.'));
    let asked = goal.major != pinned.major || exact || db.spec.engine.image.is_some();
    if asked || db.status.contract.observed_generation != db.meta.generation {
        return None;
    }
    let reported = db.status.contract.condition(domain::UP_TO_DATE);
    let reported = reported
        .filter(|reported| reported.status == ConditionStatus::False)
        .map(|reported| reported.last_transition_time);
    let seen = reported.or_else(|| now.round(Unit::Second).ok())?;
    let spread_key = fingerprint(&db.meta.uid);
    let delay = i64::try_from(spread_key % SPREAD).unwrap_or(0);
    let start = seen.checked_add(SignedDuration::from_secs(delay)).ok()?;
    // What came due while no manager ran would start everywhere in the same reconcile.
    let start = match observed.observing_since.filter(|began| start <= *began) {
        Some(began) => began.checked_add(catch_up_delay(spread_key)).ok()?,
        None => start,
    };
    if start <= now {
        return None;
    }
    let goal = goal.name();
    Some(format!(
        "the upgrade to PostgreSQL {goal} of the catalog starts at {start}: not all databases are upgraded at once"
    ))
}
