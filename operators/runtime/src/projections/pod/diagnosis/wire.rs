//! Pure: what is read of a pod to tell how it fares.

use api::Reason;
use jiff::Timestamp;
use serde::Deserialize;

use super::volume::WireVolume;
use crate::plan::meta::{INSTANCE, OWNER_KIND, OWNER_UID, Owner, WHOLE};

/// The fields of a pod that tell.
#[derive(Debug, Default, Deserialize)]
pub struct WirePod {
    #[serde(default)]
    pub(super) metadata: WireLabels,
    #[serde(default)]
    pub(super) spec: WireSpec,
    #[serde(default)]
    pub(super) status: WireStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireSpec {
    pub(super) init_containers: Vec<WireImage>,
    pub(super) containers: Vec<WireImage>,
    pub(super) volumes: Vec<WireVolume>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireImage {
    pub(super) name: String,
    pub(super) image: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireLabels {
    #[serde(default)]
    pub(super) labels: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireStatus {
    pub(super) phase: String,
    pub(super) conditions: Vec<WireCondition>,
    pub(super) init_container_statuses: Vec<WireContainer>,
    pub(super) container_statuses: Vec<WireContainer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCondition {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
    #[serde(rename = "lastTransitionTime")]
    pub(super) since: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireContainer {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) ready: bool,
    pub(super) restart_count: i32,
    pub(super) state: WireState,
    pub(super) last_state: WireState,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireState {
    pub(super) running: Option<WireRun>,
    pub(super) waiting: Option<WireReason>,
    pub(super) terminated: Option<WireReason>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireRun {
    pub(super) started_at: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireReason {
    pub(super) reason: Reason,
    pub(super) message: String,
    pub(super) exit_code: i32,
    pub(super) started_at: Option<Timestamp>,
    pub(super) finished_at: Option<Timestamp>,
}

impl WireContainer {
    /// How it ended last, if it has.
    pub(super) fn ended(&self) -> Option<&WireReason> {
        self.state.terminated.as_ref().or(self.last_state.terminated.as_ref())
    }

    pub(super) fn ended_well(&self) -> bool {
        self.ended().is_some_and(|ended| ended.exit_code == 0)
    }
}

impl WirePod {
    /// The image that a container should run; its status may still name the one before.
    pub(super) fn image<'a>(&'a self, container: &'a WireContainer) -> &'a str {
        let mut all = self.spec.init_containers.iter().chain(&self.spec.containers);
        all.find(|of| of.name == container.name).map_or(&container.image, |of| &of.image)
    }

    /// Whether it has ended for good, so that its controller has replaced it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.status.phase.as_str(), "Failed" | "Succeeded")
    }

    /// Whether all that tells how it fares is asked for.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        [WHOLE, OWNER_UID].iter().any(|label| self.metadata.labels.contains_key(*label))
    }

    /// The object that the pod belongs to, by its labels.
    #[must_use]
    pub fn owner(&self) -> Option<Owner> {
        let label = |key| self.metadata.labels.get(key).map(String::as_str);
        Some(Owner { kind: label(OWNER_KIND)?.into(), name: label(INSTANCE)?.into() })
    }
}
