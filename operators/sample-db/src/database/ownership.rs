//! Pure: whether objects without an owner reference belong to a database.

use std::collections::BTreeMap;

use crate::operand::kinds::SampleDB;
use crate::operand::labels::OWNER_UID;

/// Whether an object without an owner reference was created for the database, was adopted, or is to be adopted; by its labels.
pub(crate) fn is_own(db: &SampleDB, labels: &BTreeMap<String, String>) -> bool {
    labels.get(OWNER_UID).is_some_and(|owner| is_own_uid(db, owner))
}

/// Whether that UID is the database's, or of one whose data it adopted, or is to adopt by its annotation. A database that is
/// deleted before it has data adopts nothing, because it would only delete it.
pub(crate) fn is_own_uid(db: &SampleDB, owner: &str) -> bool {
    let named = !db.meta.deleting && adopted_uid(db) == Some(owner);
    *owner == *db.meta.uid || named || db.status.storage.adopted_from.iter().any(|uid| uid == owner)
}

/// Whose data the database adopts, or has adopted, by its annotation. If it has data of its own, it adopts nothing, whatever the
/// annotation says: the volume belongs to another database until this one is deleted.
pub(crate) fn adopted_uid(db: &SampleDB) -> Option<&str> {
    let named = db.annotations.get(api::sample_db::ADOPT).map(|uid| &**uid)?;
    let known = db.status.storage.adopted_from.iter().any(|uid| uid == named);
    (known || db.status.initialization.data_created_at.is_none()).then_some(named)
}
