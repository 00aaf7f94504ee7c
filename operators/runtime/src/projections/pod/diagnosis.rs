//! Pure: what keeps a pod from serving, in words that stay the same while the trouble does: kubelet alternates between
//! `ErrImagePull` and `ImagePullBackOff`, and between a crash and the wait after it, and counts seconds in its messages.

use api::{PodReason, Reason};

use self::verdict::PULL;
use self::wire::WireContainer;

mod crash;
pub mod starting;
mod verdict;
mod volume;
mod wire;

pub use verdict::PodDiagnosis;
pub use wire::WirePod;

/// Why a container waits that does not start by itself.
const NOT_STARTED: [PodReason; 5] = [
    PodReason::ErrImageNeverPull,
    PodReason::InvalidImageName,
    PodReason::CreateContainerConfigError,
    PodReason::CreateContainerError,
    PodReason::RunContainerError,
];

/// What is wrong with a pod, if anything. A pod that is being deleted is nobody's trouble.
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
    // Between two attempts to pull the next image kubelet backs off as if the container before had crashed.
    if waiting.reason == PodReason::CrashLoopBackOff && container.ended_well() && is_other(&container.image, image) {
        return Some(unpullable(image, ""));
    }
    if waiting.reason.is_one_of(&NOT_STARTED) {
        let message = format!("container {}: {}", container.name, waiting.message);
        return Some(PodDiagnosis::new(waiting.reason.clone(), message, true));
    }
    crash::of(container)
}

fn unpullable(image: &str, cause: &str) -> PodDiagnosis {
    PodDiagnosis::new(PULL, format!("image {image} cannot be pulled{cause}"), true)
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

fn unschedulable(pod: &WirePod) -> Option<PodDiagnosis> {
    let scheduled = pod.status.conditions.iter().find(|c| c.type_ == "PodScheduled" && c.status == "False")?;
    Some(PodDiagnosis::new(Reason::reported(&scheduled.reason), scheduled.message.clone(), false))
}

#[cfg(test)]
mod tests;
