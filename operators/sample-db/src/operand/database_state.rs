//! Pure: what the object of a database alone says about it.

use api::sample_db::UpgradeStep as At;

use super::kinds::SampleDB;

/// Whether it is paused. An upgrade under way is brought to its end: to leave it would leave writers shut out.
pub(crate) fn rests(db: &SampleDB) -> bool {
    db.spec.paused && db.status.upgrade.step.is_none()
}

/// Whether a database that is being deleted serves on: `deletion.protection` keeps its server, which is there.
pub(crate) fn serves_while_deleting(db: &SampleDB) -> bool {
    db.spec.deletion.protection && db.status.replicas.is_some_and(|replicas| replicas > 0)
}

/// Whether a server may know the superuser's password of an earlier Secret: data are made as soon as there is a volume, and status
/// tells of that only later.
#[must_use]
pub fn may_have_data(db: &SampleDB) -> bool {
    let status = &db.status;
    status.initialization.data_created_at.is_some()
        || status.storage.claim_uid.is_some()
        || db.annotations.contains_key(api::sample_db::ADOPT)
}

/// Whether writers are, or may be, shut out.
#[must_use]
pub fn shuts_out(db: &SampleDB) -> bool {
    let upgrade = &db.status.upgrade;
    match upgrade.step {
        Some(At::Copy | At::Switch | At::Roll | At::RollBack) => true,
        // Until that is known, nobody has seen them in.
        Some(At::Finish) => upgrade.downtime_milliseconds.is_none(),
        None | Some(At::Check | At::Snapshot | At::Prepare) => false,
    }
}
