//! Pure: what status has lost and volumes still tell. Status can vanish at any time, by `kubectl replace --subresource=status` for
//! example, or be of an earlier time, or come back for another uid, by a restore from a backup of objects.

use std::collections::BTreeSet;
use std::time::Duration;

use api::sample_db::{ADOPT, SampleDBEvent, SampleDBReason, SampleDBStatus};
use runtime::plan::{EventDraft, Plan, Requeue};
use runtime::projections::Claim;

use super::claims::{self, data, lineage};
use super::effects::DbPlan;
use super::observed::Observed;
use super::pinned::Refusal;
use super::record::{RETAINED, Record, is_latched, owner};
use crate::operand::names;

/// Writes what is recorded back into the status, before anything else is decided.
pub(super) fn plan(observed: &Observed) -> Option<DbPlan> {
    let status = status(observed)?;
    let claim = status.storage.claim.as_deref().unwrap_or_default();
    let message = format!(
        "status restored from the record on the data claims: the current claim is {claim}, at revision {}",
        status.revision.unwrap_or_default()
    );
    let event = EventDraft { warning: true, reason: SampleDBEvent::StatusRestored.into(), message };
    Some(Plan {
        events: vec![event],
        status: Some(status),
        next: Requeue::After(Duration::from_millis(50)),
        ..Plan::nothing()
    })
}

/// The status with what it lacks, if it lacks anything that is recorded.
fn status(observed: &Observed) -> Option<SampleDBStatus> {
    let before = &observed.db.status;
    let own = newest(observed, &lineage(observed));
    if let Some(record) = own.filter(|record| record.is_ahead_of(before)) {
        return Some(placed(observed, record.restored(before)));
    }
    if before.initialization.data_created_at.is_none()
        && let Some(record) = inherited(observed)
    {
        let mut status = record.clone().restored(before);
        status.storage.adopted_from.push(record.owner);
        return Some(placed(observed, status));
    }
    let rebound = placed(observed, before.clone());
    (rebound != *before).then_some(rebound)
}

/// The newest record on claims of those owners.
fn newest(observed: &Observed, owners: &BTreeSet<String>) -> Option<Record> {
    let theirs = data(observed).filter(|claim| owner(claim).is_some_and(|uid| owners.contains(&uid)));
    theirs.filter_map(Record::on).max_by_key(|record| record.revision)
}

