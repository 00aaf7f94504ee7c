//! Pure: recovers from the record on volumes what status lost. Status can vanish at any time, for example by `kubectl replace
//! --subresource=status`; a restore from a backup of objects can make it older, or give the object another UID.

use std::collections::BTreeSet;
use std::time::Duration;

use api::sample_db::{ADOPT, SampleDBEvent, SampleDBReason, SampleDBStatus};
use runtime::plan::{EventDraft, Plan, Requeue};
use runtime::projections::Pvc;

use super::claims::{self, data, lineage};
use super::effects::DbPlan;
use super::observed::Observed;
use super::pinned::SpecRefusal;
use super::record::{RETAINED, VolumeRecord, is_latched, owner};
use crate::operand::names;

/// Restores status from the record before anything else is decided.
pub(super) fn plan(observed: &Observed) -> Option<DbPlan> {
    let status = status(observed)?;
    let claim = status.storage.claim.as_deref().unwrap_or_default();
    let message = format!(
        "status restored from the record on the data PVCs: the current PVC is {claim}, at revision {}",
        status.revision.unwrap_or_default()
    );
    let event = EventDraft { warning: true, reason: SampleDBEvent::StatusRestored.into(), message };
    Some(Plan {
        events_after_status: vec![event],
        status: Some(status),
        next: Requeue::After(Duration::from_millis(50)),
        ..Plan::nothing()
    })
}

/// The restored status, if it lacks anything that is recorded.
fn status(observed: &Observed) -> Option<SampleDBStatus> {
    let before = &observed.db.status;
    let own = newest(observed, &lineage(observed));
    if let Some(record) = own.filter(|record| record.is_ahead_of(before)) {
        return Some(rebind_claim(observed, record.restored(before)));
    }
    if before.initialization.data_created_at.is_none()
        && let Some(record) = inherited(observed)
    {
        let mut status = record.clone().restored(before);
        status.storage.adopted_from.push(record.owner);
        return Some(rebind_claim(observed, status));
    }
    let rebound = rebind_claim(observed, before.clone());
    (rebound != *before).then_some(rebound)
}

/// The newest record on PVCs of those owners.
fn newest(observed: &Observed, owners: &BTreeSet<String>) -> Option<VolumeRecord> {
    let theirs = data(observed).filter(|claim| owner(claim).is_some_and(|uid| owners.contains(&uid)));
    theirs.filter_map(VolumeRecord::on).max_by_key(|record| record.revision)
}

/// The record of an earlier object of the name whose volumes are adopted: by annotation, or because this is unambiguously that
/// object, restored under a new UID.
fn inherited(observed: &Observed) -> Option<VolumeRecord> {
    let db = &*observed.db;
    // A database that is being deleted adopts nothing, because it would only delete it.
    if db.meta.deleting {
        return None;
    }
    if let Some(record) = adopted_record(observed) {
        return Some(record).filter(|record| record.database == names::database(db));
    }
    // A terminating volume is adopted by annotation only: otherwise this is another database.
    if data(observed).any(|claim| claim.meta.deleting) {
        return None;
    }
    let lineage = lineage(observed);
    let mut owners: Vec<Option<String>> = data(observed).map(owner).collect();
    owners.sort();
    owners.dedup();
    let [Some(uid)] = &owners[..] else { return None };
    let retained = data(observed).any(|claim| claim.annotations.contains_key(RETAINED));
    let record = newest(observed, &[uid.clone()].into()).filter(|_| !retained && !lineage.contains(uid))?;
    let same = record.database == names::database(db)
        && record.facts.restore.snapshot_uid.is_some() == db.spec.bootstrap.from_snapshot.is_some();
    (same && record.facts.initialization.data_created_at.is_some()).then_some(record)
}

/// The UID whose volumes the annotation names. What was adopted, with or without data, is the database's own from then on.
fn requested_uid(observed: &Observed) -> Option<String> {
    let lineage = lineage(observed);
    observed.db.annotations.get(ADOPT).map(|uid| uid.to_string()).filter(|uid| !lineage.contains(uid))
}

/// The record of the volumes that the annotation names.
fn adopted_record(observed: &Observed) -> Option<VolumeRecord> {
    newest(observed, &[requested_uid(observed)?].into())
}

