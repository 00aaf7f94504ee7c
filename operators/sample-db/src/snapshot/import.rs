//! Pure: a snapshot that is not taken but imported: a Job downloads it from an object store to the volume of the snapshots.

use agent_protocol::PgDownloadResult;
use api::sample_db::{Method, SnapshotStore};
use api::sample_db_snapshot::{
    SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotCopy, SnapshotLocation, SnapshotPhase,
    SnapshotVerification, TransferPhase, VerificationPhase,
};
use jiff::Timestamp;
use runtime::message;
use runtime::plan::{Effect, Plan, Requeue};
use runtime::status::conditions::Summary;

use super::effects::{POLL_WHILE_WAITING, SnapshotPlan, write_status};
use super::location::measured;
use super::observed::{Observed, Volume};
use super::size::humanize;
use super::transfer::{self, TransferProgress};
use super::{jobs, status, transfer_job};
use crate::operand::names;
use crate::operand::time::rounded;

type Status = SampleDBSnapshotStatus;

/// Plans the next step of an import; `None` if the snapshot is taken, or was imported.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Option<SnapshotPlan> {
    let snapshot = &*observed.snapshot;
    let store = snapshot.spec.from_store.as_ref().filter(|_| snapshot.status.completed_at.is_none())?;
    let claim = claim(observed);
    if snapshot.status.location.claim.as_deref() != Some(&*claim) && observed.jobs.is_empty() {
        return Some(write_status(latched(observed, claim, store, now)));
    }
    Some(match transfer::progress(observed, &transfer_job::import_name(snapshot), now) {
        TransferProgress::Due => begin(observed, store, now),
        TransferProgress::Paused(left) => {
            let status = failing(observed, snapshot.status.store.clone(), store, now);
            Plan { next: Requeue::After(left), ..write_status(status) }
        }
        TransferProgress::Ending => Plan { next: wait(), ..write_status(snapshot.status.clone()) },
        TransferProgress::Running(blocker) => {
            let copy = transfer::running(&snapshot.status.store, blocker);
            Plan { next: wait(), ..write_status(importing(observed, copy, store, now)) }
        }
        TransferProgress::Complete(clear, outcome) => {
            let found: PgDownloadResult = outcome.result();
            match method(&found.snapshot.kind).filter(|_| found.snapshot.sha256.is_some()) {
                Some(method) => write_status(imported(observed, found, method, now)),
                None => {
                    let copy = transfer::failed(&snapshot.status.store, transfer::UNREADABLE.to_owned(), now);
                    Plan { effects: vec![clear], ..write_status(failing(observed, copy, store, now)) }
                }
            }
        }
        TransferProgress::Lost(clear) => Plan { effects: vec![clear], ..write_status(snapshot.status.clone()) },
        TransferProgress::Failed(clear, why) => {
            let copy = transfer::failed(&snapshot.status.store, why, now);
            Plan { effects: vec![clear], ..write_status(failing(observed, copy, store, now)) }
        }
    })
}

/// The PVC of the volume that it is downloaded to.
fn claim(observed: &Observed) -> String {
    let of_db = observed.db.as_deref().map(names::snapshot_claim);
    of_db.unwrap_or_else(|| names::own_snapshot_claim_of(&observed.snapshot.spec.sample_db))
}

fn latched(observed: &Observed, claim: String, store: &SnapshotStore, now: Timestamp) -> Status {
    let snapshot = &*observed.snapshot;
    let path = Some(status::directory_name(snapshot));
    let status = Status {
        phase: Some(SnapshotPhase::Pending),
        location: SnapshotLocation { claim: Some(claim), path, claim_uid: None },
        store: SnapshotCopy { phase: Some(TransferPhase::Pending), ..SnapshotCopy::default() },
        ..snapshot.status.clone()
    };
    with_doing(status, store, now)
}

/// Creates the Job, once its pod can use the volume.
fn begin(observed: &Observed, store: &SnapshotStore, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    // Files of others may be on a PVC that no SampleDB names.
    let named = observed.db.is_some() && !names::is_data_claim(&claim(observed));
    let is_for_snapshots = named || matches!(observed.volume, Volume::Claim { watched: true, .. });
    if observed.volume.uid().is_none() || !is_for_snapshots {
        let message = format!(
            "waiting for the PVC {}, to which it is downloaded: create the SampleDB {} with bootstrap.fromSnapshot.name: {}, and the \
             operator creates the PVC",
            snapshot.status.location.claim.as_deref().unwrap_or_default(),
            snapshot.spec.sample_db,
            snapshot.meta.key.name
        );
        let pending = Status { phase: Some(SnapshotPhase::Pending), ..snapshot.status.clone() };
        let waiting = status::with(pending, &Summary::Reconciling, SampleDBSnapshotReason::VolumeMissing, message, now);
        return Plan { next: wait(), ..write_status(waiting) };
    }
    let copy = transfer::running(&snapshot.status.store, None);
    let status = importing(observed, copy, store, now);
    let create = Effect::Create(transfer_job::import(observed, &store.s3));
    Plan { effects: vec![create], next: wait(), ..write_status(status) }
}