/// The record of an earlier object of the name whose volumes are taken over: because a person says so, or because this is
/// that object, restored under a new uid, and nothing else can be meant.
fn inherited(observed: &Observed) -> Option<Record> {
    let db = &*observed.db;
    // What is being deleted takes nothing over, only to delete it.
    if db.meta.deleting {
        return None;
    }
    if let Some(record) = named(observed) {
        return Some(record).filter(|record| record.database == names::database(db));
    }
    // What is going is nobody's to take over, unless a person says so: it is another database that is made.
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

/// The uid whose volumes a person says are to be taken over. What has been taken over, with or without data in it, is the
/// database's own from then on.
fn named_uid(observed: &Observed) -> Option<String> {
    let lineage = lineage(observed);
    observed.db.annotations.get(ADOPT).map(|uid| uid.to_string()).filter(|uid| !lineage.contains(uid))
}

/// The record of the volumes that a person says are to be taken over.
fn named(observed: &Observed) -> Option<Record> {
    newest(observed, &[named_uid(observed)?].into())
}

/// Why nothing is made: a person names volumes to be taken over, and there are none yet. An empty database would be taken for the
/// one that was meant. A snapshot that the spec names as well is restored instead.
pub(super) fn to_adopt_missing(observed: &Observed) -> Option<Refusal> {
    let db = &*observed.db;
    let settled = db.status.initialization.data_created_at.is_some() || db.spec.bootstrap.from_snapshot.is_some();
    let uid = named_uid(observed).filter(|_| !settled && data(observed).next().is_none())?;
    let message = format!(
        "the annotation {ADOPT} names the volume of a SampleDB with the UID {uid}, and there is none: nothing is made in its \
         place; bring its PVC back under the same name and with the same labels, or remove the annotation to have an empty \
         database made"
    );
    Some((SampleDBReason::VolumeToAdoptMissing, message))
}

/// That what a person names is not taken over: the database has data already, which would be given up for it.
pub(super) fn beside_data(observed: &Observed) -> Option<Refusal> {
    let db = &*observed.db;
    let uid = named_uid(observed).filter(|_| db.status.initialization.data_created_at.is_some())?;
    let theirs = |claim: &&Claim| owner(claim).is_some_and(|of| of == uid) && !claims::is_current(observed, claim);
    let named = &data(observed).find(theirs)?.meta.key.name;
    let current = db.status.storage.claim.as_deref().unwrap_or_default();
    let message = format!(
        "the claim {named}, which the annotation {ADOPT} names, is not taken over: this SampleDB has data already, on the claim \
         {current}; remove the annotation to keep these; or delete this SampleDB, which leaves the claim {named} as it is, and \
         create {} again with the annotation",
        db.meta.key.name
    );
    Some((SampleDBReason::AlreadyHasData, message))
}

/// Why a volume that a person says is to be taken over is not: it has another database for applications than the spec, whose
/// Secret and snapshots would be named after one that is not there.
pub(super) fn of_other_database(observed: &Observed) -> Option<Refusal> {
    let db = &*observed.db;
    let made = db.status.initialization.data_created_at.is_some();
    let (asked, name) = (names::database(db), &db.meta.key.name);
    let record = named(observed).filter(|record| !made && record.database != asked)?;
    let (claim, holds) = (record.facts.storage.claim.unwrap_or_default(), record.database);
    let message = format!(
        "the volume of the claim {claim} has the database {holds}, not {asked}: to take it over, delete this SampleDB, which leaves \
         the volume as it is, and make {name} again with bootstrap.database: {holds} and the annotation {ADOPT}"
    );
    Some((SampleDBReason::VolumeOfOtherDatabase, message))
}

/// The claim of the data, by the uid that it has now: one that was restored from a backup has another than before, and is the
/// data's all the same if it bears their record. What is on it the server's first step looks at.
fn placed(observed: &Observed, mut status: SampleDBStatus) -> SampleDBStatus {
    let Some(claim) = status.storage.claim.as_deref().and_then(|name| observed.claim(name)) else { return status };
    let identifier = Record::on(claim).and_then(|record| record.facts.system_identifier);
    let mut owners = lineage(observed);
    owners.extend(status.storage.adopted_from.iter().cloned());
    let own = owner(claim).is_some_and(|uid| owners.contains(&uid));
    if own && status.storage.claim_uid.is_some() && identifier.is_some() && identifier == status.system_identifier {
        status.storage.claim_uid = Some(claim.meta.uid.to_string());
    }
    status
}

/// Why nothing may be made: there are volumes or servers of this very object, nothing tells what they are, and status does
/// not either.
pub(super) fn lost(observed: &Observed) -> Option<Refusal> {
    let db = &*observed.db;
    let (uid, name) = (&db.meta.uid, &db.meta.key.name);
    let told = db.annotations.get(ADOPT).is_some_and(|told| **told == **uid);
    if is_latched(&db.status) || told {
        return None;
    }
    let claim =
        data(observed).filter(|claim| owner(claim).as_deref() == Some(&**uid)).map(|claim| &claim.meta.key.name);
    let server = || observed.own_servers().map(|server| &server.meta.key.name);
    let found = claim.map(|name| format!("the claim {name}"));
    let found = found.chain(server().map(|name| format!("the StatefulSet {name}"))).next()?;
    let message = format!(
        "status is lost, and {found} of this SampleDB bears no record of what it was: nothing is made beside or over it; to \
         use its data, set spec.engine to the version of the data and run: kubectl annotate sampledb {name} --namespace {} \
         {ADOPT}={uid}",
        db.meta.key.namespace
    );
    Some((SampleDBReason::StatusLost, message))
}
