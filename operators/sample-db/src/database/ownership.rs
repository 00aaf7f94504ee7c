//! Pure: whether what has no owner reference belongs to a database.

use std::collections::BTreeMap;

use crate::operand::kinds::SampleDB;
use crate::operand::labels::OWNER_UID;

/// Whether what has no owner was made for the database, or has been taken over, or is because a person says so; by its
/// labels.
pub(crate) fn is_own(db: &SampleDB, labels: &BTreeMap<String, String>) -> bool {
    labels.get(OWNER_UID).is_some_and(|owner| is_own_uid(db, owner))
}

/// Whether that uid is the database's, or of one whose data it has taken over, or is to because a person says so. What is being
/// deleted before it has seen any data takes nothing over, only to delete it.
pub(crate) fn is_own_uid(db: &SampleDB, owner: &str) -> bool {
    let named = !db.meta.deleting && adopted_uid(db) == Some(owner);
    *owner == *db.meta.uid || named || db.status.storage.adopted_from.iter().any(|uid| uid == owner)
}

/// Whose data the database takes over, or has taken over, because a person says so. Beside data of its own it takes nothing over,
/// whatever the annotation says: it is another database's until somebody deletes this one.
pub(crate) fn adopted_uid(db: &SampleDB) -> Option<&str> {
    let named = db.annotations.get(api::sample_db::ADOPT).map(|uid| &**uid)?;
    let known = db.status.storage.adopted_from.iter().any(|uid| uid == named);
    (known || db.status.initialization.data_created_at.is_none()).then_some(named)
}
