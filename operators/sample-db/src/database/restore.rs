//! Pure: a new database that is restored from a snapshot: which one, whether it is valid, and the Job that restores it.

use agent_protocol::{AgentCommand, PgRestore};
use api::sample_db::{ADOPT, Method, RestoreStatus, SampleDBReason, SampleDBStatus};
use api::sample_db_snapshot::SnapshotPhase;
use jiff::{Timestamp, Unit};
use runtime::plan::Apply;
use runtime::pod::claim_volume;
use runtime::projections::JobEnd;

use super::observed::Observed;
use super::pinned::{Pinned, SpecRefusal};
use super::storage::snapshots;
use super::{claims, record};
use crate::operand::agent_job::JobParams;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names;
use crate::operand::pod::{self, SNAPSHOTS};
use crate::operand::release::Release;
use crate::operand::snapshot_state::{awaits_location_check, has_failed};

/// How many seconds a restore may take.
const DEADLINE: i64 = 24 * 3600;
/// How often it is retried.
const RETRIES: i32 = 2;

/// The snapshot that a new database is to be restored from, if any.
///
/// # Errors
/// Why it cannot be restored.
pub(super) fn source<'a>(observed: &'a Observed, pinned: &Pinned) -> Result<Option<&'a Snapshot>, SpecRefusal> {
    let db = &*observed.db;
    let Some(from) = &db.spec.bootstrap.from_snapshot else { return Ok(None) };
    if db.status.restore.completed_at.is_some() || is_taken_over(observed, pinned) {
        return Ok(None);
    }
    let ready = |snapshot: &&Snapshot| {
        let taken = snapshot.status.phase == Some(SnapshotPhase::Ready) && !snapshot.meta.deleting;
        // One that failed verification, or is imported from a store, is restored only if it is named.
        taken
            && snapshot.spec.from_store.is_none()
            && !has_failed(&snapshot.status)
            && !awaits_location_check(&snapshot.status)
    };
    let all = || observed.restore_candidates.iter().map(|snapshot| &**snapshot);
    let latched = db.status.restore.snapshot_uid.as_deref();
    let begun = observed.job(&job_name(db)).filter(|_| latched.is_some());
    // What happens to the snapshot afterward does not matter to this database.
    if begun.is_some_and(|job| job.end == Some(JobEnd::Complete)) {
        return Ok(None);
    }
    let found = match (latched, &from.name) {
        (Some(uid), _) => all().find(|snapshot| *snapshot.meta.uid == *uid),
        (None, Some(name)) => all().find(|snapshot| *snapshot.meta.key.name == **name),
        (None, None) => all()
            .filter(ready)
            .filter(|snapshot| {
                from.before.is_none_or(|before| snapshot.status.completed_at.is_some_and(|at| at <= before))
            })
            .max_by_key(|snapshot| snapshot.status.completed_at),
    };
    let asked = from.name.as_deref().or(from.of_sample_db.as_deref()).unwrap_or_default();
    let snapshot = found.ok_or_else(|| {
        let message = match from.name {
            Some(_) => format!("there is no SampleDBSnapshot {asked} (bootstrap.fromSnapshot.name)"),
            None => format!(
                "there is no Ready snapshot of {asked} (bootstrap.fromSnapshot.ofSampleDB) from before that time"
            ),
        };
        (SampleDBReason::SnapshotMissing, message)
    })?;
    // The Job that has started reports by itself what is wrong with the snapshot.
    if begun.is_some() {
        return Ok(Some(snapshot));
    }
    validate(snapshot, db, pinned).map(|()| Some(snapshot))
}

/// Whether the data is on an adopted volume, over which nothing is restored. Which snapshot a volume is restored from is latched
/// and recorded before it has any data, so a restore that an earlier object started continues.
fn is_taken_over(observed: &Observed, pinned: &Pinned) -> bool {
    let status = &observed.db.status;
    match status.initialization.data_created_at {
        Some(_) => status.restore.snapshot_uid.is_none(),
        None => observed.claim(&pinned.claim).is_some_and(|claim| claims::is_unknown(observed, claim)),
    }
}

/// Whether the volume holds only a part of a snapshot, because its restore has not completed: the snapshot has it all. Data that
/// was adopted or configured is no such part.
pub(super) fn is_partial(observed: &Observed) -> bool {
    let (db, status) = (&*observed.db, &observed.db.status);
    let begun = db.spec.bootstrap.from_snapshot.is_some() && status.restore.snapshot_uid.is_some();
    let ended = status.restore.completed_at.is_some() || status.initialization.completed_at.is_some();
    let taken_over = !status.storage.adopted_from.is_empty() || db.annotations.contains_key(ADOPT);
    begun && !ended && !taken_over
}

/// The status of a database that is being deleted, and whose restore completed meanwhile, which protection allows. From then on
/// its volume has all of the snapshot, and is saved like any other. This is recorded before the Job that shows it is deleted.
pub(super) fn completed(observed: &Observed, now: Timestamp) -> Option<SampleDBStatus> {
    let before = &observed.db.status;
    let job = observed.job(&job_name(&observed.db)).filter(|_| is_partial(observed))?;
    let completed_at = now.round(Unit::Second).ok().filter(|_| job.end == Some(JobEnd::Complete))?;
    let restore = RestoreStatus { completed_at: Some(completed_at), ..before.restore.clone() };
    Some(record::revised(before, SampleDBStatus { restore, ..before.clone() }))
}

