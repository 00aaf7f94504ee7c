//! Pure: claims that status names and the watch does not show, since their labels were edited by hand. By its labels a claim is
//! watched; but its uid, its record and its finalizer say whose it is.

use std::sync::Arc;

use api::sample_db::{SampleDBEvent, UNSAVED_DATA};
use runtime::plan::{Effect, EventDraft};
use runtime::projections::Claim;

use super::effects::DbAct;
use super::observed::Observed;
use super::{claims, record};
use crate::operand::{labels, names};

/// The names of claims that hold, or held, something of the database, and that the watch does not show: whether they are there
/// is unknown until they have been read.
#[must_use]
pub fn unseen(observed: &Observed) -> Vec<String> {
    let (db, storage) = (&*observed.db, &observed.db.status.storage);
    let data = storage.claim.clone().filter(|_| db.status.initialization.data_created_at.is_some());
    let snapshots = storage.snapshot_claim.clone().filter(|name| is_snapshots(observed, name));
    let named = [data, storage.previous_claim.clone(), snapshots].into_iter().flatten();
    named.filter(|name| observed.claim(name).is_none()).collect()
}

/// Takes in a claim that was read by its name, if it is the database's own.
pub fn take_in(observed: &mut Observed, claim: Arc<Claim>) {
    if is_own(observed, &claim) {
        observed.claims.push(claim);
        observed.claims.sort_by(|one, other| one.meta.key.cmp(&other.meta.key));
    }
}

/// Whether a claim is the database's own, whatever its labels are. One of the snapshots is by its name alone: the operator
/// applies it over whatever there is.
fn is_own(observed: &Observed, claim: &Claim) -> bool {
    let storage = &observed.db.status.storage;
    let current = storage.claim.as_deref() == Some(&*claim.meta.key.name);
    let same = current && storage.claim_uid.as_deref() == Some(&*claim.meta.uid);
    let owner = record::owner(claim);
    let owned = owner.as_ref().is_some_and(|uid| claims::lineage(observed).contains(uid));
    let held = owner.is_none() && claim.meta.is_held_by(UNSAVED_DATA);
    is_snapshots(observed, &claim.meta.key.name) || same || owned || held
}

fn is_snapshots(observed: &Observed, name: &str) -> bool {
    observed.db.spec.backup.storage.existing_claim.is_none() && *name == *names::snapshot_claim(&observed.db)
}

/// Whether a claim bears all labels by which it is watched as the database's.
pub(super) fn is_labeled(observed: &Observed, claim: &Claim) -> bool {
    labels::labels(&observed.db).iter().all(|(name, value)| claim.labels.get(name) == Some(value))
}

/// What a plan says of the labels that it restores.
pub(super) fn restored(observed: &Observed, effects: &[Effect<DbAct>]) -> Vec<EventDraft> {
    let marked = effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) if apply.hand_over == Some(record::MANAGER) => observed.claim(&apply.key.name),
        _ => None,
    });
    let edited = marked.filter(|claim| !is_labeled(observed, claim));
    let told = edited.map(|claim| EventDraft {
        warning: true,
        reason: SampleDBEvent::LabelsRestored.into(),
        message: format!(
            "labels of the PVC {}, by which the operator finds it, were removed or changed: the operator restores them",
            claim.meta.key.name
        ),
    });
    told.collect()
}
