//! Pure: which snapshots belong to a database and its schedule.

use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason};

use crate::database::observed::Observed;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names;

/// Whether a snapshot is a scheduled one of this database.
pub(super) fn is_scheduled(observed: &Observed, of: &Snapshot) -> bool {
    of.spec.reason == SnapshotReason::Scheduled && !of.meta.deleting && is_requested_for(observed, of)
}

/// Whether a snapshot was requested of this database, not of an earlier one of the same name whose data it does not have.
pub(super) fn is_requested_for(observed: &Observed, of: &Snapshot) -> bool {
    let earlier = &observed.db.status.storage.adopted_from;
    let adopted = |uid: &String| earlier.contains(uid);
    is_for_this(observed, of) || of.spec.sample_db_uid.as_ref().is_some_and(adopted)
}

/// Whether a snapshot was requested of this very object. One of an earlier object, whose data was adopted, counts if it was taken
/// then: nothing starts it any more.
pub(super) fn is_for_this(observed: &Observed, of: &Snapshot) -> bool {
    of.spec.sample_db_uid.as_deref().is_none_or(|uid| *uid == *observed.db.meta.uid)
}

/// The number by which this database's starts are spread among those of all databases.
pub(super) fn spread_key(db: &SampleDB) -> u64 {
    names::fingerprint(&db.meta.uid)
}

/// Whether a snapshot is pending or running, so it has neither succeeded nor failed yet.
pub(super) fn is_unfinished(status: &SampleDBSnapshotStatus) -> bool {
    matches!(status.phase, None | Some(SnapshotPhase::Pending | SnapshotPhase::Running))
}
