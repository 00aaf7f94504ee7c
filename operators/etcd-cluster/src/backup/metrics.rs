//! The metrics of each EtcdBackup, by its namespace and name.

use api::etcd_backup::EtcdBackupStatus;
use jiff::Timestamp;
use runtime::metrics::objects::{MetricFamily, ObjectMetrics};

use super::due::{self, NextBackup};
use super::observed::BackupObserved;
use crate::kind::BACKUP_CONTROLLER;

const fn gauge(name: &'static str, help: &'static str) -> MetricFamily {
    MetricFamily { name, help, counter: false }
}

const LAST_SUCCESS: MetricFamily =
    gauge("etcd_backup_last_success_timestamp_seconds", "Unix time of the newest verified backup");
const NEXT: MetricFamily =
    gauge("etcd_backup_next_timestamp_seconds", "Unix time at which the next backup begins; absent if none is due");
const OVERDUE: MetricFamily = gauge(
    "etcd_backup_overdue_since_timestamp_seconds",
    "While a backup is due or has failed: Unix time of the newest verified backup, or of the creation of the object",
);
const FAILURES: MetricFamily =
    gauge("etcd_backup_consecutive_failures", "Number of attempts that have failed since the newest backup");
const BYTES: MetricFamily = gauge("etcd_backup_stored_bytes", "Size of all backups in the store in bytes");

/// Sets the metrics of an EtcdBackup.
pub(super) fn report(observed: &BackupObserved, now: Timestamp) {
    let of = ObjectMetrics { controller: BACKUP_CONTROLLER, key: &observed.backup.meta.key };
    for (family, value) in values(observed, now) {
        match value {
            Some(value) => of.set(family, None, value),
            None => of.unset(family),
        }
    }
}

fn values(observed: &BackupObserved, now: Timestamp) -> [(MetricFamily, Option<f64>); 5] {
    let status = &observed.backup.status;
    let next = match due::next(observed, now) {
        Ok(NextBackup::At(at)) => Some(at),
        _ => None,
    };
    [
        (LAST_SUCCESS, status.last_success_date.map(seconds)),
        (NEXT, next.map(seconds)),
        (OVERDUE, overdue_since(observed, now).map(seconds)),
        (FAILURES, Some(f64::from(status.failures))),
        (BYTES, has_run(status).then(|| number(status.bytes))),
    ]
}

fn has_run(status: &EtcdBackupStatus) -> bool {
    status.last_success_date.is_some()
}

/// Since when there is no newer backup, although one is due, is being taken, or has failed.
pub(super) fn overdue_since(observed: &BackupObserved, now: Timestamp) -> Option<Timestamp> {
    let (backup, status) = (&observed.backup, &observed.backup.status);
    if backup.spec.suspend {
        return None;
    }
    let is_due = !matches!(due::next(observed, now), Ok(NextBackup::At(_) | NextBackup::Never));
    let is_missing = status.failures > 0 || status.running.is_some() || is_due;
    status.last_success_date.or(backup.created).filter(|_| is_missing)
}

fn seconds(time: Timestamp) -> f64 {
    number(time.as_second())
}

#[expect(clippy::cast_precision_loss, reason = "times and sizes are far below 2^52")]
fn number(number: i64) -> f64 {
    number as f64
}
