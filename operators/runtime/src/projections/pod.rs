//! Pure: our Pods. Of those that controllers of Kubernetes run and count, the cache keeps only pods with a diagnosis, and those
//! of a ReplicaSet that wait for their volumes. Pods that one of our objects controls directly, or that have a certain label, are
//! kept with details.

use std::collections::BTreeMap;

use api::PodReason;
use jiff::Timestamp;
use serde::Deserialize;
use tokio::time::Instant;

use self::diagnosis::volume_wait;
use self::diagnosis::wire::{WireContainer, WirePod, WireState};
use crate::cache::Projection;
use crate::plan::meta::{Meta, Owner, ResourceKind};

pub use self::diagnosis::PodDiagnosis;
pub use self::diagnosis::volume_wait::VolumeWait;

mod diagnosis;

/// A pod that is failing, waits for its volumes, or has details.
#[derive(Debug)]
pub struct Pod {
    /// Its metadata.
    pub meta: Meta,
    owner: Option<Owner>,
    /// Why it is failing, if it is.
    pub diagnosis: Option<PodDiagnosis>,
    /// The volumes that it waits for, if a ReplicaSet controls it.
    pub volume_wait: Option<VolumeWait>,
    /// Its details, if one of our objects controls it directly, or a label asks for them.
    pub details: Option<Box<PodDetails>>,
}

/// The details of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDetails {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its IP address.
    pub ip: Option<Box<str>>,
    /// The node that it is scheduled to.
    pub node: Option<Box<str>>,
    /// Whether its phase is terminal, as after an eviction or a node shutdown: its containers do not start again.
    pub terminal: bool,
    /// The reason and the message of its terminal phase.
    pub failure: Option<Box<str>>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When its deletion is due, including the grace period, if it is being deleted.
    pub deleted: Option<Timestamp>,
    /// Whether it is ready.
    pub ready: bool,
    /// Since when it is ready or not ready.
    pub ready_since: Option<Timestamp>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its containers, init containers first.
    pub containers: Vec<ContainerStatus>,
}

impl PodDetails {
    /// One of its containers.
    #[must_use]
    pub fn container(&self, name: &str) -> Option<&ContainerStatus> {
        self.containers.iter().find(|container| &*container.name == name)
    }
}

/// The state of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerStatus {
    /// Its name.
    pub name: Box<str>,
    /// Its image, as the kubelet reports it.
    pub image: Box<str>,
    /// Whether it runs now.
    pub running: bool,
    /// Since when it runs.
    pub since: Option<Timestamp>,
    /// The number of its restarts.
    pub restarts: i32,
    /// Whether the kubelet waits before it restarts the container, because it has ended repeatedly.
    pub in_backoff: bool,
    /// Its last termination.
    pub terminated: Option<Terminated>,
}

/// The termination of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminated {
    /// Its exit code.
    pub code: i32,
    /// Its termination message.
    pub message: Box<str>,
}

impl Projection for Pod {
    const KIND: ResourceKind = ResourceKind { group: "", version: "v1", kind: "Pod", plural: "pods" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        Self::read(json, false)
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref().or_else(|| self.meta.controller.as_ref().map(|c| &c.owner))
    }

    fn has_same_content(&self, before: &Self) -> bool {
        self.diagnosis == before.diagnosis && self.volume_wait == before.volume_wait && self.details == before.details
    }

    fn carry_over(&mut self, before: Option<&Self>, _now: Instant) {
        if let (Some(now), Some(before)) = (&mut self.diagnosis, before.and_then(|before| before.diagnosis.as_ref())) {
            now.carry_over(before);
        }
    }

    fn is_retained(&self) -> bool {
        self.diagnosis.is_some() || self.volume_wait.is_some() || self.details.is_some()
    }
}

impl Pod {
    /// Reads a pod with its details, whatever its labels are.
    ///
    /// # Errors
    /// If the pod has an unexpected shape.
    pub fn with_details(json: &str) -> serde_json::Result<Self> {
        Self::read(json, true)
    }

    fn read(json: &str, with_details: bool) -> serde_json::Result<Self> {
        let pod: WirePod = serde_json::from_str(json)?;
        let meta = Meta::of_object(json)?;
        let owner = Owner::from_labels(&pod.metadata.labels);
        let direct = owner.is_some() && owner.as_ref() == meta.controller.as_ref().map(|c| &c.owner);
        let of_replica_set = meta.controller.as_ref().is_some_and(|c| &*c.owner.kind == "ReplicaSet.apps");
        // A ReplicaSet does not count a pod in a terminal phase, and creates another one.
        let diagnosis = diagnosis::of(&pod, meta.deleting).filter(|_| !(of_replica_set && pod.is_terminal()));
        let waits = diagnosis.is_none() && owner.is_some() && of_replica_set;
        let volume_wait = if waits { volume_wait::of(&pod, meta.deleting) } else { None };
        let has_details = with_details || direct || pod.keeps_details();
        let details = if has_details { Some(Box::new(PodDetails::of(pod, serde_json::from_str(json)?))) } else { None };
        Ok(Self { owner, diagnosis, volume_wait, details, meta })
    }
}

/// The fields of a pod that only its details need, in addition to [`WirePod`].
#[derive(Deserialize)]
struct WireDetails {
    metadata: DetailMetadata,
    #[serde(default)]
    spec: DetailSpec,
    #[serde(default)]
    status: DetailStatus,
}

#[derive(Deserialize)]
struct DetailMetadata {
    #[serde(default, rename = "creationTimestamp")]
    created: Option<Timestamp>,
    #[serde(default, rename = "deletionTimestamp")]
    deleted: Option<Timestamp>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DetailSpec {
    node_name: Option<Box<str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DetailStatus {
    reason: Box<str>,
    message: Box<str>,
    #[serde(rename = "podIP")]
    pod_ip: Option<Box<str>>,
}

impl PodDetails {
    fn of(pod: WirePod, WireDetails { metadata, spec, status }: WireDetails) -> Self {
        let terminal = pod.is_terminal();
        let failure = match (&*status.reason, &*status.message) {
            ("", _) => None,
            (reason, "") => Some(reason.into()),
            (reason, message) => Some(format!("{reason}: {message}").into()),
        };
        let ready = pod.status.conditions.iter().find(|condition| condition.type_ == "Ready");
        Self {
            ip: status.pod_ip,
            node: spec.node_name,
            terminal,
            failure: failure.filter(|_| terminal),
            created: metadata.created,
            deleted: metadata.deleted,
            ready: ready.is_some_and(|ready| ready.status == "True"),
            ready_since: ready.and_then(|ready| ready.since),
            labels: pod.metadata.labels,
            annotations: metadata.annotations,
            containers: pod
                .status
                .init_container_statuses
                .into_iter()
                .chain(pod.status.container_statuses)
                .map(ContainerStatus::from)
                .collect(),
        }
    }
}

impl From<WireContainer> for ContainerStatus {
    fn from(wire: WireContainer) -> Self {
        let WireState { running, waiting, terminated } = wire.state;
        let ended = terminated.or(wire.last_state.terminated);
        Self {
            name: wire.name.into(),
            image: wire.image.into(),
            running: running.is_some(),
            since: running.and_then(|run| run.started_at),
            restarts: wire.restart_count,
            in_backoff: waiting.is_some_and(|waiting| waiting.reason == PodReason::CrashLoopBackOff),
            terminated: ended.map(|ended| Terminated { code: ended.exit_code, message: ended.message.into() }),
        }
    }
}

#[cfg(test)]
mod tests;
