//! Pure: the data volume: made once, and never again.

use api::ReconcileReason;
use api::sample_db::{SampleDBReason, UNSAVED_DATA, UpgradeStep as At};
use runtime::cache::Projection;
use runtime::plan::{Delete, Effect};
use runtime::projections::{Claim, StatefulSet};

use crate::database::objects;
use crate::database::observed::Observed;
use crate::database::pinned::{Pinned, Refusal};
use crate::database::step::NextStep;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;

/// What an earlier database of the name has left is told before anything else: what else it left is to be kept with it.
pub(super) fn left(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let made = observed.db.status.initialization.data_created_at.is_some();
    let data = |claim: &&Claim| names::data_major(&observed.db, &claim.meta.key.name).filter(|_| !made);
    let meant = |claim: &&Claim| *claim.meta.key.name == *pinned.claim || data(claim).is_some();
    let claims = observed.claims.iter().map(|claim| &**claim);
    let others = || claims.clone().filter(meant).filter(|claim| !observed.is_own(claim));
    let left = others().filter(|claim| !claim.meta.deleting).max_by_key(data);
    let stuck = left.and_then(|claim| is_others(observed, claim)).map(NextStep::refused);
    let going = || others().find(|claim| *claim.meta.key.name == *pinned.claim);
    stuck.or_else(|| going().map(|claim| NextStep::wait(ReconcileReason::WaitingForDeletion, waits_for(claim))))
}

/// The data volume: made once, and never again.
pub(super) fn volume(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let db = &*observed.db;
    let lasting = db.status.initialization.data_created_at.is_some();
    let Some(claim) = observed.claim(&pinned.claim) else {
        if lasting {
            return Some(NextStep::stuck(SampleDBReason::DataMissing, gone(observed, pinned)));
        }
        let apply = Effect::Apply(objects::new_data_claim(db, &pinned.claim, None));
        return Some(NextStep::take(apply, SampleDBReason::Provisioning, "making the data volume"));
    };
    if lasting && claim.meta.deleting {
        return dying(observed, pinned).map(NextStep::refused);
    }
    if let Some(server) = observed.own_servers().next().filter(|_| claim.meta.deleting) {
        // Nothing is on it yet; but it stays as long as a pod has it.
        let delete = Effect::Delete(Delete::of(StatefulSet::KIND, &server.meta));
        return Some(NextStep::take(
            delete,
            SampleDBReason::Provisioning,
            "making the server anew, since its volume is being deleted",
        ));
    }
    if claim.meta.deleting {
        return Some(NextStep::wait(ReconcileReason::WaitingForDeletion, waits_for(claim)));
    }
    let replaced = db.status.storage.claim_uid.as_deref().is_some_and(|uid| uid != &*claim.meta.uid);
    (lasting && replaced).then(|| {
        let message = format!(
            "the claim {} is not the one that the data were on: bring that one back, or make a new SampleDB with \
             bootstrap.fromSnapshot",
            pinned.claim
        );
        NextStep::stuck(SampleDBReason::DataMissing, message)
    })
}

/// What to do about a claim of data that is gone.
fn gone(observed: &Observed, pinned: &Pinned) -> String {
    let (db, claim) = (&*observed.db, &pinned.claim);
    match db.status.initialization.completed_at {
        Some(_) => format!(
            "the PVC {claim} of the data was deleted: bring it back, or make a new SampleDB with bootstrap.fromSnapshot"
        ),
        None => format!(
            "the PVC {claim} of the data was deleted before the database was configured: bring it back; or, if no client has \
             used the database, delete this SampleDB and create it again"
        ),
    }
}

/// What the deletion of a claim waits for, which an earlier database of the name has left: nothing removes our finalizer, if the
/// one of that database was removed by hand.
fn waits_for(claim: &Claim) -> String {
    let (name, namespace) = (&claim.meta.key.name, &claim.meta.key.namespace);
    if !claim.meta.is_held_by(UNSAVED_DATA) {
        return format!("the claim {name} is being deleted");
    }
    format!(
        "the claim {name} is being deleted, and the finalizer {UNSAVED_DATA} of an earlier SampleDB keeps it, since its data was \
         not saved: to keep the data, set the reclaim policy of its PersistentVolume to Retain; then, or to give it up, run \
         kubectl patch pvc {name} --namespace {namespace} --type=merge --patch '{{\"metadata\":{{\"finalizers\":null}}}}'"
    )
}

/// Why nothing but backups is to be done to a database whose data claim somebody has deleted: it serves as long as its pod
/// runs, and no other pod can use that claim. An upgrade that has begun to copy goes on, since it leads to another volume.
fn dying(observed: &Observed, pinned: &Pinned) -> Option<Refusal> {
    let step = observed.db.status.upgrade.step;
    let leaves = matches!(step, Some(At::Prepare | At::Copy | At::Switch | At::Finish | At::RollBack));
    let claim = observed.claim(&pinned.claim).filter(|claim| claim.meta.deleting && !leaves)?;
    let (claim, name) = (&claim.meta.key.name, &observed.db.meta.key.name);
    let message = format!(
        "the claim {claim} of the data is being deleted; a finalizer and the server's pod keep it, and no new pod can use \
         it: the pod is not replaced any more; take a snapshot, make a new SampleDB of it by bootstrap.fromSnapshot, and \
         delete this one; or run kubectl delete sampledb {name}, which takes the final snapshot while the server runs"
    );
    Some((SampleDBReason::ClaimTerminating, message))
}

/// Why a claim of the right name is not to be used.
fn is_others(observed: &Observed, claim: &Claim) -> Option<Refusal> {
    let owner = claim.labels.get(OWNER_UID).map_or("", String::as_str);
    (!observed.is_own(claim)).then(|| {
        let message = format!(
            "the claim {} was left by an earlier SampleDB of this name: to take its data over, annotate this one with \
             {}={owner}; else delete the claim, or rename this SampleDB",
            claim.meta.key.name,
            api::sample_db::ADOPT
        );
        (SampleDBReason::VolumeLeft, message)
    })
}
