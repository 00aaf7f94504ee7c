//! Pure: the object store that snapshots of a database are uploaded to, and where a snapshot's copy in it is.

use api::s3::S3Location;
use api::sample_db_snapshot::{SnapshotCopy, StoreReference, TransferPhase};

use super::observed::Observed;
use crate::operand::kinds::SampleDB;

/// The store that the SampleDB names.
pub(super) fn of_database(db: &SampleDB) -> Option<StoreReference> {
    db.spec.backup.store.as_ref().map(|store| StoreReference::from(&store.s3))
}

/// The copy of a snapshot that is being taken: the SampleDB may be deleted before it is uploaded.
pub(super) fn latched(db: &SampleDB) -> SnapshotCopy {
    let s3 = of_database(db);
    SnapshotCopy { phase: s3.as_ref().map(|_| TransferPhase::Pending), s3, ..SnapshotCopy::default() }
}

/// Where the copy of a snapshot is, or may be in part, if the operator has uploaded it: it is removed with the files. If the status was
/// lost, it may be in the store that the SampleDB names.
pub(super) fn location(observed: &Observed) -> Option<S3Location> {
    let snapshot = &*observed.snapshot;
    let copy = &snapshot.status.store;
    let begun = match copy.phase {
        Some(TransferPhase::Running | TransferPhase::Stored | TransferPhase::Failed) => copy.s3.clone(),
        Some(TransferPhase::Pending | TransferPhase::Imported) => None,
        None => observed.adopter_or_source().and_then(of_database).filter(|_| snapshot.status.completed_at.is_some()),
    };
    begun.as_ref().filter(|_| snapshot.spec.from_store.is_none()).map(S3Location::from)
}
