//! Pure: the fields of a pod that its diagnosis and its details need.

use std::collections::BTreeMap;

use api::Reason;
use jiff::Timestamp;
use serde::Deserialize;

use super::volume::WireVolume;
use crate::plan::meta::{KEEP_DETAILS, OWNER_UID};

/// A pod as the API server sends it.
#[derive(Debug, Default, Deserialize)]
pub(in crate::projections::pod) struct WirePod {
    #[serde(default)]
    pub(in crate::projections::pod) metadata: WireLabels,
    #[serde(default)]
    pub(in crate::projections::pod) spec: WireSpec,
    #[serde(default)]
    pub(in crate::projections::pod) status: WireStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::projections::pod) struct WireSpec {
    pub(in crate::projections::pod) init_containers: Vec<WireImage>,
    pub(in crate::projections::pod) containers: Vec<WireImage>,
    pub(in crate::projections::pod) volumes: Vec<WireVolume>,
}

#[derive(Debug, Deserialize)]
pub(in crate::projections::pod) struct WireImage {
    pub(in crate::projections::pod) name: String,
    pub(in crate::projections::pod) image: String,
}

#[derive(Debug, Default, Deserialize)]
pub(in crate::projections::pod) struct WireLabels {
    #[serde(default)]
    pub(in crate::projections::pod) labels: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::projections::pod) struct WireStatus {
    pub(in crate::projections::pod) phase: String,
    pub(in crate::projections::pod) conditions: Vec<WireCondition>,
    pub(in crate::projections::pod) init_container_statuses: Vec<WireContainer>,
    pub(in crate::projections::pod) container_statuses: Vec<WireContainer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::projections::pod) struct WireCondition {
    #[serde(rename = "type")]
    pub(in crate::projections::pod) type_: String,
    pub(in crate::projections::pod) status: String,
    pub(in crate::projections::pod) reason: String,
    pub(in crate::projections::pod) message: String,
    #[serde(rename = "lastTransitionTime")]
    pub(in crate::projections::pod) since: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::projections::pod) struct WireContainer {
    pub(in crate::projections::pod) name: String,
    pub(in crate::projections::pod) image: String,
    pub(in crate::projections::pod) ready: bool,
    pub(in crate::projections::pod) restart_count: i32,
    pub(in crate::projections::pod) state: WireState,
    pub(in crate::projections::pod) last_state: WireState,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::projections::pod) struct WireState {
    pub(in crate::projections::pod) running: Option<WireRun>,
    pub(in crate::projections::pod) waiting: Option<WireReason>,
    pub(in crate::projections::pod) terminated: Option<WireReason>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::projections::pod) struct WireRun {
    pub(in crate::projections::pod) started_at: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::projections::pod) struct WireReason {
    pub(in crate::projections::pod) reason: Reason,
    pub(in crate::projections::pod) message: String,
    pub(in crate::projections::pod) exit_code: i32,
    pub(in crate::projections::pod) started_at: Option<Timestamp>,
    pub(in crate::projections::pod) finished_at: Option<Timestamp>,
}

impl WireContainer {
    /// Its last termination.
    pub(in crate::projections::pod) fn ended(&self) -> Option<&WireReason> {
        self.state.terminated.as_ref().or(self.last_state.terminated.as_ref())
    }

    pub(in crate::projections::pod) fn succeeded(&self) -> bool {
        self.ended().is_some_and(|ended| ended.exit_code == 0)
    }
}

impl WirePod {
    /// The desired image of a container; its status may still name the one before.
    pub(in crate::projections::pod) fn image<'a>(&'a self, container: &'a WireContainer) -> &'a str {
        let mut all = self.spec.init_containers.iter().chain(&self.spec.containers);
        all.find(|of| of.name == container.name).map_or(&container.image, |of| &of.image)
    }

    /// Whether it is in a terminal phase: its containers do not start again.
    pub(in crate::projections::pod) fn is_terminal(&self) -> bool {
        matches!(self.status.phase.as_str(), "Failed" | "Succeeded")
    }

    /// Whether a label asks for its details.
    pub(in crate::projections::pod) fn keeps_details(&self) -> bool {
        [KEEP_DETAILS, OWNER_UID].iter().any(|label| self.metadata.labels.contains_key(*label))
    }
}
