//! Metrics of each database, computed from its status.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use api::ConditionStatus;
use api::sample_db::{SampleDBPhase, SampleDBReason, SampleDBStatus, condition_type as domain};
use jiff::Timestamp;
use runtime::metrics::objects::{MetricFamily, ObjectMetrics};
use runtime::plan::Key;

use crate::database::{Observed, next_due, overdue_since};
use crate::operand::names::{self, snapshot_claim};
use crate::operand::snapshot_state::{has_failed, upload_failures};

const fn gauge(name: &'static str, help: &'static str) -> MetricFamily {
    MetricFamily { name, help, counter: false }
}

const READY: MetricFamily = gauge("sampledb_ready", "1 if the database serves clients, else 0");
const INFO: MetricFamily = gauge("sampledb_info", "PostgreSQL release that the database runs");
const NEXT: MetricFamily =
    gauge("sampledb_backup_next_timestamp_seconds", "Unix time at which the next scheduled snapshot is, or was, due");
const LAST_SUCCESS: MetricFamily =
    gauge("sampledb_backup_last_success_timestamp_seconds", "Unix time of the last usable snapshot");
const LAST_VERIFIED: MetricFamily =
    gauge("sampledb_backup_last_verified_timestamp_seconds", "Unix time at which a snapshot last passed verification");
const OVERDUE: MetricFamily = gauge(
    "sampledb_backup_overdue_since_timestamp_seconds",
    "While backups are overdue: Unix time of the newest verified snapshot, or of the database's initialization",
);
const VERIFIED: MetricFamily = gauge(
    "sampledb_backup_verified",
    "1 if the last verification of a snapshot passed, 0 if it failed; absent before the first",
);
const DURATION: MetricFamily =
    gauge("sampledb_backup_duration_seconds", "Duration of the last usable snapshot in seconds, without verification");
const SIZE: MetricFamily = gauge("sampledb_backup_size_bytes", "Size of the last usable snapshot in bytes");
const FAILURES: MetricFamily = MetricFamily {
    name: "sampledb_backup_failures_total",
    help: "Total number of snapshots that failed or did not pass verification",
    counter: true,
};
const CONSECUTIVE: MetricFamily =
    gauge("sampledb_backup_consecutive_failures", "Number of snapshots that have failed since the last usable one");
const FINAL: MetricFamily =
    gauge("sampledb_final_snapshot_seconds", "Duration of the final snapshot in seconds, verification included");
const UPGRADE: MetricFamily = gauge(
    "sampledb_upgrade_state",
    "Upgrade state: 0 idle, 1 in progress, 2 rolling back, 3 failed and still requested",
);
const VOLUME: MetricFamily = gauge(
    "sampledb_volume_used_ratio",
    "Share of the data volume in use; 1 while the server does not start because it is full",
);
const SNAPSHOTS_VOLUME: MetricFamily = gauge(
    "sampledb_snapshots_volume_used_ratio",
    "Share of the snapshot volume in use when a snapshot was last taken or verified; absent before the first",
);
const LAST_STORED: MetricFamily = gauge(
    "sampledb_backup_last_stored_timestamp_seconds",
    "Unix time at which a snapshot was last uploaded to the object store",
);
const UPLOAD_FAILURES: MetricFamily = gauge(
    "sampledb_backup_upload_failures",
    "Number of attempts that have failed to upload snapshots that are not in the object store",
);
const TERMINATING: MetricFamily = gauge("sampledb_volume_terminating", "1 while the data PVC is terminating, else 0");

/// Sets the metrics of a database.
pub(crate) fn report(observed: &Observed) {
    let db = &*observed.db;
    let of = ObjectMetrics { controller: names::CONTROLLER, key: &db.meta.key };
    for (family, value) in values(observed) {
        match value {
            Some(value) => of.set(family, None, value),
            None => of.unset(family),
        }
    }
    if let Some(version) = &db.status.engine.running {
        of.set_only(INFO, ("version", version), 1.0);
    }
    of.add(FAILURES, number(i64::try_from(new_failures(observed)).unwrap_or(i64::MAX)));
}

fn values(observed: &Observed) -> [(MetricFamily, Option<f64>); 16] {
    let status = &observed.db.status;
    let backup = &status.backup;
    let verified = status.contract.condition(domain::BACKUP_VERIFIED).map(|of| of.status);
    let now = runtime::clock::now();
    [
        (READY, Some(flag(status.contract.is_true(api::condition_type::READY)))),
        (NEXT, next_due(&observed.db, now).map(seconds)),
        (LAST_SUCCESS, backup.last_successful.time.map(seconds)),
        (LAST_VERIFIED, backup.last_verified.time.map(seconds)),
        (OVERDUE, overdue_since(observed, now).map(seconds)),
        (VERIFIED, verified.filter(|of| *of != ConditionStatus::Unknown).map(|of| flag(of == ConditionStatus::True))),
        (DURATION, backup.last_successful.seconds.map(number)),
        (SIZE, backup.last_successful.bytes.map(number)),
        (CONSECUTIVE, Some(f64::from(backup.consecutive_failures.unwrap_or(0)))),
        (FINAL, final_seconds(observed)),
        (UPGRADE, Some(upgrade(status))),
        (VOLUME, used(status)),
        (SNAPSHOTS_VOLUME, ratio(status, &snapshot_claim(&observed.db))),
        (LAST_STORED, backup.last_stored.time.map(seconds)),
        (UPLOAD_FAILURES, Some(f64::from(failed_uploads(observed)))),
        (TERMINATING, Some(flag(is_terminating(observed)))),
    ]
}

