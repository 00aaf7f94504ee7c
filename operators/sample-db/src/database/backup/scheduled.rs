//! Pure: which snapshots belong to a database and its schedule.

use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason};

use crate::database::observed::Observed;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names;

/// Whether a snapshot is one of the schedule's for this very database.
pub(super) fn is_scheduled(observed: &Observed, of: &Snapshot) -> bool {
    of.spec.reason == SnapshotReason::Scheduled && !of.meta.deleting && is_asked_of(observed, of)
}

/// Whether a snapshot is to be of this very database, and not of an earlier one of the name whose data it has not.
pub(super) fn is_asked_of(observed: &Observed, of: &Snapshot) -> bool {
    let earlier = &observed.db.status.storage.adopted_from;
    let adopted = |uid: &String| earlier.contains(uid);
    is_of_this(observed, of) || of.spec.sample_db_uid.as_ref().is_some_and(adopted)
}

/// Whether a snapshot is to be of this very object. One of an earlier object, whose data it has taken over, is good if it was taken
/// then: nothing begins it any more.
pub(super) fn is_of_this(observed: &Observed, of: &Snapshot) -> bool {
    of.spec.sample_db_uid.as_deref().is_none_or(|uid| *uid == *observed.db.meta.uid)
}

/// How far in the spread of all databases' starts this one's are.
pub(super) fn place(db: &SampleDB) -> u64 {
    names::fingerprint(&db.meta.uid)
}

pub(super) fn is_under_way(status: &SampleDBSnapshotStatus) -> bool {
    matches!(status.phase, None | Some(SnapshotPhase::Pending | SnapshotPhase::Running))
}
