//! Pure: the status of an EtcdBackup.

use agent_protocol::{EtcdBackupResult, RestoreProof, StoredBackup};
use api::etcd_backup::{BackupVerification, EtcdBackupEntry, EtcdBackupReason, EtcdBackupStatus};
use api::{Contract, condition_type};
use jiff::{Timestamp, Unit};
use runtime::message;
use runtime::plan::EventDraft;
use runtime::status::conditions::{self, Summary};

use super::due::NextBackup;
use super::observed::BackupObserved;
use crate::agent_pod;

type Status = EtcdBackupStatus;

/// A status with these conditions.
pub(super) fn with(
    status: Status,
    summary: &Summary,
    reason: EtcdBackupReason,
    message: impl Into<String>,
    now: Timestamp,
) -> Status {
    let conditions = summary.conditions(reason, message::shorten(message.into()), now);
    Status { contract: Contract { conditions, ..status.contract }, ..status }
}

/// A Job takes a backup.
pub(super) fn running(observed: &BackupObserved, status: Status, now: Timestamp) -> Status {
    let Some(run) = status.running.clone() else { return status };
    let doing = format!("the backup {} is being taken and verified", run.name);
    if let Some(since) = agent_pod::without_pod_since(&observed.jobs, &observed.pods, &run.name, now) {
        let message = format!("{doing}, but {}", agent_pod::no_pod(&run.name, since));
        return with(status, &Summary::Reconciling, EtcdBackupReason::PodInTrouble, message, now);
    }
    match observed.diagnosis(&run.name) {
        Some(diagnosis) => {
            let message = format!("{doing}, but its pod waits: {}", diagnosis.message);
            with(status, &Summary::Reconciling, EtcdBackupReason::PodInTrouble, message, now)
        }
        // What there is stays good while another one is taken.
        None => match status.backups.first().filter(|_| status.failures == 0) {
            Some(newest) => {
                let message = format!("{doing}; the newest one is {}, of revision {}", newest.name, newest.revision);
                with(status, &Summary::Ready, EtcdBackupReason::BackupRunning, message, now)
            }
            None => with(status, &Summary::Reconciling, EtcdBackupReason::BackupRunning, doing, now),
        },
    }
}

/// The Event of a backup that is complete, unless the condition Ready announces it.
pub(super) fn completed_event(before: &Status, after: &Status) -> Option<EventDraft> {
    let announced = !conditions::transitions(&before.contract, &after.contract).is_empty();
    let ready = after.contract.condition(condition_type::READY).filter(|_| after.succeeded && !announced)?;
    Some(EventDraft { warning: false, reason: ready.reason.clone(), message: ready.message.clone() })
}

/// A backup is complete.
pub(super) fn succeeded(before: &Status, result: EtcdBackupResult) -> Status {
    let run = before.running.clone().unwrap_or_default();
    // A Job that an earlier status began may end after a later one.
    let newest = result.backups.first().cloned().unwrap_or_else(|| result.backup.clone());
    Status {
        succeeded: true,
        reason: None,
        etcd_version: Some(newest.version.clone()),
        etcd_revision: Some(newest.revision),
        last_success_date: Timestamp::from_second(newest.taken_at).ok(),
        running: None,
        last_scheduled: run.scheduled.max(before.last_scheduled),
        last_request: run.request.or_else(|| before.last_request.clone()),
        last_completed: Some(run.name),
        failures: 0,
        last_failure: None,
        failed_generation: None,
        count: result.count,
        bytes: result.bytes,
        backups: result.backups.into_iter().map(entry).collect(),
        contract: before.contract.clone(),
    }
}

/// The attempt has failed.
pub(super) fn failed(observed: &BackupObserved, why: &str, now: Timestamp) -> Status {
    let before = observed.backup.status.clone();
    Status {
        succeeded: false,
        reason: Some(message::shorten(why.to_owned())),
        running: None,
        failures: before.failures.saturating_add(1),
        last_failure: now.round(Unit::Second).ok(),
        failed_generation: Some(observed.backup.meta.generation),
        ..before
    }
}

/// Nothing is under way.
pub(super) fn idle(status: Status, next: &NextBackup, suspended: bool, now: Timestamp) -> Status {
    let then = match next {
        NextBackup::At(at) => format!("; the next one begins at {at:.0}"),
        _ if suspended => "; spec.suspend keeps the operator from taking others".to_owned(),
        _ => String::new(),
    };
    if status.failures > 0 {
        let why = status.reason.clone().unwrap_or_default();
        let attempts = match status.failures {
            1 => "the backup failed".to_owned(),
            many => format!("the last {many} attempts failed"),
        };
        let then = then.replace("the next one begins", "the next attempt begins");
        return with(
            status,
            &Summary::Stalled,
            EtcdBackupReason::BackupFailed,
            format!("{attempts}: {why}{then}"),
            now,
        );
    }
    let Some(newest) = status.backups.first() else {
        let (reason, message) = match next {
            NextBackup::At(at) => (EtcdBackupReason::WaitingForSchedule, format!("the first backup begins at {at:.0}")),
            _ => (EtcdBackupReason::Suspended, "spec.suspend keeps the operator from taking backups".to_owned()),
        };
        return with(status, &Summary::Ready, reason, message, now);
    };
    let (name, revision) = (&newest.name, newest.revision);
    let taken = newest.taken_at.map_or_else(String::new, |at| format!(", taken at {at},"));
    let message = format!("the backup {name} of revision {revision}{taken} was restored and verified{then}");
    with(status, &Summary::Ready, EtcdBackupReason::BackupVerified, message, now)
}

fn entry(of: StoredBackup) -> EtcdBackupEntry {
    EtcdBackupEntry {
        name: of.name,
        taken_at: Timestamp::from_second(of.taken_at).ok(),
        revision: of.revision,
        bytes: of.bytes,
        sha256: of.sha256,
        version: of.version,
        cluster_id: of.cluster_id,
        member: of.member,
        path: of.path,
        verification: match of.verification {
            RestoreProof::HashCompared => BackupVerification::HashCompared,
            RestoreProof::Restored => BackupVerification::Restored,
            RestoreProof::Unknown => BackupVerification::Unknown,
        },
    }
}
