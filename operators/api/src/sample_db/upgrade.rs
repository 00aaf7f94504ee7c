//! Upgrades of the PostgreSQL version.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reserved;
use crate::time::SPAN;

/// Upgrades of the PostgreSQL version. The major version changes only by an edit of `engine`; `policy` decides on minor
/// releases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// Upgrade policy: Auto upgrades at once, Manual only reports. Default: Auto.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub policy: UpgradePolicy,

    /// Method of a major upgrade. Default: DumpRestore, the only one.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub strategy: UpgradeStrategy,

    /// Maintenance windows. Not supported yet: rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(validation = Rule::new("size(self) == 0").message(
        "upgrade.windows are not supported yet: omit the list or leave it empty; with upgrade.policy Manual, the \
         operator starts no upgrade by itself"
    ))]
    pub windows: Vec<Reserved>,

    /// Takes a snapshot before an upgrade. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_before: Option<bool>,

    /// Rolls a failed major upgrade back to the old version. Default: true. If false, clients stay blocked, so that an
    /// administrator can inspect the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_on_failure: Option<bool>,

    /// Retention time of the old version's volume after a major upgrade, such as `24h`. Default: 24h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new(SPAN).message(
        "upgrade.keepPreviousVolumeFor must be a whole number of at most 5 digits and a unit (s, m, h, d or w), such as 24h"
    ))]
    pub keep_previous_volume_for: Option<String>,
}

impl Upgrade {
    /// Whether the operator takes a snapshot before an upgrade.
    #[must_use]
    pub fn snapshot_before(&self) -> bool {
        self.snapshot_before.unwrap_or(true)
    }
    /// Whether the operator rolls a failed major upgrade back.
    #[must_use]
    pub fn rollback_on_failure(&self) -> bool {
        self.rollback_on_failure.unwrap_or(true)
    }
    /// Retention time of the old volume.
    #[must_use]
    pub fn keep_previous_volume_for(&self) -> &str {
        self.keep_previous_volume_for.as_deref().unwrap_or("24h")
    }
}

/// Whether the operator upgrades an old version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpgradePolicy {
    /// The operator upgrades it at once.
    #[default]
    Auto,
    /// The operator only reports it: UpToDate=False.
    Manual,
}

/// Method of a major upgrade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeStrategy {
    /// Dump from the old version, restore into a new volume under the new one.
    #[default]
    // Releases up to 0.0.9 also declared InPlace. They rejected it, but an object that has it nevertheless stays readable.
    #[serde(alias = "InPlace")]
    DumpRestore,
}
