//! What keeps a pod from serving, in words that stay the same while the trouble does: kubelet alternates between
//! `ErrImagePull` and `ImagePullBackOff`, and between a crash and the wait after it, and counts seconds in its messages.

use std::time::Duration;

use api::{PodReason, Reason};
use jiff::Timestamp;
use serde::Deserialize;

use super::meta::{INSTANCE, OWNER_KIND, OWNER_UID, Owner, WHOLE};

mod crash;
pub mod starting;

/// What is wrong with a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// In one CamelCase word, as kubelet or the scheduler names it.
    pub reason: Reason,
    /// In words, without the pod's name.
    pub message: String,
    /// Whether it will not go away by itself.
    pub lasting: bool,
    /// When it is over unless something changes before: a container that runs for longer than it did before it ended is in no
    /// loop any more.
    pub until: Option<Timestamp>,
}

impl Trouble {
    /// One that no time ends.
    fn new(reason: impl Into<Reason>, message: String, lasting: bool) -> Self {
        Self { reason: reason.into(), message, lasting, until: None }
    }

    /// Whether the scheduler finds no node for the pod, as nodes are now.
    #[must_use]
    pub fn is_homeless(&self) -> bool {
        self.reason == PodReason::Unschedulable
    }

    /// Whether the image cannot be had.
    #[must_use]
    pub fn is_of_image(&self) -> bool {
        self.reason.is_one_of(&[PULL, PodReason::ErrImageNeverPull, PodReason::InvalidImageName])
    }

    /// For how long it still holds by itself, if a time ends it; nothing is left of it then.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        self.until.map(|until| Duration::try_from(until.duration_since(now)).unwrap_or_default())
    }

    /// Takes over from `before` what kubelet does not tell at every moment: why an image cannot be pulled.
    pub fn remember(&mut self, before: &Self) {
        let same = self.reason == before.reason && self.reason == PULL;
        if same && before.message.strip_prefix(&*self.message).is_some_and(|cause| cause.starts_with(": ")) {
            self.message.clone_from(&before.message);
        }
    }
}

/// The reason of an image that cannot be pulled.
const PULL: PodReason = PodReason::ImagePullBackOff;

/// Why a container waits that does not start by itself.
const NOT_STARTED: [PodReason; 5] = [
    PodReason::ErrImageNeverPull,
    PodReason::InvalidImageName,
    PodReason::CreateContainerConfigError,
    PodReason::CreateContainerError,
    PodReason::RunContainerError,
];

/// The fields of a pod that tell.
#[derive(Debug, Default, Deserialize)]
pub struct WirePod {
    #[serde(default)]
    metadata: WireLabels,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    init_containers: Vec<WireImage>,
    containers: Vec<WireImage>,
    volumes: Vec<starting::WireVolume>,
}

#[derive(Debug, Deserialize)]
struct WireImage {
    name: String,
    image: String,
}

#[derive(Debug, Default, Deserialize)]
struct WireLabels {
    #[serde(default)]
    labels: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    phase: String,
    conditions: Vec<WireCondition>,
    init_container_statuses: Vec<WireContainer>,
    container_statuses: Vec<WireContainer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: String,
    message: String,
    #[serde(rename = "lastTransitionTime")]
    since: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireContainer {
    name: String,
    image: String,
    ready: bool,
    restart_count: i32,
    state: WireState,
    last_state: WireState,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireState {
    running: Option<WireRun>,
    waiting: Option<WireReason>,
    terminated: Option<WireReason>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRun {
    started_at: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireReason {
    reason: Reason,
    message: String,
    exit_code: i32,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
}

impl WireContainer {
    /// How it ended last, if it has.
    fn ended(&self) -> Option<&WireReason> {
        self.state.terminated.as_ref().or(self.last_state.terminated.as_ref())
    }

    fn ended_well(&self) -> bool {
        self.ended().is_some_and(|ended| ended.exit_code == 0)
    }
}

impl WirePod {
    /// The image that a container should run; its status may still name the one before.
    fn image<'a>(&'a self, container: &'a WireContainer) -> &'a str {
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

/// What is wrong with a pod, if anything. A pod that is being deleted is nobody's trouble.
#[must_use]
pub fn of(pod: &WirePod, deleting: bool) -> Option<Trouble> {
    if deleting {
        return None;
    }
    let containers = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    containers.filter(|c| !c.ready).find_map(|c| container(c, pod.image(c))).or_else(|| unschedulable(pod))
}

fn container(container: &WireContainer, image: &str) -> Option<Trouble> {
    let Some(waiting) = &container.state.waiting else { return crash::of(container) };
    if waiting.reason.is_one_of(&[PodReason::ErrImagePull, PodReason::ImagePullBackOff]) {
        return Some(unpullable(image, &pull_failure(&waiting.message)));
    }
    // Between two attempts to pull the next image kubelet backs off as if the container before had crashed.
    if waiting.reason == PodReason::CrashLoopBackOff && container.ended_well() && is_other(&container.image, image) {
        return Some(unpullable(image, ""));
    }
    if waiting.reason.is_one_of(&NOT_STARTED) {
        let message = format!("container {}: {}", container.name, waiting.message);
        return Some(Trouble::new(waiting.reason.clone(), message, true));
    }
    crash::of(container)
}

fn unpullable(image: &str, cause: &str) -> Trouble {
    Trouble::new(PULL, format!("image {image} cannot be pulled{cause}"), true)
}

/// Whether `told`, the image of a container as its runtime names it, is another than the one `wanted`. Of an image that is
/// named by its digest alone that cannot be said.
fn is_other(told: &str, wanted: &str) -> bool {
    let plain = |image: &str| {
        let image = image.trim_start_matches("docker.io/").trim_start_matches("library/");
        let tagged = image.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
        if tagged { image.to_owned() } else { format!("{image}:latest") }
    };
    !told.is_empty() && !told.contains("sha256:") && !wanted.contains('@') && plain(told) != plain(wanted)
}

/// The cause in a message of kubelet's, without the words it repeats around it.
fn pull_failure(message: &str) -> String {
    let cause = message.split_once("ErrImagePull: ").map_or(message, |(_, cause)| cause);
    let cause = if cause.starts_with("Back-off pulling image") { "" } else { cause };
    if cause.is_empty() { String::new() } else { format!(": {cause}") }
}

fn unschedulable(pod: &WirePod) -> Option<Trouble> {
    let scheduled = pod.status.conditions.iter().find(|c| c.type_ == "PodScheduled" && c.status == "False")?;
    Some(Trouble::new(Reason::reported(&scheduled.reason), scheduled.message.clone(), false))
}

#[cfg(test)]
mod tests;
