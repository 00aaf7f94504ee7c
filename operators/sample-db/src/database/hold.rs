//! Pure: what protects the volumes of the data: a finalizer on their PVCs, and the record of what is latched. Both are written
//! before anything relies on what was latched, by a field manager that owns nothing else.

use api::sample_db::{UNSAVED_DATA, UpgradeStep};
use runtime::cache::Projection;
use runtime::plan::{Apply, Effect};
use runtime::projections::Pvc;
use serde_json::json;

use super::claims::{is_anothers, is_current, is_unknown, own};
use super::effects::DbAct;
use super::observed::Observed;
use super::record::{MANAGER, RECORD, RETAINED, VolumeRecord};
use super::unwatched;
use crate::operand::labels::{self, OWNER_UID};

/// The marks that PVCs lack.
pub(super) fn keep(observed: &Observed) -> Vec<Effect<DbAct>> {
    let known = own(observed).filter(|claim| !is_unknown(observed, claim) && !is_anothers(observed, claim));
    let marks = known.filter_map(|claim| mark(observed, claim, holds(observed, claim), false));
    marks.map(Effect::Apply).collect()
}

/// Releases PVCs that are retained on purpose: a user who deletes them deletes the data.
pub(super) fn retain(observed: &Observed) -> Vec<Effect<DbAct>> {
    own(observed).filter_map(|claim| mark(observed, claim, false, true)).map(Effect::Apply).collect()
}

/// Releases a PVC whose data was saved or given up.
pub(super) fn release(observed: &Observed, claim: &Pvc) -> Vec<Effect<DbAct>> {
    mark(observed, claim, false, false).map(Effect::Apply).into_iter().collect()
}

/// Releases all PVCs, which are deleted with their namespace or outlive their kind. It does so unconditionally, because nothing
/// reconciles them afterward.
pub(super) fn release_all(observed: &Observed) -> Vec<Effect<DbAct>> {
    own(observed).map(|claim| Effect::Apply(marked(observed, claim, false, false))).collect()
}

/// Whether a PVC holds the only copy of some data: the current one, and the one that an upgrade may roll back to.
fn holds(observed: &Observed, claim: &Pvc) -> bool {
    let status = &observed.db.status;
    let returns = matches!(status.upgrade.step, Some(UpgradeStep::Switch | UpgradeStep::RollBack))
        && status.storage.previous_claim.as_deref() == Some(&*claim.meta.key.name);
    is_current(observed, claim) || returns
}

/// The PVC with its marks, unless it has them. The API server rejects new finalizers on an object that is terminating.
fn mark(observed: &Observed, claim: &Pvc, holds: bool, retained: bool) -> Option<Apply> {
    let db = &*observed.db;
    let record = VolumeRecord::of(db).or_else(|| VolumeRecord::on(claim));
    let held = claim.meta.has_finalizer(UNSAVED_DATA);
    let hold = holds && (held || !claim.meta.deleting);
    let is_so = VolumeRecord::on(claim) == record
        && unwatched::is_labeled(observed, claim)
        && claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *db.meta.uid)
        && claim.annotations.contains_key(RETAINED) == retained
        && held == hold;
    (!is_so).then(|| marked(observed, claim, hold, retained))
}

fn marked(observed: &Observed, claim: &Pvc, hold: bool, retained: bool) -> Apply {
    let db = &*observed.db;
    // A PVC that lacks the labels by which it is watched was edited by a user.
    let mut labels = labels::labels(db);
    labels.insert(OWNER_UID.to_owned(), db.meta.uid.to_string());
    let mut metadata = json!({
        "labels": labels,
        "annotations": {},
        "finalizers": if hold { vec![UNSAVED_DATA] } else { Vec::new() },
    });
    if let Some(record) = VolumeRecord::of(db).or_else(|| VolumeRecord::on(claim)) {
        metadata["annotations"][RECORD] = json!(record.text());
    }
    if retained {
        metadata["annotations"][RETAINED] = json!("true");
    }
    Apply::part(Pvc::KIND, &claim.meta, MANAGER, &json!({ "metadata": metadata }))
}
