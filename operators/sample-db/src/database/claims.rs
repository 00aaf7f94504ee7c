//! Pure: which PVCs hold data of a database.

use std::collections::BTreeSet;

use api::sample_db::ADOPT;
use runtime::projections::Pvc;

use super::observed::Observed;
use super::record::{VolumeRecord, owner};
use crate::operand::names;

/// The data PVCs that were created for the database, or that it adopted.
pub(crate) fn own(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    let owners = lineage(observed);
    data(observed)
        .filter(move |claim| owner(claim).is_some_and(|uid| owners.contains(&uid)) || is_current(observed, claim))
}

/// Whether the data is on that PVC's volume, as far as is known.
pub(crate) fn is_current(observed: &Observed, claim: &Pvc) -> bool {
    let status = &observed.db.status;
    let named = status.storage.claim.as_deref() == Some(&*claim.meta.key.name);
    let same = status.storage.claim_uid.as_deref() == Some(&*claim.meta.uid);
    named && same && status.initialization.data_created_at.is_some()
}

/// Whether the annotation names a volume of which nothing is known yet: it bears no record before its data was observed.
pub(crate) fn is_unknown(observed: &Observed, claim: &Pvc) -> bool {
    let db = &*observed.db;
    let named = db.annotations.get(ADOPT).is_some_and(|uid| owner(claim).as_deref() == Some(&**uid));
    named && VolumeRecord::on(claim).is_none() && db.status.initialization.data_created_at.is_none()
}

/// Whether a PVC bears the UID of an object that was not adopted, and is not to be: only this UID says whose it was.
pub(super) fn is_anothers(observed: &Observed, claim: &Pvc) -> bool {
    let named = observed.db.annotations.get(ADOPT);
    let is_known = |uid: &String| lineage(observed).contains(uid) || named.is_some_and(|of| **of == **uid);
    owner(claim).is_some_and(|uid| !is_known(&uid))
}

/// The PVCs with the names of the database's data PVCs.
pub(crate) fn data(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    let claims = observed.claims.iter().map(|claim| &**claim);
    claims.filter(move |claim| names::data_major(&observed.db, &claim.meta.key.name).is_some())
}

/// The UIDs whose volumes are the database's without an annotation.
pub(crate) fn lineage(observed: &Observed) -> BTreeSet<String> {
    let db = &*observed.db;
    db.status.storage.adopted_from.iter().cloned().chain([db.meta.uid.to_string()]).collect()
}
