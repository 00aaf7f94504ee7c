//! Pure: a new database that is filled from a snapshot: which one, whether it can be, and the Job that does it.

use agent_protocol::{Arguments, PgRestore};
use api::sample_db::{ADOPT, Method, RestoreStatus, SampleDBReason, SampleDBStatus};
use api::sample_db_snapshot::SnapshotPhase;
use jiff::{Timestamp, Unit};
use runtime::pod::claim_volume;
use runtime::projections::JobEnd;

use super::observed::Observed;
use super::pinned::{Pinned, Refusal};
use super::{claims, record};
use crate::operand::agent_job::JobOf;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names;
use crate::operand::pod::{self, SNAPSHOTS};
use crate::operand::release::Release;
use crate::operand::snapshot_state::{is_bad, is_looked_for};

/// How many seconds a restore may take.
const DEADLINE: i64 = 24 * 3600;
/// How often it is tried again.
const RETRIES: i32 = 2;

/// The snapshot that a new database is to be filled from, if it is to be.
///
/// # Errors
/// Why it cannot be.
pub(super) fn source<'a>(observed: &'a Observed, pinned: &Pinned) -> Result<Option<&'a Snapshot>, Refusal> {
    let db = &*observed.db;
    let Some(from) = &db.spec.bootstrap.from_snapshot else { return Ok(None) };
    if db.status.restore.completed_at.is_some() || is_taken_over(observed, pinned) {
        return Ok(None);
    }
    let ready = |snapshot: &&Snapshot| {
        let taken = snapshot.status.phase == Some(SnapshotPhase::Ready) && !snapshot.meta.deleting;
        // One that did not stand its proof is taken by its name only.
        taken && !is_bad(&snapshot.status) && !is_looked_for(&snapshot.status)
    };
    let all = || observed.sources.iter().map(|snapshot| &**snapshot);
    let latched = db.status.restore.snapshot_uid.as_deref();
    let begun = observed.job(&job_name(db)).filter(|_| latched.is_some());
    // What becomes of the snapshot afterwards is no matter of this database.
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
    // The Job that has begun tells by itself what is wrong with the snapshot.
    if begun.is_some() {
        return Ok(Some(snapshot));
    }
    judge(snapshot, db, pinned).map(|()| Some(snapshot))
}

/// Whether the data are those of a volume that was taken over, which nothing is restored over. Which snapshot a volume is filled
/// from is latched before it has any data, and recorded on it: a restore that an earlier object has begun goes on.
fn is_taken_over(observed: &Observed, pinned: &Pinned) -> bool {
    let status = &observed.db.status;
    match status.initialization.data_created_at {
        Some(_) => status.restore.snapshot_uid.is_none(),
        None => observed.claim(&pinned.claim).is_some_and(|claim| claims::is_unknown(observed, claim)),
    }
}

/// Whether the volume holds no more than a part of what a snapshot has, since its restore has not come to its end: that is
/// whole where it comes from. What was taken over, or was configured, is no such part.
pub(super) fn is_half(observed: &Observed) -> bool {
    let (db, status) = (&*observed.db, &observed.db.status);
    let begun = db.spec.bootstrap.from_snapshot.is_some() && status.restore.snapshot_uid.is_some();
    let ended = status.restore.completed_at.is_some() || status.initialization.completed_at.is_some();
    let taken_over = !status.storage.adopted_from.is_empty() || db.annotations.contains_key(ADOPT);
    begun && !ended && !taken_over
}

/// The status of a database that is being deleted, and whose restore has come to its end meanwhile: protection lets it go on. From
/// then on its volume has all of the snapshot, and it is saved as any other; the Job, which tells, is deleted first.
pub(super) fn ended(observed: &Observed, now: Timestamp) -> Option<SampleDBStatus> {
    let before = &observed.db.status;
    let job = observed.job(&job_name(&observed.db)).filter(|_| is_half(observed))?;
    let completed_at = now.round(Unit::Second).ok().filter(|_| job.end == Some(JobEnd::Complete))?;
    let restore = RestoreStatus { completed_at: Some(completed_at), ..before.restore.clone() };
    Some(record::revised(before, SampleDBStatus { restore, ..before.clone() }))
}

/// Whether a snapshot can be restored into that database.
fn judge(snapshot: &Snapshot, db: &SampleDB, pinned: &Pinned) -> Result<(), Refusal> {
    let (name, status) = (&snapshot.meta.key.name, &snapshot.status);
    // One that was chosen before waits with its files for the restore, also if its time has come to an end at that moment.
    let chosen = db.status.restore.snapshot_uid.as_deref() == Some(&*snapshot.meta.uid);
    let expired = status.phase == Some(SnapshotPhase::Expired) && status.completed_at.is_some();
    if status.phase != Some(SnapshotPhase::Ready) && !(chosen && expired) {
        let why = status.error.clone().map_or_else(String::new, |why| format!(": {why}"));
        let phase = status.phase.map_or_else(|| "not observed yet".to_owned(), |phase| format!("{phase:?}"));
        return Err((SampleDBReason::SnapshotNotReady, format!("the snapshot {name} is not Ready, but {phase}{why}")));
    }
    if snapshot.meta.deleting && !chosen {
        return Err((
            SampleDBReason::SnapshotNotReady,
            format!("the snapshot {name} is being deleted: name another one"),
        ));
    }
    if is_looked_for(status) {
        let why = "the operator verifies that its files are on the volume";
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
             take a Logical one",
            of.major, of.major
        );
        return Err((SampleDBReason::SnapshotPhysical, message));
    }
    let database = names::database(db);
    match &status.database {
        Some(other) if other != database => Err((
            SampleDBReason::SnapshotOfOtherDatabase,
            format!(
                "the snapshot {name} holds the database {other}: set bootstrap.database to {other} in a new SampleDB"
            ),
        )),
        _ => Ok(()),
    }
}

/// The name of the Job.
pub(super) fn job_name(db: &SampleDB) -> String {
    format!("{}-restore", db.meta.key.name)
}

/// The Job.
pub(super) fn job(db: &SampleDB, snapshot: &Snapshot) -> JobOf {
    let location = &snapshot.status.location;
    let path = location.path.as_deref().unwrap_or(&snapshot.meta.key.name);
    // All that the snapshot holds: what is left out here is lost when the snapshot goes.
    let restore = PgRestore {
        snapshot: format!("{SNAPSHOTS}/{path}").into(),
        sha256: snapshot.status.sha256.clone(),
        ..PgRestore::default()
    };
    let claim = location.claim.clone().unwrap_or_default();
    JobOf {
        volumes: vec![(claim_volume("snapshots", &claim), pod::snapshots_to_read())],
        retries: RETRIES,
        ..JobOf::of_database(db, &job_name(db), restore.argv(), DEADLINE)
    }
}

/// What is known of it.
pub(super) fn status(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>, now: Timestamp) -> RestoreStatus {
    // A snapshot that was chosen before a person named the volume is not what that has.
    if observed.db.status.restore.completed_at.is_none() && is_taken_over(observed, pinned) {
        return RestoreStatus::default();
    }
    let before = &observed.db.status.restore;
    // Of a physical one the data were made.
    let physical = source.is_some_and(|source| source.status.method == Some(Method::Physical));
    let made = physical && observed.db.status.initialization.data_created_at.is_some();
    let ended = || observed.job(&job_name(&observed.db)).is_some_and(|job| job.end == Some(JobEnd::Complete));
    let done = made || ended();
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