/// Whether a snapshot can be restored into that database.
fn validate(snapshot: &Snapshot, db: &SampleDB, pinned: &Pinned) -> Result<(), SpecRefusal> {
    let (name, status) = (&snapshot.meta.key.name, &snapshot.status);
    // A snapshot that was chosen before keeps its files until the restore is done, even if it expires now.
    let chosen = db.status.restore.snapshot_uid.as_deref() == Some(&*snapshot.meta.uid);
    let expired = status.phase == Some(SnapshotPhase::Expired) && status.completed_at.is_some();
    if status.phase != Some(SnapshotPhase::Ready) && !(chosen && expired) {
        let ready = status.contract.condition(api::condition_type::READY).map(|ready| &ready.message);
        let why = status.error.as_ref().or(ready).map_or_else(String::new, |why| format!(": {why}"));
        let imports = snapshot.spec.from_store.is_some() && status.phase != Some(SnapshotPhase::Failed);
        if imports && !snapshot.meta.deleting {
            return Err((SampleDBReason::Restoring, format!("waiting for the snapshot {name}{why}")));
        }
        let phase = status.phase.map_or_else(|| "not observed yet".to_owned(), |phase| format!("{phase:?}"));
        return Err((SampleDBReason::SnapshotNotReady, format!("the snapshot {name} is not Ready: {phase}{why}")));
    }
    if snapshot.meta.deleting && !chosen {
        return Err((
            SampleDBReason::SnapshotNotReady,
            format!("the snapshot {name} is being deleted: name another one"),
        ));
    }
    if awaits_location_check(status) {
        let why = "verifying that its files are on the volume";
        return Err((SampleDBReason::SnapshotNotReady, format!("the snapshot {name} is not Ready yet: {why}")));
    }
    let of = status.engine_version.as_deref().and_then(Release::parse);
    if let Some(of) = of.filter(|of| of.major > pinned.major) {
        let message = format!(
            "the snapshot {name} is of PostgreSQL {of}, which cannot be restored into the earlier {}: set engine.version to \
             {} or later",
            pinned.major, of.major
        );
        return Err((SampleDBReason::SnapshotNewer, message));
    }
    if let Some(of) = of.filter(|of| status.method == Some(Method::Physical) && of.major != pinned.major) {
        let message = format!(
            "the snapshot {name} is a physical one of PostgreSQL {of}, which only {} can read: set engine.version to {}, or \
             name a Logical one",
            of.major, of.major
        );
        return Err((SampleDBReason::SnapshotPhysical, message));
    }
    let database = names::database(db);
    match &status.database {
        Some(other) if other != database => Err((
            SampleDBReason::SnapshotOfOtherDatabase,
            format!(
                "the snapshot {name} contains the database {other}: set bootstrap.database to {other} in a new SampleDB"
            ),
        )),
        _ => Ok(()),
    }
}

/// The PVC to which the snapshot is downloaded that a new database begins with. Nothing else is created until that has ended.
pub(super) fn import_volume(observed: &Observed) -> Option<Apply> {
    let db = &*observed.db;
    let is_awaited = |of: &Snapshot| {
        let imports = of.spec.from_store.is_some() && of.status.completed_at.is_none() && !of.meta.deleting;
        imports && *of.spec.sample_db == *db.meta.key.name
    };
    let waits = !db.spec.paused && observed.restore_candidates.iter().any(|of| is_awaited(of));
    if waits { snapshots::claim(observed) } else { None }
}

/// The name of the Job.
pub(super) fn job_name(db: &SampleDB) -> String {
    format!("{}-restore", db.meta.key.name)
}

/// The Job.
pub(super) fn job(db: &SampleDB, snapshot: &Snapshot) -> JobParams {
    let location = &snapshot.status.location;
    let path = location.path.as_deref().unwrap_or(&snapshot.meta.key.name);
    // All that the snapshot contains: what is left out here is lost when the snapshot is deleted.
    let restore = PgRestore {
        snapshot: format!("{SNAPSHOTS}/{path}").into(),
        sha256: snapshot.status.sha256.clone(),
        ..PgRestore::default()
    };
    let claim = location.claim.clone().unwrap_or_default();
    JobParams {
        volumes: vec![(claim_volume("snapshots", &claim), pod::read_only_snapshots_mount())],
        retries: RETRIES,
        ..JobParams::of_database(db, &job_name(db), restore.argv(), DEADLINE)
    }
}

/// The status of the restore.
pub(super) fn status(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>, now: Timestamp) -> RestoreStatus {
    // A snapshot that was chosen before the annotation named the volume is not what that volume holds.
    if observed.db.status.restore.completed_at.is_none() && is_taken_over(observed, pinned) {
        return RestoreStatus::default();
    }
    let before = &observed.db.status.restore;
    // The data was created from a physical one.
    let physical = source.is_some_and(|source| source.status.method == Some(Method::Physical));
    let created = physical && observed.db.status.initialization.data_created_at.is_some();
    let ended = || observed.job(&job_name(&observed.db)).is_some_and(|job| job.end == Some(JobEnd::Complete));
    let done = created || ended();
    let completed_at = before.completed_at.or_else(|| now.round(Unit::Second).ok().filter(|_| done));
    let Some(source) = source else {
        return RestoreStatus {
            completed_at: completed_at.filter(|_| before.snapshot_uid.is_some()),
            ..before.clone()
        };
    };
    RestoreStatus {
        snapshot: Some(source.meta.key.name.to_string()),
        snapshot_uid: Some(source.meta.uid.to_string()),
        job: Some(job_name(&observed.db)),
        completed_at,
    }
}
