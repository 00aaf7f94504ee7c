//! Pure: Pods of ours. Of those that Kubernetes' own controllers run, which count them, only those with a diagnosis are kept, and
//! those of a ReplicaSet that wait for their volumes; pods that one of our objects controls itself, or whose label asks for it,
//! are kept with all that tells how they fare.

use api::{PodReason, Reason};
use std::collections::BTreeMap;
use std::time::Instant;

use jiff::Timestamp;
use serde::Deserialize;

use self::diagnosis::{WirePod, starting};
use crate::cache::Projection;
use crate::plan::meta::{Kind, Meta, Owner};

pub use self::diagnosis::PodDiagnosis;
pub use self::diagnosis::starting::Starting;

mod diagnosis;

/// A pod with a diagnosis, or one that our object controls itself.
#[derive(Debug)]
pub struct Pod {
    /// Who it is.
    pub meta: Meta,
    owner: Option<Owner>,
    /// What is wrong.
    pub diagnosis: Option<PodDiagnosis>,
    /// What volumes it waits for, if a ReplicaSet controls it.
    pub starting: Option<Starting>,
    /// How it fares, if one of our objects controls it itself, or its label asks for that.
    pub running: Option<Box<Running>>,
}

/// How a pod fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its address.
    pub ip: Option<Box<str>>,
    /// The node that it was given to.
    pub node: Option<Box<str>>,
    /// Whether it has ended for good (an eviction, a node that was shut down): its containers are not started again.
    pub over: bool,
    /// Why it has, as whoever ended it says: reason and message.
    pub failure: Option<Box<str>>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it is to be gone, if it is being deleted: the time that it is given for that included.
    pub deleted: Option<Timestamp>,
    /// Whether it is ready.
    pub ready: bool,
    /// Since when it is ready, or is not.
    pub ready_since: Option<Timestamp>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its containers, those of the init steps first.
    pub containers: Vec<Container>,
}

impl Running {
    /// One of its containers.
    #[must_use]
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|container| &*container.name == name)
    }
}

/// How a container fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: Box<str>,
    /// The image that it runs, as the kubelet tells.
    pub image: Box<str>,
    /// Whether it runs now.
    pub running: bool,
    /// Since when it runs.
    pub since: Option<Timestamp>,
    /// How often it was started again.
    pub restarts: i32,
    /// Whether the kubelet waits before it starts it again, because it has ended soon, and more than once.
    pub backs_off: bool,
    /// How it ended last.
    pub ended: Option<Ended>,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code.
    pub code: i32,
    /// What it left as its last words.
    pub message: Box<str>,
}

impl Projection for Pod {
    const KIND: Kind = Kind { group: "", version: "v1", kind: "Pod", plural: "pods" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let pod: WirePod = serde_json::from_str(json)?;
        let meta = meta_of(json)?;
        let owner = pod.owner();
        let direct = owner.is_some() && owner.as_ref() == meta.controller.as_ref().map(|c| &c.owner);
        let running = if direct || pod.is_whole() { Some(running(json)?) } else { None };
        let of_replica_set = meta.controller.as_ref().is_some_and(|c| &*c.owner.kind == "ReplicaSet.apps");
        // A ReplicaSet counts no pod that has ended for good, and has another one made.
        let diagnosis = diagnosis::of(&pod, meta.deleting).filter(|_| !(of_replica_set && pod.is_over()));
        let waits = diagnosis.is_none() && owner.is_some() && of_replica_set;
        let starting = if waits { starting::of(&pod, meta.deleting) } else { None };
        Ok(Self { owner, diagnosis, starting, running, meta })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref().or_else(|| self.meta.controller.as_ref().map(|c| &c.owner))
    }

    fn same(&self, before: &Self) -> bool {
        self.diagnosis == before.diagnosis && self.starting == before.starting && self.running == before.running
    }

    fn carry_over(&mut self, before: Option<&Self>, _now: Instant) {
        if let (Some(now), Some(before)) = (&mut self.diagnosis, before.and_then(|before| before.diagnosis.as_ref())) {
            now.remember(before);
        }
    }

    fn kept(&self) -> bool {
        self.diagnosis.is_some() || self.starting.is_some() || self.running.is_some()
    }
}

impl Pod {
    /// A pod that was read by its name, with its whole state, whatever its labels are.
    ///
    /// # Errors
    /// If it is not of the shape expected.
    pub fn whole(json: &str) -> serde_json::Result<Self> {
        Ok(Self { running: Some(running(json)?), ..Self::decode(json)? })
    }
}

fn meta_of(json: &str) -> serde_json::Result<Meta> {
    #[derive(Deserialize)]
    struct Wire {
        metadata: Meta,
    }
    Ok(serde_json::from_str::<Wire>(json)?.metadata)
}

fn running(json: &str) -> serde_json::Result<Box<Running>> {
    Ok(Box::new(serde_json::from_str::<WireRunning>(json)?.into()))
}

#[derive(Deserialize)]
struct WireRunning {
    metadata: Annotated,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Deserialize)]
struct Annotated {
    #[serde(default, rename = "creationTimestamp")]
    created: Option<Timestamp>,
    #[serde(default, rename = "deletionTimestamp")]
    deleted: Option<Timestamp>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    node_name: Option<Box<str>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    phase: Box<str>,
    reason: Box<str>,
    message: Box<str>,
    #[serde(rename = "podIP")]
    pod_ip: Option<Box<str>>,
    conditions: Vec<WireCondition>,
    init_container_statuses: Vec<WireContainer>,
    container_statuses: Vec<WireContainer>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    #[serde(rename = "lastTransitionTime")]
    since: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireContainer {
    name: Box<str>,
    image: Box<str>,
    restart_count: i32,
    state: WireState,
    last_state: WireState,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireState {
    running: Option<WireRun>,
    waiting: Option<WireWait>,
    terminated: Option<WireEnded>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRun {
    started_at: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireWait {
    reason: Reason,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireEnded {
    exit_code: i32,
    message: Box<str>,
}

impl From<WireRunning> for Running {
    fn from(WireRunning { metadata, spec, status }: WireRunning) -> Self {
        let containers = status.init_container_statuses.into_iter().chain(status.container_statuses);
        let over = matches!(&*status.phase, "Failed" | "Succeeded");
        let failure = match (&*status.reason, &*status.message) {
            ("", _) => None,
            (reason, "") => Some(reason.into()),
            (reason, message) => Some(format!("{reason}: {message}").into()),
        };
        let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
        Self {
            ip: status.pod_ip,
            node: spec.node_name,
            over,
            failure: failure.filter(|_| over),
            created: metadata.created,
            deleted: metadata.deleted,
            ready: ready.is_some_and(|ready| ready.status == "True"),
            ready_since: ready.and_then(|ready| ready.since),
            labels: metadata.labels,
            annotations: metadata.annotations,
            containers: containers.map(Container::from).collect(),
        }
    }
}

impl From<WireContainer> for Container {
    fn from(wire: WireContainer) -> Self {
        let WireState { running, waiting, terminated } = wire.state;
        let ended = terminated.or(wire.last_state.terminated);
        Self {
            name: wire.name,
            image: wire.image,
            running: running.is_some(),
            since: running.and_then(|run| run.started_at),
            restarts: wire.restart_count,
            backs_off: waiting.is_some_and(|waiting| waiting.reason == PodReason::CrashLoopBackOff),
            ended: ended.map(|ended| Ended { code: ended.exit_code, message: ended.message }),
        }
    }
}

#[cfg(test)]
mod tests;
