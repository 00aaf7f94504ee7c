//! When and how snapshots are taken, kept and proved.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::storage::{CLASS_MESSAGE, NAME, bytes, unchanged};
use super::time::LASTING_SPAN;

/// When snapshots are taken unless the spec says so.
pub const DEFAULT_SCHEDULE: &str = "0 2 * * *";
/// The time zone of the schedule unless the spec says so.
pub const DEFAULT_TIME_ZONE: &str = "Etc/UTC";
/// The size of the snapshots' volume unless the spec says so.
pub const DEFAULT_BACKUP_SIZE: &str = "2Gi";

/// When and how snapshots are taken, kept and proved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// When snapshots are taken: minute, hour, day of month, month, day of week. Default: `0 2 * * *`. Empty: never by
    /// the clock. Each database starts its own some time later, which follows from its uid: at most a quarter of the time
    /// to the next one, and at most 15 minutes. Of missed times, the latest is made up for within
    /// `startingDeadlineSeconds`; older ones are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    #[x_kube(validation = Rule::new(cron()).message(
        "backup.schedule must be five fields (minute, hour, day of month, month, day of week) such as '0 2 * * *' or \
         '*/15 8-18 * * MON-FRI', or empty for none; seconds and words such as @daily are not known"
    ))]
    pub schedule: Option<String>,

    /// The time zone of the schedule, by its name in the IANA database, such as Europe/Paris. Default: Etc/UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$') && self != 'Local'")
        .message("backup.timeZone must be the name of a time zone, such as Etc/UTC or Europe/Paris"))]
    pub time_zone: Option<String>,

    /// How snapshots are taken. Default: Logical.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub method: Method,

    /// Whether the schedule rests. What was missed meanwhile is not made up for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,

    /// Whether a first snapshot is taken as soon as the database is ready. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub immediate: Option<bool>,

    /// How many seconds after its time a missed snapshot is still taken. Default: 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 604_800))]
    pub starting_deadline_seconds: Option<i64>,

    /// How long the snapshots that the schedule took are kept.
    #[serde(default, deserialize_with = "super::or_default", skip_serializing_if = "super::is_default")]
    pub retention: Retention,

    /// Where snapshots are kept.
    #[serde(default, deserialize_with = "super::or_default", skip_serializing_if = "super::is_default")]
    pub storage: BackupStorage,

    /// How snapshots are proved to be of use.
    #[serde(default, deserialize_with = "super::or_default", skip_serializing_if = "super::is_default")]
    pub verify: Verify,

    /// How many seconds a snapshot, or its verification, may take. Default: 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 604_800))]
    pub deadline_seconds: Option<i64>,
}

impl Backup {
    /// When snapshots are taken, if by the clock.
    #[must_use]
    pub fn schedule(&self) -> Option<&str> {
        Some(self.schedule.as_deref().unwrap_or(DEFAULT_SCHEDULE)).filter(|schedule| !schedule.is_empty())
    }
    /// The time zone of the schedule.
    #[must_use]
    pub fn time_zone(&self) -> &str {
        self.time_zone.as_deref().unwrap_or(DEFAULT_TIME_ZONE)
    }
    /// Whether a first snapshot is taken at once.
    #[must_use]
    pub fn immediate(&self) -> bool {
        self.immediate.unwrap_or(true)
    }
    /// How many seconds after its time a missed snapshot is still taken.
    #[must_use]
    pub fn starting_deadline_seconds(&self) -> i64 {
        self.starting_deadline_seconds.unwrap_or(3600)
    }
    /// How many seconds a snapshot may take.
    #[must_use]
    pub fn deadline_seconds(&self) -> i64 {
        self.deadline_seconds.unwrap_or(3600)
    }
}

/// How a snapshot is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Method {
    /// By pg_dump, with roles and their passwords: it can be restored into later major versions.
    #[default]
    Logical,
    /// By pg_basebackup and pg_verifybackup: it can be restored into the same major version only.
    Physical,
}

