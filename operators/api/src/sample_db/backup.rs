//! Schedule, storage, retention and verification of snapshots.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::storage::{CLASS_MESSAGE, NAME, bytes, unchanged};
use super::store::SnapshotStore;
use crate::time::{DEFAULT_TIME_ZONE, LASTING_SPAN};

/// Default schedule of snapshots.
pub const DEFAULT_SCHEDULE: &str = "0 2 * * *";
/// Default size of the snapshots' volume.
pub const DEFAULT_BACKUP_SIZE: &str = "2Gi";

/// Schedule, storage, retention and verification of snapshots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// Cron schedule of snapshots: minute, hour, day of month, month, day of week. Default: `0 2 * * *`. Empty: no
    /// schedule. Each database starts with a delay that follows from its uid: at most a quarter of the time to the next
    /// one, and at most 15 minutes. Of missed times, the operator makes up for the latest within
    /// `startingDeadlineSeconds`, and counts older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    #[x_kube(validation = Rule::new(cron()).message(
        "backup.schedule must be five fields (minute, hour, day of month, month, day of week) such as '0 2 * * *' or \
         '*/15 8-18 * * MON-FRI', or empty for none; seconds and macros such as @daily are not supported"
    ))]
    pub schedule: Option<String>,

    /// IANA time zone of the schedule, such as Europe/Paris. Default: Etc/UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$') && self != 'Local'")
        .message("backup.timeZone must be the name of a time zone, such as Etc/UTC or Europe/Paris"))]
    pub time_zone: Option<String>,

    /// Backup method: Logical or Physical. Default: Logical.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub method: Method,

    /// Suspends scheduled snapshots. Default: false. The operator does not take missed ones later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,

    /// Takes a first snapshot once the database is ready, if there is a schedule. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub immediate: Option<bool>,

    /// Seconds after its time that the operator still takes a missed snapshot, 10 to 604800. Default: 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 604_800))]
    pub starting_deadline_seconds: Option<i64>,

    /// Retention of scheduled snapshots.
    #[serde(default, deserialize_with = "super::or_default", skip_serializing_if = "super::is_default")]
    pub retention: Retention,

    /// Volume of the snapshots.
    #[serde(default, deserialize_with = "super::or_default", skip_serializing_if = "super::is_default")]
    pub storage: BackupStorage,

    /// Object store to which the operator uploads each snapshot once it is verified, or taken where it is not verified. The
    /// files on the volume stay. A prefix belongs to one database. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<SnapshotStore>,

    /// Verification of snapshots.
    #[serde(default, deserialize_with = "super::or_default", skip_serializing_if = "super::is_default")]
    pub verify: Verify,

    /// Seconds that a snapshot may take, and its verification, 10 to 604800. Default: 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 604_800))]
    pub deadline_seconds: Option<i64>,
}

impl Backup {
    /// The schedule, if there is one.
    #[must_use]
    pub fn schedule(&self) -> Option<&str> {
        Some(self.schedule.as_deref().unwrap_or(DEFAULT_SCHEDULE)).filter(|schedule| !schedule.is_empty())
    }
    /// The time zone of the schedule.
    #[must_use]
    pub fn time_zone(&self) -> &str {
        self.time_zone.as_deref().unwrap_or(DEFAULT_TIME_ZONE)
    }
    /// Whether the operator takes a first snapshot at once.
    #[must_use]
    pub fn immediate(&self) -> bool {
        self.immediate.unwrap_or(true)
    }
    /// Seconds after its time that the operator still takes a missed snapshot.
    #[must_use]
    pub fn starting_deadline_seconds(&self) -> i64 {
        self.starting_deadline_seconds.unwrap_or(3600)
    }
    /// Seconds that a snapshot may take.
    #[must_use]
    pub fn deadline_seconds(&self) -> i64 {
        self.deadline_seconds.unwrap_or(3600)
    }
}

/// Method of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Method {
    /// pg_dump, with roles and their passwords; later major versions can restore it.
    #[default]
    Logical,
    /// pg_basebackup and pg_verifybackup; only the same major version can restore it.
    Physical,
}

