//! Pure: why a pod is failing, with a message that is stable while the cause is: the kubelet alternates between `ErrImagePull`
//! and `ImagePullBackOff`, and between a crash and the backoff after it, and its messages contain seconds.

use api::{PodReason, Reason};

use self::pod_diagnosis::PULL_FAILED;
use self::wire::{WireContainer, WirePod};

mod crash;
mod pod_diagnosis;
mod volume;
pub mod volume_wait;
pub mod wire;

pub use pod_diagnosis::PodDiagnosis;

/// The reasons of containers that do not start without a change.
const NOT_STARTED: [PodReason; 5] = [
    PodReason::ErrImageNeverPull,
    PodReason::InvalidImageName,
    PodReason::CreateContainerConfigError,
    PodReason::CreateContainerError,
    PodReason::RunContainerError,
];

/// Why a pod is failing, if it is. A pod that is being deleted has no diagnosis.
#[must_use]
pub fn of(pod: &WirePod, deleting: bool) -> Option<PodDiagnosis> {
    if deleting {
        return None;
    }
    let containers = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    containers.filter(|c| !c.ready).find_map(|c| container(c, pod.image(c))).or_else(|| unschedulable(pod))
}

fn container(container: &WireContainer, image: &str) -> Option<PodDiagnosis> {
    let Some(waiting) = &container.state.waiting else { return crash::of(container) };
    if waiting.reason.is_one_of(&[PodReason::ErrImagePull, PodReason::ImagePullBackOff]) {
        return Some(unpullable(image, &pull_failure(&waiting.message)));
    }
    // Between two attempts to pull the next image, the kubelet backs off as if the container before had crashed.
    if waiting.reason == PodReason::CrashLoopBackOff && container.succeeded() && is_other(&container.image, image) {
        return Some(unpullable(image, ""));
    }
    if waiting.reason.is_one_of(&NOT_STARTED) {
        let message = format!("container {}: {}", container.name, waiting.message);
        return Some(PodDiagnosis::new(waiting.reason.clone(), message, true));
    }
    crash::of(container)
}

fn unpullable(image: &str, cause: &str) -> PodDiagnosis {
    PodDiagnosis::new(PULL_FAILED, format!("image {image} cannot be pulled{cause}"), true)
}

/// Whether `reported`, the image of a container as the container runtime names it, differs from the `desired` one. False for an
/// image that is named by its digest only.
fn is_other(reported: &str, desired: &str) -> bool {
    let plain = |image: &str| {
        let image = image.trim_start_matches("docker.io/").trim_start_matches("library/");
        let tagged = image.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
        if tagged { image.to_owned() } else { format!("{image}:latest") }
    };
    !reported.is_empty() && !reported.contains("sha256:") && !desired.contains('@') && plain(reported) != plain(desired)
}

/// The cause in a message of the kubelet, without the text that it repeats.
fn pull_failure(message: &str) -> String {
    let cause = message.split_once("ErrImagePull: ").map_or(message, |(_, cause)| cause);
    let cause = if cause.starts_with("Back-off pulling image") { "" } else { cause };
    if cause.is_empty() { String::new() } else { format!(": {cause}") }
}

fn unschedulable(pod: &WirePod) -> Option<PodDiagnosis> {
    let scheduled = pod.status.conditions.iter().find(|c| c.type_ == "PodScheduled" && c.status == "False")?;
    Some(PodDiagnosis::new(Reason::reported(&scheduled.reason), scheduled.message.clone(), false))
}

#[cfg(test)]
mod tests;
