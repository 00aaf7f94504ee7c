//! Pure: PVCs that status names and the watch does not show, because their labels were edited by hand. By its labels a PVC is
//! watched; but its UID, its record and its finalizer say whose it is.

use std::sync::Arc;

use api::sample_db::{SampleDBEvent, UNSAVED_DATA};
use runtime::plan::{Effect, EventDraft};
use runtime::projections::Pvc;

use super::effects::DbAct;
use super::observed::Observed;
use super::{claims, record};
use crate::operand::{labels, names};

/// The names of PVCs that hold, or held, something of the database, and that the watch does not show: whether they exist is
/// unknown until they are read.
#[must_use]
pub fn unwatched_claims(observed: &Observed) -> Vec<String> {
    let (db, storage) = (&*observed.db, &observed.db.status.storage);
    let data = storage.claim.clone().filter(|_| db.status.initialization.data_created_at.is_some());
    let snapshots = storage.snapshot_claim.clone().filter(|name| is_snapshots(observed, name));
    let named = [data, storage.previous_claim.clone(), snapshots].into_iter().flatten();
    named.filter(|name| observed.claim(name).is_none()).collect()
}

/// Merges a PVC that was read by its name, if it is the database's own.
pub fn merge(observed: &mut Observed, claim: Arc<Pvc>) {
    if is_own(observed, &claim) {
        observed.claims.push(claim);
        observed.claims.sort_by(|one, other| one.meta.key.cmp(&other.meta.key));
    }
}

/// Whether a PVC is the database's own, whatever its labels. That of the snapshots is by its name alone: the operator applies
/// over it.
fn is_own(observed: &Observed, claim: &Pvc) -> bool {
    let storage = &observed.db.status.storage;
    let current = storage.claim.as_deref() == Some(&*claim.meta.key.name);
    let same = current && storage.claim_uid.as_deref() == Some(&*claim.meta.uid);
    let owner = record::owner(claim);
    let owned = owner.as_ref().is_some_and(|uid| claims::lineage(observed).contains(uid));
    let held = owner.is_none() && claim.meta.has_finalizer(UNSAVED_DATA);
    is_snapshots(observed, &claim.meta.key.name) || same || owned || held
}

fn is_snapshots(observed: &Observed, name: &str) -> bool {
    observed.db.spec.backup.storage.existing_claim.is_none() && *name == *names::snapshot_claim(&observed.db)
}

/// Whether a PVC bears all labels by which it is watched as the database's.
pub(super) fn is_labeled(observed: &Observed, claim: &Pvc) -> bool {
    labels::labels(&observed.db).iter().all(|(name, value)| claim.labels.get(name) == Some(value))
}

/// The events about labels that a plan restores.
pub(super) fn restored(observed: &Observed, effects: &[Effect<DbAct>]) -> Vec<EventDraft> {
    let marked = effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) if apply.manager_prefix == Some(record::MANAGER) => observed.claim(&apply.key.name),
        _ => None,
    });
    let edited = marked.filter(|claim| !is_labeled(observed, claim));
    let events = edited.map(|claim| EventDraft {
        warning: true,
        reason: SampleDBEvent::LabelsRestored.into(),
        message: format!(
            "labels of the PVC {}, by which the operator finds it, were removed or changed: restoring them",
            claim.meta.key.name
        ),
    });
    events.collect()
}
