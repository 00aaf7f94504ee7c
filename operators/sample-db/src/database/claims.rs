//! Pure: which PVCs hold data of a database.

use std::collections::BTreeSet;

use api::sample_db::ADOPT;
use runtime::projections::Claim;

use super::observed::Observed;
use super::record::{Record, owner};
use crate::operand::names;

/// The claims that were made for the database, or that it has taken over.
pub(crate) fn own(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let owners = lineage(observed);
    data(observed)
        .filter(move |claim| owner(claim).is_some_and(|uid| owners.contains(&uid)) || is_current(observed, claim))
}

/// Whether the data are on that claim's volume, as far as is known.
pub(crate) fn is_current(observed: &Observed, claim: &Claim) -> bool {
    let status = &observed.db.status;
    let named = status.storage.claim.as_deref() == Some(&*claim.meta.key.name);
    let same = status.storage.claim_uid.as_deref() == Some(&*claim.meta.uid);
    named && same && status.initialization.data_created_at.is_some()
}

/// Whether a person has named a volume of which nothing is known yet: it bears no record before its data have been seen.
pub(crate) fn is_unknown(observed: &Observed, claim: &Claim) -> bool {
    let db = &*observed.db;
    let named = db.annotations.get(ADOPT).is_some_and(|uid| owner(claim).as_deref() == Some(&**uid));
    named && Record::on(claim).is_none() && db.status.initialization.data_created_at.is_none()
}

/// Whether a claim bears the uid of an object that has not been taken over, nor is to be: nothing else would tell whose it was.
pub(super) fn is_anothers(observed: &Observed, claim: &Claim) -> bool {
    let named = observed.db.annotations.get(ADOPT);
    let is_known = |uid: &String| lineage(observed).contains(uid) || named.is_some_and(|of| **of == **uid);
    owner(claim).is_some_and(|uid| !is_known(&uid))
}

/// The data claims of the database's name.
pub(crate) fn data(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let claims = observed.claims.iter().map(|claim| &**claim);
    claims.filter(move |claim| names::data_major(&observed.db, &claim.meta.key.name).is_some())
}

/// The uids under which volumes are the database's without anybody saying so.
pub(crate) fn lineage(observed: &Observed) -> BTreeSet<String> {
    let db = &*observed.db;
    db.status.storage.adopted_from.iter().cloned().chain([db.meta.uid.to_string()]).collect()
}
