//! What keeps a pod from serving, in words that stay the same while the trouble does: kubelet alternates between
//! `ErrImagePull` and `ImagePullBackOff`, and between a crash and the wait after it, and counts seconds in its messages.

use serde::Deserialize;

use super::meta::{INSTANCE, OWNER_KIND, Owner};

/// What is wrong with a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// In one CamelCase word, as kubelet or the scheduler names it.
    pub reason: String,
    /// In words, without the pod's name.
    pub message: String,
    /// Whether it will not go away by itself.
    pub lasting: bool,
}

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
    waiting: Option<WireReason>,
    terminated: Option<WireReason>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireReason {
    reason: String,
    message: String,
    exit_code: i32,
}

impl WirePod {
    /// The image that a container should run; its status may still name the one before.
    fn image<'a>(&'a self, container: &'a WireContainer) -> &'a str {
        let mut all = self.spec.init_containers.iter().chain(&self.spec.containers);
        all.find(|of| of.name == container.name).map_or(&container.image, |of| &of.image)
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
    let waiting = container.state.waiting.as_ref();
    match waiting.map(|w| w.reason.as_str()) {
        Some("ErrImagePull" | "ImagePullBackOff") => Some(Trouble {
            reason: "ImagePullBackOff".to_owned(),
            message: format!(
                "image {image} cannot be pulled{}",
                pull_failure(waiting.map_or("", |w| w.message.as_str()))
            ),
            lasting: true,
        }),
        Some(
            reason @ ("ErrImageNeverPull"
            | "InvalidImageName"
            | "CreateContainerConfigError"
            | "CreateContainerError"
            | "RunContainerError"),
        ) => Some(Trouble {
            reason: reason.to_owned(),
            message: format!("container {}: {}", container.name, waiting.map_or("", |w| w.message.as_str())),
            lasting: true,
        }),
        _ => crashed(container),
    }
}

/// The cause in a message of kubelet's, without the words it repeats around it.
fn pull_failure(message: &str) -> String {
    let cause = message.split_once("ErrImagePull: ").map_or(message, |(_, cause)| cause);
    let cause = if cause.starts_with("Back-off pulling image") { "" } else { cause };
    if cause.is_empty() { String::new() } else { format!(": {cause}") }
}

/// A container that has ended at least once, is not ready again, and did not end well.
fn crashed(container: &WireContainer) -> Option<Trouble> {
    let ended = container.state.terminated.as_ref().or(container.last_state.terminated.as_ref())?;
    if ended.reason == "StartError" {
        // The same words as while kubelet says RunContainerError, with which this alternates.
        return Some(Trouble {
            reason: "RunContainerError".to_owned(),
            message: format!("container {}: {}", container.name, ended.message),
            lasting: true,
        });
    }
    let waits = container.state.waiting.as_ref();
    let again = container.restart_count > 0 || waits.is_some();
    // One that ended well and is about to be made anew, with another image for example, is in no trouble.
    let backs_off = waits.is_some_and(|waiting| waiting.reason == "CrashLoopBackOff");
    (again && (ended.exit_code != 0 || backs_off)).then(|| Trouble {
        reason: "CrashLoopBackOff".to_owned(),
        message: format!(
            "container {} keeps ending: {} (exit code {})",
            container.name,
            if ended.reason.is_empty() { "Error" } else { &ended.reason },
            ended.exit_code
        ),
        lasting: true,
    })
}

fn unschedulable(pod: &WirePod) -> Option<Trouble> {
    let scheduled = pod.status.conditions.iter().find(|c| c.type_ == "PodScheduled" && c.status == "False")?;
    Some(Trouble { reason: scheduled.reason.clone(), message: scheduled.message.clone(), lasting: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn trouble(status: Value) -> Option<Trouble> {
        of(&serde_json::from_value(json!({ "status": status })).unwrap(), false)
    }

    fn waiting(reason: &str, message: &str) -> Option<Trouble> {
        trouble(json!({ "containerStatuses": [{
            "name": "app", "image": "none:1", "state": { "waiting": { "reason": reason, "message": message } }
        }] }))
    }

    #[test]
    fn both_faces_of_a_failed_pull_read_the_same() {
        let first = waiting("ErrImagePull", "failed to resolve reference: not found").unwrap();
        let then = waiting(
            "ImagePullBackOff",
            "Back-off pulling image \"none:1\": ErrImagePull: failed to resolve reference: not found",
        );
        assert_eq!(Some(&first), then.as_ref());
        assert_eq!(first.message, "image none:1 cannot be pulled: failed to resolve reference: not found");
        assert!(first.lasting);
    }

    #[test]
    fn the_image_that_is_wanted_is_named_not_the_one_before() {
        let pod = json!({
            "spec": { "containers": [{ "name": "app", "image": "new:2" }] },
            "status": { "containerStatuses": [{ "name": "app", "image": "old:1", "state": { "waiting": { "reason": "ErrImagePull" } } }] },
        });
        let told = of(&serde_json::from_value(pod).unwrap(), false).unwrap();
        assert_eq!(told.message, "image new:2 cannot be pulled");
    }

    #[test]
    fn who_ended_well_and_is_made_anew_is_in_no_trouble() {
        let ended = json!({ "terminated": { "reason": "Completed", "exitCode": 0 } });
        let creating = json!({ "waiting": { "reason": "ContainerCreating" } });
        let container = json!({ "name": "app", "restartCount": 1, "state": creating, "lastState": ended });
        assert_eq!(trouble(json!({ "containerStatuses": [container] })), None);
    }

    #[test]
    fn both_faces_of_a_crash_loop_read_the_same() {
        let ended = json!({ "terminated": { "reason": "Error", "exitCode": 1 } });
        let container = |state: Value, last: Value| {
            trouble(
                json!({ "containerStatuses": [{ "name": "app", "restartCount": 3, "state": state, "lastState": last }] }),
            )
        };
        let back_off = json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 40s" } });
        let waits = container(back_off, ended.clone()).unwrap();
        assert_eq!(Some(&waits), container(json!({ "running": {} }), ended.clone()).as_ref());
        assert_eq!(Some(&waits), container(ended, json!({})).as_ref());
        assert_eq!(waits.message, "container app keeps ending: Error (exit code 1)");
    }

    #[test]
    fn both_faces_of_a_program_that_cannot_be_started_read_the_same() {
        let why = "exec: \"nginx\": executable file not found in $PATH";
        let tried = waiting("RunContainerError", why).unwrap();
        let waits = trouble(json!({ "containerStatuses": [{
            "name": "app", "restartCount": 2,
            "state": { "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 20s" } },
            "lastState": { "terminated": { "reason": "StartError", "exitCode": 128, "message": why } }
        }] }));
        assert_eq!(Some(tried), waits);
    }

    #[test]
    fn a_pod_that_starts_or_serves_or_goes_is_in_no_trouble() {
        assert_eq!(waiting("ContainerCreating", ""), None);
        assert_eq!(
            trouble(json!({ "containerStatuses": [{ "name": "app", "ready": true, "restartCount": 1 }] })),
            None
        );
        let pending = json!({ "status": { "conditions": [{ "type": "PodScheduled", "status": "False" }] } });
        assert_eq!(of(&serde_json::from_value(pending).unwrap(), true), None);
    }

    #[test]
    fn a_pod_without_a_node_may_get_one() {
        let pod = trouble(json!({ "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"
        }] }));
        assert_eq!(pod.map(|t| (t.reason, t.lasting)), Some(("Unschedulable".to_owned(), false)));
    }
}
