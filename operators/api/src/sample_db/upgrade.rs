//! How the database gets from one version of PostgreSQL to another.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NotBuilt;
use super::time::SPAN;

/// How the database gets from one version of PostgreSQL to another. A major version moves only by an edit of
/// `engine`; a minor one as `policy` says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// Whether an old version that is seen running is upgraded. Default: Auto.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub policy: UpgradePolicy,

    /// How a major upgrade is done. Default: DumpRestore, the only one that is built.
    #[serde(default, skip_serializing_if = "super::is_default")]
    #[x_kube(validation = Rule::new("self != 'InPlace'").message(
        "upgrade.strategy InPlace is not built yet: leave it out or give DumpRestore"
    ))]
    pub strategy: Strategy,

    /// When upgrades may run. Not built yet: refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(validation = Rule::new("size(self) == 0").message(
        "upgrade.windows are not built yet: leave the list out or empty; with upgrade.policy Manual nothing runs by itself"
    ))]
    pub windows: Vec<NotBuilt>,

    /// Whether a snapshot is taken before an upgrade. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_before: Option<bool>,

    /// Whether a major upgrade that fails goes back to the old version by itself. Default: true. If false, the database
    /// stays closed for a person to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_on_failure: Option<bool>,

    /// How long the volume of the old version is kept after a major upgrade, for example `24h`. Default: 24h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new(SPAN).message(
        "upgrade.keepPreviousVolumeFor must be a whole number of at most 5 digits and a unit (s, m, h, d or w), such as 24h"
    ))]
    pub keep_previous_volume_for: Option<String>,
}

impl Upgrade {
    /// Whether a snapshot is taken before an upgrade.
    #[must_use]
    pub fn snapshot_before(&self) -> bool {
        self.snapshot_before.unwrap_or(true)
    }
    /// Whether a major upgrade that fails goes back by itself.
    #[must_use]
    pub fn rollback_on_failure(&self) -> bool {
        self.rollback_on_failure.unwrap_or(true)
    }
    /// How long the old volume is kept.
    #[must_use]
    pub fn keep_previous_volume_for(&self) -> &str {
        self.keep_previous_volume_for.as_deref().unwrap_or("24h")
    }
}

/// Whether an old version that is seen running is upgraded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpgradePolicy {
    /// It is, at once.
    #[default]
    Auto,
    /// It is only told: condition UpToDate=False.
    Manual,
}

/// How a major upgrade is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// Dumped by the old version, restored into a new volume under the new one.
    #[default]
    DumpRestore,
    /// By pg_upgrade, in the same volume. Not built yet: refused.
    InPlace,
}