/// Retention of scheduled snapshots: the operator prunes a snapshot that has `keepLast` newer ones or is older than
/// `maxAge`. It never prunes the newest verified one, nor the newest with a database that later ones lack, unless that
/// has the annotation `example.com/release-snapshot` with its own name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// Maximum number of scheduled snapshots, 1 to 1000. Default: 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub keep_last: Option<i32>,

    /// Maximum age of a scheduled snapshot, such as `30d`; above 0. Default: 30d.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new(LASTING_SPAN).message(
        "backup.retention.maxAge must be a whole number of at most 5 digits, above 0, and a unit (s, m, h, d or w), such as \
         30d"
    ))]
    pub max_age: Option<String>,
}

impl Retention {
    /// Maximum number.
    #[must_use]
    pub fn keep_last(&self) -> i32 {
        self.keep_last.unwrap_or(7)
    }
    /// Maximum age.
    #[must_use]
    pub fn max_age(&self) -> &str {
        self.max_age.as_deref().unwrap_or("30d")
    }
}

/// Separate volume of the snapshots; deleting the SampleDB keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.existingClaim) || (!has(self.size) && !has(self.storageClassName))").message(
    "backup.storage.existingClaim names an existing PVC: omit size and storageClassName"
))]
pub struct BackupStorage {
    /// Size of the volume, 1Mi to 1Pi. Default: 2Gi. Can be increased; a volume never shrinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(bytes("1Mi")).message(
        "backup.storage.size must be a quantity of bytes from 1Mi to 1Pi, such as 20Gi"
    ))]
    pub size: Option<String>,

    /// StorageClass of the volume. Default: the cluster's at creation. Cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message(CLASS_MESSAGE))]
    pub storage_class_name: Option<String>,

    /// Name of your own PVC in the same namespace, which replaces `<name>-snapshots`. Earlier snapshots stay where they
    /// are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message(
        "backup.storage.existingClaim must be the name of a PersistentVolumeClaim in the same namespace"
    ))]
    pub existing_claim: Option<String>,
}

impl BackupStorage {
    /// The requested size.
    #[must_use]
    pub fn size(&self) -> &str {
        self.size.as_deref().unwrap_or(DEFAULT_BACKUP_SIZE)
    }
}

/// Verification of snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verify {
    /// Verification mode: None, Checksum or Restore. Default: Restore, which the final snapshot of a deletion always
    /// uses.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub mode: VerifyMode,

    /// Interval of verification, in scheduled snapshots, 1 to 100. Default: 1, each. The operator verifies unscheduled
    /// snapshots as `mode` says, and final ones always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub every_nth: Option<i32>,

    /// Queries to run in the restored database, at most 16; for `Restore`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub checks: Vec<VerificationCheck>,
}

impl Verify {
    /// Interval of verification, in scheduled snapshots.
    #[must_use]
    pub fn every_nth(&self) -> i32 {
        self.every_nth.unwrap_or(1)
    }
}

/// Mode of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VerifyMode {
    /// No verification.
    None,
    /// A Job reads the files again, and compares them with the recorded checksum.
    Checksum,
    /// A Job also restores it into a throwaway server.
    #[default]
    Restore,
}

/// Query to run in a restored database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationCheck {
    /// Query that returns one row of one column; runs read-only as the database's owner.
    #[schemars(length(min = 1, max = 4096))]
    pub sql: String,
    /// Expected result as text; NULL is the empty text. Default: empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub expect: String,
}

/// Five fields, each a list of `*`, numbers and ranges; `*` and ranges may have a step.
fn cron() -> String {
    let field = |one: &str| {
        let item = format!("([*](/[1-9][0-9]?)?|({one})(-({one})(/[1-9][0-9]?)?)?)");
        format!("{item}(,{item})*")
    };
    let fields = [
        field("[0-5]?[0-9]"),
        field("[01]?[0-9]|2[0-3]"),
        field("0?[1-9]|[12][0-9]|3[01]"),
        field("0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"),
        field("[0-7]|sun|mon|tue|wed|thu|fri|sat"),
    ];
    format!("self == '' || self.matches('(?i)^{}$')", fields.join(" +"))
}

/// The operator sets neither size nor class of a user's PVC.
const FOREIGN: &str = "has(self.backup) && has(self.backup.storage) && has(self.backup.storage.existingClaim) || \
    has(oldSelf.backup) && has(oldSelf.backup.storage) && has(oldSelf.backup.storage.existingClaim)";

pub(super) fn storage_keeps_class() -> String {
    format!("{FOREIGN} || {}", unchanged(&["backup", "storage", "storageClassName"], "''"))
}