/// How long the snapshots that the schedule took are kept: each until there are `keepLast` newer ones or it is older
/// than `maxAge`, whichever comes first. Never pruned are the newest verified one, and the newest that holds a database which
/// later ones lack, unless it has the annotation `example.com/release-snapshot` with its own name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// How many are kept. Default: 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub keep_last: Option<i32>,

    /// How old they may become, for example `30d`. Default: 30d.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new(LASTING_SPAN).message(
        "backup.retention.maxAge must be a whole number of at most 5 digits, above 0, and a unit (s, m, h, d or w), such as \
         30d"
    ))]
    pub max_age: Option<String>,
}

impl Retention {
    /// How many are kept.
    #[must_use]
    pub fn keep_last(&self) -> i32 {
        self.keep_last.unwrap_or(7)
    }
    /// How old they may become.
    #[must_use]
    pub fn max_age(&self) -> &str {
        self.max_age.as_deref().unwrap_or("30d")
    }
}

/// Where snapshots are kept: a volume of its own, which is not deleted with the SampleDB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.existingClaim) || (!has(self.size) && !has(self.storageClassName))").message(
    "backup.storage.existingClaim names a volume that you made: leave size and storageClassName out"
))]
pub struct BackupStorage {
    /// The size of the volume, a quantity of bytes. Default: 2Gi. It may grow later; a volume never shrinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(bytes("1Mi")).message(
        "backup.storage.size must be a quantity of bytes from 1Mi to 1Pi, such as 20Gi"
    ))]
    pub size: Option<String>,

    /// The StorageClass of the volume. Unset: the default one at creation. Cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message(CLASS_MESSAGE))]
    pub storage_class_name: Option<String>,

    /// A PersistentVolumeClaim of the same namespace that you made, instead of `<name>-snapshots`. Snapshots that were
    /// taken before stay where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message(
        "backup.storage.existingClaim must be the name of a PersistentVolumeClaim of the same namespace"
    ))]
    pub existing_claim: Option<String>,
}

impl BackupStorage {
    /// The size asked for.
    #[must_use]
    pub fn size(&self) -> &str {
        self.size.as_deref().unwrap_or(DEFAULT_BACKUP_SIZE)
    }
}

/// How snapshots are proved to be of use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verify {
    /// What is done. Default: Restore, which is also done with the final snapshot of a deletion, whatever this says.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub mode: VerifyMode,

    /// Every how many of the schedule's snapshots one is verified. Default: 1, each. Others are as they are asked for;
    /// final ones are always verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub every_nth: Option<i32>,

    /// What to ask of the restored database, with `Restore`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub checks: Vec<Check>,
}

impl Verify {
    /// Every how many of the schedule's snapshots one is verified.
    #[must_use]
    pub fn every_nth(&self) -> i32 {
        self.every_nth.unwrap_or(1)
    }
}

/// How a snapshot is proved to be of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VerifyMode {
    /// Not at all.
    None,
    /// Its files are read again, and compared with the sum that was taken of them.
    Checksum,
    /// It is also restored into a server that is thrown away.
    #[default]
    Restore,
}

/// What to ask of a restored database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// A query, run as the database's owner and read only, that gives one row of one column.
    #[schemars(length(min = 1, max = 4096))]
    pub sql: String,
    /// What it must give, as text; for a NULL, the empty text.
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

/// Of a volume that somebody else made, neither size nor class are ours.
const FOREIGN: &str = "has(self.backup) && has(self.backup.storage) && has(self.backup.storage.existingClaim) || \
    has(oldSelf.backup) && has(oldSelf.backup.storage) && has(oldSelf.backup.storage.existingClaim)";

pub(super) fn storage_keeps_class() -> String {
    format!("{FOREIGN} || {}", unchanged(&["backup", "storage", "storageClassName"], "''"))
}