fn importing(observed: &Observed, copy: SnapshotCopy, store: &SnapshotStore, now: Timestamp) -> Status {
    let before = observed.snapshot.status.clone();
    let started_at = before.started_at.or_else(|| rounded(now));
    let job = Some(transfer_job::import_name(&observed.snapshot));
    let status = Status { phase: Some(SnapshotPhase::Running), started_at, job, error: None, store: copy, ..before };
    with_doing(status, store, now)
}

fn with_doing(status: Status, store: &SnapshotStore, now: Timestamp) -> Status {
    let why = status.store.message.clone().map_or_else(String::new, |why| format!(": {why}"));
    let message = format!("downloading the snapshot from s3://{}{why}", store.s3.path);
    status::with(status, &Summary::Reconciling, SampleDBSnapshotReason::Importing, message, now)
}

/// The last attempt failed.
fn failing(observed: &Observed, copy: SnapshotCopy, store: &SnapshotStore, now: Timestamp) -> Status {
    let why = copy.message.clone().unwrap_or_default();
    let claim = observed.snapshot.status.location.claim.as_deref().unwrap_or_default();
    let next = transfer::retry_at(&copy).map_or_else(String::new, |at| format!("; the next attempt begins at {at:.0}"));
    let room = match message::is_full(&why) {
        true => {
            format!("; make room on the volume {claim}: raise backup.storage.size of the SampleDB, or delete snapshots")
        }
        false => String::new(),
    };
    let message = format!("the snapshot cannot be downloaded from s3://{}: {why}{room}{next}", store.s3.path);
    let error = Some(message::shorten(message.clone()));
    let before = observed.snapshot.status.clone();
    let status = Status { phase: Some(SnapshotPhase::Failed), job: None, error, store: copy, ..before };
    status::with(status, &Summary::Stalled, SampleDBSnapshotReason::ImportFailed, message, now)
}

/// All its files are on the volume, with the checksums that they had when the snapshot was taken.
fn imported(observed: &Observed, result: PgDownloadResult, method: Method, now: Timestamp) -> Status {
    let before = observed.snapshot.status.clone();
    let PgDownloadResult { snapshot: found, from, database, verified } = result;
    let claim_uid = observed.volume.uid().map(str::to_owned);
    let message = format!(
        "the snapshot was downloaded from s3://{from}, and all checksums are right{}",
        if verified {
            "; it was restored once before it was uploaded"
        } else {
            "; it was not verified before it was uploaded"
        }
    );
    let status = Status {
        phase: Some(SnapshotPhase::Ready),
        system_identifier: found.system_identifier,
        method: Some(method),
        database: Some(database),
        engine_version: found.engine_version,
        completed_at: found.completed_at.and_then(|at| Timestamp::from_second(at).ok()).or_else(|| rounded(now)),
        bytes: found.bytes,
        size: found.bytes.map(humanize),
        sha256: found.sha256,
        database_names: found.database_names,
        not_covered: found.not_covered.into_iter().map(message::shorten).collect(),
        volume: measured(observed, &found.volume, now),
        verification: SnapshotVerification {
            phase: Some(if verified { VerificationPhase::Passed } else { VerificationPhase::Skipped }),
            request: jobs::request(&observed.snapshot),
            claim_uid: claim_uid.clone(),
            at: rounded(now),
            tables: found.tables,
            rows: found.rows,
            ..SnapshotVerification::default()
        },
        location: SnapshotLocation { claim_uid, ..before.location },
        store: transfer::done(&before.store, TransferPhase::Imported, from, now),
        job: None,
        error: None,
        ..before
    };
    status::with(status, &Summary::Ready, SampleDBSnapshotReason::Imported, message, now)
}

fn method(kind: &str) -> Option<Method> {
    match kind {
        "Logical" => Some(Method::Logical),
        "Physical" => Some(Method::Physical),
        _ => None,
    }
}

fn wait() -> Requeue {
    Requeue::After(POLL_WHILE_WAITING)
}
