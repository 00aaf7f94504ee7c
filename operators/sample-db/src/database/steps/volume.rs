//! Pure: the data volume, which is created once and never again.

use api::ReconcileReason;
use api::sample_db::{SampleDBReason, UNSAVED_DATA, UpgradeStep};
use runtime::cache::Projection;
use runtime::plan::{Delete, Effect};
use runtime::projections::{Pvc, StatefulSet};

use crate::database::objects;
use crate::database::observed::Observed;
use crate::database::pinned::{Pinned, SpecRefusal};
use crate::database::step::NextStep;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;

/// What an earlier database of the name left is reported before anything else: its other objects must be kept with it.
pub(super) fn leftover(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let has_data = observed.db.status.initialization.data_created_at.is_some();
    let data = |claim: &&Pvc| names::data_major(&observed.db, &claim.meta.key.name).filter(|_| !has_data);
    let meant = |claim: &&Pvc| *claim.meta.key.name == *pinned.claim || data(claim).is_some();
    let claims = observed.claims.iter().map(|claim| &**claim);
    let others = || claims.clone().filter(meant).filter(|claim| !observed.is_own(claim));
    let left = others().filter(|claim| !claim.meta.deleting).max_by_key(data);
    let stuck = left.and_then(|claim| leftover_refusal(observed, claim)).map(NextStep::refused);
    let terminating = || others().find(|claim| *claim.meta.key.name == *pinned.claim);
    stuck.or_else(|| {
        terminating().map(|claim| NextStep::wait(ReconcileReason::WaitingForDeletion, terminating_message(claim)))
    })
}

/// The data volume, which is created once and never again.
pub(super) fn volume(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let db = &*observed.db;
    let lasting = db.status.initialization.data_created_at.is_some();
    let Some(claim) = observed.claim(&pinned.claim) else {
        if lasting {
            return Some(NextStep::blocked(SampleDBReason::DataMissing, deleted_message(observed, pinned)));
        }
        let apply = Effect::Apply(objects::new_data_claim(db, &pinned.claim, None));
        return Some(NextStep::act(apply, SampleDBReason::Provisioning, "creating the data volume"));
    };
    if lasting && claim.meta.deleting {
        return terminating_claim(observed, pinned).map(NextStep::refused);
    }
    if let Some(server) = observed.own_servers().next().filter(|_| claim.meta.deleting) {
        // Nothing is on it yet, but it stays as long as a pod has it.
        let delete = Effect::Delete(Delete::of(StatefulSet::KIND, &server.meta));
        return Some(NextStep::act(
            delete,
            SampleDBReason::Provisioning,
            "recreating the server: its volume is being deleted",
        ));
    }
    if claim.meta.deleting {
        return Some(NextStep::wait(ReconcileReason::WaitingForDeletion, terminating_message(claim)));
    }
    let replaced = db.status.storage.claim_uid.as_deref().is_some_and(|uid| uid != &*claim.meta.uid);
    (lasting && replaced).then(|| {
        let message = format!(
            "the PVC {} is not the one that the data was on: restore that one, or create a new SampleDB with \
             bootstrap.fromSnapshot",
            pinned.claim
        );
        NextStep::blocked(SampleDBReason::DataMissing, message)
    })
}

/// What to do about a deleted PVC of the data.
fn deleted_message(observed: &Observed, pinned: &Pinned) -> String {
    let (db, claim) = (&*observed.db, &pinned.claim);
    match db.status.initialization.completed_at {
        Some(_) => format!(
            "the PVC {claim} of the data was deleted: restore it, or create a new SampleDB with bootstrap.fromSnapshot"
        ),
        None => format!(
            "the PVC {claim} of the data was deleted before the database was configured: restore it; or, if no client has used \
             the database, delete this SampleDB and recreate it"
        ),
    }
}

/// Why a terminating PVC that an earlier database of the name left is still there: if that database's finalizer was removed by
/// hand, nothing removes the PVC's.
fn terminating_message(claim: &Pvc) -> String {
    let (name, namespace) = (&claim.meta.key.name, &claim.meta.key.namespace);
    if !claim.meta.has_finalizer(UNSAVED_DATA) {
        return format!("the PVC {name} is being deleted");
    }
    format!(
        "the PVC {name} is being deleted, and the finalizer {UNSAVED_DATA} of an earlier SampleDB keeps it, because its data \
         was not saved: to keep the data, set the reclaim policy of its PersistentVolume to Retain; then, or to give it \
         up, run kubectl patch pvc {name} --namespace {namespace} --type=merge --patch \
         '{{\"metadata\":{{\"finalizers\":null}}}}'"
    )
}

/// Why a database whose data PVC is terminating is only backed up: it serves as long as its pod runs, and no other pod can use
/// the PVC. An upgrade that has started to copy continues, because it leads to another volume.
fn terminating_claim(observed: &Observed, pinned: &Pinned) -> Option<SpecRefusal> {
    let step = observed.db.status.upgrade.step;
    let leaves = matches!(
        step,
        Some(
            UpgradeStep::Prepare
                | UpgradeStep::Copy
                | UpgradeStep::Switch
                | UpgradeStep::Finish
                | UpgradeStep::RollBack
        )
    );
    let claim = observed.claim(&pinned.claim).filter(|claim| claim.meta.deleting && !leaves)?;
    let (claim, name) = (&claim.meta.key.name, &observed.db.meta.key.name);
    let message = format!(
        "the PVC {claim} of the data is being deleted: a finalizer and the server's pod keep it, and no new pod can use it, so \
         the pod is no longer replaced; take a snapshot, create a new SampleDB from it by bootstrap.fromSnapshot, and \
         delete this one; or run kubectl delete sampledb {name}, which takes the final snapshot while the server runs"
    );
    Some((SampleDBReason::ClaimTerminating, message))
}

/// Why a PVC of the right name is not used.
fn leftover_refusal(observed: &Observed, claim: &Pvc) -> Option<SpecRefusal> {
    let owner = claim.labels.get(OWNER_UID).map_or("", String::as_str);
    (!observed.is_own(claim)).then(|| {
        let message = format!(
            "the PVC {} was left by an earlier SampleDB of this name: to adopt its data, annotate this one with {}={owner}; \
             otherwise delete the PVC, or rename this SampleDB",
            claim.meta.key.name,
            api::sample_db::ADOPT
        );
        (SampleDBReason::VolumeLeft, message)
    })
}
