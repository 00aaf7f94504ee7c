//! Pure: what follows from the object of a database alone.

use api::sample_db::UpgradeStep as At;

use super::kinds::SampleDB;

/// Whether it is paused. An upgrade in progress is completed first: pausing it would leave clients blocked.
pub(crate) fn is_paused(db: &SampleDB) -> bool {
    db.spec.paused && db.status.upgrade.step.is_none()
}

/// Whether a database that is being deleted keeps serving: `deletion.protection` keeps its server, if it has one.
pub(crate) fn serves_while_deleting(db: &SampleDB) -> bool {
    db.spec.deletion.protection && db.status.replicas.is_some_and(|replicas| replicas > 0)
}

/// Whether a server may have the superuser password of an earlier Secret: the data may exist as soon as there is a volume, and
/// status records it later.
#[must_use]
pub fn may_have_data(db: &SampleDB) -> bool {
    let status = &db.status;
    status.initialization.data_created_at.is_some()
        || status.storage.claim_uid.is_some()
        || db.annotations.contains_key(api::sample_db::ADOPT)
}

/// Whether clients are, or may be, blocked.
#[must_use]
pub fn blocks_clients(db: &SampleDB) -> bool {
    let upgrade = &db.status.upgrade;
    match upgrade.step {
        Some(At::Copy | At::Switch | At::Roll | At::RollBack) => true,
        // Until the downtime is recorded, no check has shown that clients can connect.
        Some(At::Finish) => upgrade.downtime_milliseconds.is_none(),
        None | Some(At::Check | At::Snapshot | At::Prepare) => false,
    }
}
