//! Defragmentation of databases: etcd keeps the space of deleted and compacted keys until then.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::LASTING_SPAN;

/// The annotation that defragments the databases of all members, once for each new value.
pub const DEFRAGMENT: &str = "example.com/defragment";

/// The default of [`EtcdDefragmentation::unused_percent`].
const UNUSED_PERCENT: i32 = 50;

/// When the operator defragments databases by itself: one member after the other, the leader last, and only while all are healthy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdDefragmentation {
    /// Percentage of a database that etcd has to report as not in use. Less than 16 MiB never count, and no database is
    /// defragmented twice within an hour. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 95))]
    pub unused_percent: Option<i32>,

    /// When to begin. Default: at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<MaintenanceWindow>,
}

impl EtcdDefragmentation {
    /// The percentage of a database that is not in use.
    #[must_use]
    pub fn unused_percent(&self) -> i64 {
        self.unused_percent.unwrap_or(UNUSED_PERCENT).into()
    }
}

/// A time that recurs, in which work that clients notice may begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaintenanceWindow {
    /// When it begins: five cron fields, such as `0 2 * * 6` for Saturday at two.
    #[schemars(length(min = 9, max = 100))]
    pub schedule: String,

    /// Time zone of the schedule, such as `Europe/Berlin`. Default: Etc/UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: Option<String>,

    /// How long it lasts, such as `2h`.
    #[schemars(length(max = 6))]
    #[x_kube(validation = Rule::new(LASTING_SPAN).message(
        "duration must be a whole number above 0 and a unit: s, m, h, d or w, such as 2h"
    ))]
    pub duration: String,
}

/// The last defragmentation that a user requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdDefragmentationStatus {
    /// Value of the annotation that requested it.
    pub request: String,
    /// Members whose databases are still to be defragmented.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
}