/// The time until which failures have been counted, by database.
static COUNTED: Mutex<BTreeMap<Key, Timestamp>> = Mutex::new(BTreeMap::new());

/// The number of snapshots that have failed since the last reconcile; at the first one, since the status was written.
fn new_failures(observed: &Observed) -> usize {
    let db = &*observed.db;
    let mut counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    if db.meta.deleting {
        counted.remove(&db.meta.key);
        return 0;
    }
    let first = db.status.backup.last_failure.time.unwrap_or(Timestamp::MIN);
    let last = counted.entry(db.meta.key.clone()).or_insert(first);
    let times: Vec<Timestamp> = failures(observed).filter(|at| *at > *last).collect();
    *last = times.iter().copied().max().unwrap_or(*last);
    times.len()
}

fn failures(observed: &Observed) -> impl Iterator<Item = Timestamp> {
    let bad = observed.own_snapshots().filter(|of| has_failed(&of.status));
    bad.filter_map(|of| of.status.verification.at.or(of.status.started_at))
}

fn failed_uploads(observed: &Observed) -> i32 {
    observed.own_snapshots().map(|of| upload_failures(&of.status)).fold(0, i32::saturating_add)
}

fn final_seconds(observed: &Observed) -> Option<f64> {
    let name = observed.db.status.deletion.final_snapshot.as_deref()?;
    let snapshot = observed.snapshots.iter().find(|of| *of.meta.key.name == *name)?;
    let (started, end) = snapshot.status.started_at.zip(snapshot.status.verification.at)?;
    Some(number(end.duration_since(started).as_secs()))
}

fn upgrade(status: &SampleDBStatus) -> f64 {
    use api::sample_db::UpgradeResult::{Failed, RolledBack};
    match (status.phase, status.upgrade.step, status.upgrade.result) {
        (Some(SampleDBPhase::RollingBack), ..) => 2.0,
        (_, Some(_), None) => 1.0,
        // An administrator who sets the running release again no longer requests the upgrade.
        (.., Some(Failed | RolledBack)) if !status.contract.is_true(domain::UP_TO_DATE) => 3.0,
        _ => 0.0,
    }
}

/// The share that the server reports while it can be queried. Once a full volume has stopped the server, its last report is too
/// low.
fn used(status: &SampleDBStatus) -> Option<f64> {
    let storage = status.contract.condition(domain::STORAGE_HEALTHY);
    if storage.is_some_and(|storage| storage.reason == SampleDBReason::VolumeFull) {
        return Some(1.0);
    }
    ratio(status, status.storage.claim.as_deref()?)
}

/// The share of a PVC's volume that is in use.
fn ratio(status: &SampleDBStatus, claim: &str) -> Option<f64> {
    let volume = status.volumes.iter().find(|volume| volume.claim.as_deref() == Some(claim))?;
    volume.used_percent.map(|percent| f64::from(percent) / 100.0)
}

/// The value of a metric for a database.
#[cfg(test)]
pub(crate) fn value(observed: &Observed, name: &str) -> Option<f64> {
    values(observed).into_iter().find(|(family, _)| family.name == name)?.1
}

/// Whether the PVC with the database's data is terminating.
fn is_terminating(observed: &Observed) -> bool {
    let status = &observed.db.status;
    let claim = status.storage.claim.as_deref().and_then(|name| observed.claim(name));
    status.initialization.data_created_at.is_some() && claim.is_some_and(|claim| claim.meta.deleting)
}

fn flag(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn seconds(at: Timestamp) -> f64 {
    number(at.as_second())
}

#[allow(clippy::cast_precision_loss, reason = "sizes and times are far below 2^52")]
fn number(of: i64) -> f64 {
    of as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_volume_that_has_stopped_its_server_counts_as_full() {
        let status = |reason: SampleDBReason| {
            let condition = json!({
                "type": domain::STORAGE_HEALTHY, "status": "False", "reason": reason.as_str(), "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            });
            let volume = json!({ "claim": "data-shop-0", "usedPercent": 30 });
            let reported = json!({ "observedGeneration": 1, "storage": { "claim": "data-shop-0" }, "volumes": [volume], "conditions": [condition] });
            serde_json::from_value::<SampleDBStatus>(reported).unwrap()
        };
        let reported = [SampleDBReason::NearlyFull, SampleDBReason::VolumeFull]
            .map(|reason| used(&status(reason)).unwrap().to_string());
        assert_eq!(reported, ["0.3", "1"]);
    }

    #[test]
    fn a_failed_upgrade_is_reported_while_it_is_requested() {
        let up_to_date = |status: &str| {
            let condition = json!({
                "type": domain::UP_TO_DATE, "status": status, "reason": "Any", "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            });
            let reported =
                json!({ "observedGeneration": 1, "upgrade": { "result": "RolledBack" }, "conditions": [condition] });
            serde_json::from_value::<SampleDBStatus>(reported).unwrap()
        };
        let reported = ["False", "True"].map(|it| upgrade(&up_to_date(it)).to_string());
        assert_eq!(reported, ["3", "0"]);
    }
}