/// Why nothing is created: the annotation names volumes that do not exist yet. An empty database would be mistaken for the one
/// that was meant. If the spec also names a snapshot, that is restored instead.
pub(super) fn adopted_volume_missing(observed: &Observed) -> Option<SpecRefusal> {
    let db = &*observed.db;
    let settled = db.status.initialization.data_created_at.is_some() || db.spec.bootstrap.from_snapshot.is_some();
    let uid = requested_uid(observed).filter(|_| !settled && data(observed).next().is_none())?;
    let message = format!(
        "the annotation {ADOPT} names the volume of a SampleDB with the UID {uid}, which does not exist: nothing is created in \
         its place; restore its PVC under the same name and with the same labels, or remove the annotation to have an \
         empty database created"
    );
    Some((SampleDBReason::VolumeToAdoptMissing, message))
}

/// That the annotated volume is not adopted: the database already has data, which would be given up for it.
pub(super) fn adoption_ignored(observed: &Observed) -> Option<SpecRefusal> {
    let db = &*observed.db;
    let uid = requested_uid(observed).filter(|_| db.status.initialization.data_created_at.is_some())?;
    let theirs = |claim: &&Pvc| owner(claim).is_some_and(|of| of == uid) && !claims::is_current(observed, claim);
    let named = &data(observed).find(theirs)?.meta.key.name;
    let current = db.status.storage.claim.as_deref().unwrap_or_default();
    let message = format!(
        "the PVC {named}, which the annotation {ADOPT} names, is not adopted: this SampleDB already has data, on the PVC \
         {current}; remove the annotation to keep that; or delete this SampleDB, which does not change the PVC {named}, \
         and recreate {} with the annotation",
        db.meta.key.name
    );
    Some((SampleDBReason::AlreadyHasData, message))
}

/// Why the annotated volume is not adopted: its application database has another name than the spec's, and the Secret and
/// snapshots would be named after one that does not exist.
pub(super) fn of_other_database(observed: &Observed) -> Option<SpecRefusal> {
    let db = &*observed.db;
    let has_data = db.status.initialization.data_created_at.is_some();
    let (asked, name) = (names::database(db), &db.meta.key.name);
    let record = adopted_record(observed).filter(|record| !has_data && record.database != asked)?;
    let (claim, holds) = (record.facts.storage.claim.unwrap_or_default(), record.database);
    let message = format!(
        "the volume of the PVC {claim} has the database {holds}, not {asked}: to adopt it, delete this SampleDB, which does \
         not change the volume, and recreate {name} with bootstrap.database: {holds} and the annotation {ADOPT}"
    );
    Some((SampleDBReason::VolumeOfOtherDatabase, message))
}

/// Updates the UID of the data's PVC: one that was restored from a backup has another UID than before, and is the same PVC if it
/// bears the record. The server's init container checks what is on it.
fn rebind_claim(observed: &Observed, mut status: SampleDBStatus) -> SampleDBStatus {
    let Some(claim) = status.storage.claim.as_deref().and_then(|name| observed.claim(name)) else { return status };
    let identifier = VolumeRecord::on(claim).and_then(|record| record.facts.system_identifier);
    let mut owners = lineage(observed);
    owners.extend(status.storage.adopted_from.iter().cloned());
    let own = owner(claim).is_some_and(|uid| owners.contains(&uid));
    if own && status.storage.claim_uid.is_some() && identifier.is_some() && identifier == status.system_identifier {
        status.storage.claim_uid = Some(claim.meta.uid.to_string());
    }
    status
}

/// Why nothing may be created: volumes or servers of this object exist, and neither a record nor status says what they are.
pub(super) fn lost(observed: &Observed) -> Option<SpecRefusal> {
    let db = &*observed.db;
    let (uid, name) = (&db.meta.uid, &db.meta.key.name);
    let adopted = db.annotations.get(ADOPT).is_some_and(|adopted| **adopted == **uid);
    if is_latched(&db.status) || adopted {
        return None;
    }
    let claim =
        data(observed).filter(|claim| owner(claim).as_deref() == Some(&**uid)).map(|claim| &claim.meta.key.name);
    let server = || observed.own_servers().map(|server| &server.meta.key.name);
    let found = claim.map(|name| format!("the PVC {name}"));
    let found = found.chain(server().map(|name| format!("the StatefulSet {name}"))).next()?;
    let message = format!(
        "status is lost, and {found} of this SampleDB has no record of it, so nothing is created; to use its data, set \
         spec.engine to the version of the data and run: kubectl annotate sampledb {name} --namespace {} {ADOPT}={uid}",
        db.meta.key.namespace
    );
    Some((SampleDBReason::StatusLost, message))
}
