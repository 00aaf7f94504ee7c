//! Pure: what keeps the volumes of the data: our finalizer on their claims, and the record of what is latched. Written before
//! anything relies on what was latched, by a field manager that owns nothing else.

use api::sample_db::{UNSAVED_DATA, UpgradeStep as At};
use runtime::cache::Projection;
use runtime::plan::{Apply, Effect};
use runtime::projections::Claim;
use serde_json::json;

use super::claims::{is_anothers, is_current, is_unknown, own};
use super::effects::DbAct;
use super::observed::Observed;
use super::record::{MANAGER, RECORD, RETAINED, Record};
use super::unwatched;
use crate::operand::labels::{self, OWNER_UID};

/// What claims lack of what they should bear.
pub(super) fn keep(observed: &Observed) -> Vec<Effect<DbAct>> {
    let known = own(observed).filter(|claim| !is_unknown(observed, claim) && !is_anothers(observed, claim));
    let marks = known.filter_map(|claim| mark(observed, claim, holds(observed, claim), false));
    marks.map(Effect::Apply).collect()
}

/// Lets go of claims that are retained on purpose: whoever deletes them then deletes them.
pub(super) fn retain(observed: &Observed) -> Vec<Effect<DbAct>> {
    own(observed).filter_map(|claim| mark(observed, claim, false, true)).map(Effect::Apply).collect()
}

/// Lets go of a claim whose data are saved or given up.
pub(super) fn release(observed: &Observed, claim: &Claim) -> Vec<Effect<DbAct>> {
    mark(observed, claim, false, false).map(Effect::Apply).into_iter().collect()
}

/// Lets go of all claims, which go with their namespace or stay without their kind: whatever was seen of them, since nobody
/// looks at them afterwards.
pub(super) fn release_all(observed: &Observed) -> Vec<Effect<DbAct>> {
    own(observed).map(|claim| Effect::Apply(marked(observed, claim, false, false))).collect()
}

/// Whether a claim holds data that are nowhere else: the current ones, and those that an upgrade may yet go back to.
fn holds(observed: &Observed, claim: &Claim) -> bool {
    let status = &observed.db.status;
    let returns = matches!(status.upgrade.step, Some(At::Switch | At::RollBack))
        && status.storage.previous_claim.as_deref() == Some(&*claim.meta.key.name);
    is_current(observed, claim) || returns
}

/// The claim as it should be marked, unless it is. No finalizer is added to what is being deleted: the API server refuses that.
fn mark(observed: &Observed, claim: &Claim, holds: bool, retained: bool) -> Option<Apply> {
    let db = &*observed.db;
    let record = Record::of(db).or_else(|| Record::on(claim));
    let held = claim.meta.is_held_by(UNSAVED_DATA);
    let hold = holds && (held || !claim.meta.deleting);
    let is_so = Record::on(claim) == record
        && unwatched::is_labeled(observed, claim)
        && claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *db.meta.uid)
        && claim.annotations.contains_key(RETAINED) == retained
        && held == hold;
    (!is_so).then(|| marked(observed, claim, hold, retained))
}

fn marked(observed: &Observed, claim: &Claim, hold: bool, retained: bool) -> Apply {
    let db = &*observed.db;
    // Those by which it is watched were edited by hand, if it lacks them.
    let mut labels = labels::labels(db);
    labels.insert(OWNER_UID.to_owned(), db.meta.uid.to_string());
    let mut metadata = json!({
        "labels": labels,
        "annotations": {},
        "finalizers": if hold { vec![UNSAVED_DATA] } else { Vec::new() },
    });
    if let Some(record) = Record::of(db).or_else(|| Record::on(claim)) {
        metadata["annotations"][RECORD] = json!(record.text());
    }
    if retained {
        metadata["annotations"][RETAINED] = json!("true");
    }
    Apply::part(Claim::KIND, &claim.meta, MANAGER, &json!({ "metadata": metadata }))
}
