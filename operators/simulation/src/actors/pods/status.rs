//! The status of a pod on its node, as the kubelet reports it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::conditions;
use super::super::object::{items, name, namespace, set, text, time, uid};
use super::container::{Container, ContainerState};
use super::exit::{self, terminated};
use super::life::Life;
use super::placement::NODES;

/// The conditions that the kubelet reports.
const OWN: [&str; 4] = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"];

/// Whether a condition holds, else the reason and the message.
type Holds = Result<(), (&'static str, String)>;

/// The status of a pod. Fields and conditions of others stay.
pub(super) fn of(pod: &Value, life: &Life, now: Timestamp) -> Value {
    let mut status = pod["status"].clone();
    let has_started = life.sandbox.is_some() && life.containers.iter().all(Container::has_started);
    let number = NODES.iter().position(|node| *node == text(&pod["spec"]["nodeName"])).unwrap_or_default() + 1;
    let host = format!("192.168.0.{number}");
    let mut report = |field: &str, value: Value| set(&mut status, &[field], value);
    let phase = exit::phase(life).unwrap_or(if has_started { "Running" } else { "Pending" });
    report("phase", json!(phase));
    report("hostIP", json!(host));
    report("hostIPs", json!([{ "ip": host }]));
    report("startTime", time(life.seen));
    if life.sandbox.is_some() {
        report("podIP", json!(life.address));
        report("podIPs", json!([{ "ip": life.address }]));
    }
    let driven = life.inits.iter().map(|init| container(pod, life, init, now));
    let timed = items(&pod["spec"]["initContainers"]).iter().map(|init| init_container(init, life));
    let inits: Vec<Value> = if life.model.is_some() { driven.collect() } else { timed.collect() };
    if !inits.is_empty() {
        report("initContainerStatuses", Value::Array(inits));
    }
    let mut containers: Vec<&Container> = life.containers.iter().collect();
    containers.sort_by_cached_key(|container| container.name.clone());
    report("containerStatuses", containers.into_iter().map(|one| container(pod, life, one, now)).collect());
    report("conditions", conditions_of(pod, life, now));
    status
}

fn conditions_of(pod: &Value, life: &Life, now: Timestamp) -> Value {
    let containers = containers_ready(life, now);
    let gates = containers.clone().and_then(|()| gates(pod));
    let sandbox = life.sandbox.map(|_| ()).ok_or_else(|| ("", String::new()));
    let own = [sandbox, initialized(pod, life), gates, containers];
    let mut all: Vec<Value> = OWN.iter().zip(own).map(|(type_, holds)| condition(pod, type_, holds, now)).collect();
    let is_own = |condition: &&Value| OWN.contains(&text(&condition["type"]));
    all.extend(items(&pod["status"]["conditions"]).iter().filter(|condition| !is_own(condition)).cloned());
    Value::Array(all)
}

fn containers_ready(life: &Life, now: Timestamp) -> Holds {
    if let Some(phase) = exit::phase(life) {
        return Err((if phase == "Succeeded" { "PodCompleted" } else { "PodFailed" }, String::new()));
    }
    let unready = life.containers.iter().filter(|container| !container.is_ready(now));
    let unready: Vec<&str> = unready.map(|container| container.name.as_str()).collect();
    holds(&unready, "ContainersNotReady", "containers with unready status")
}

fn initialized(pod: &Value, life: &Life) -> Holds {
    let timed = items(&pod["spec"]["initContainers"]).iter().filter(|_| life.sandbox.is_none());
    let driven = life.inits.iter().filter(|init| !init.has_succeeded()).map(|init| init.name.as_str());
    let waiting: Vec<&str> = match life.model {
        Some(_) => driven.collect(),
        None => timed.map(|container| text(&container["name"])).collect(),
    };
    holds(&waiting, "ContainersNotInitialized", "containers with incomplete status")
}

fn holds(exceptions: &[&str], reason: &'static str, what: &str) -> Holds {
    if exceptions.is_empty() { Ok(()) } else { Err((reason, format!("{what}: [{}]", exceptions.join(" ")))) }
}

/// Whether the conditions that others report let the pod be ready.
fn gates(pod: &Value) -> Holds {
    let gates = items(&pod["spec"]["readinessGates"]).iter().map(|gate| text(&gate["conditionType"]));
    let problem = |gate: &str| match conditions::find(&pod["status"], gate).map(|gate| text(&gate["status"])) {
        Some("True") => None,
        Some(status) => Some(format!("the status of pod readiness gate {gate:?} is not \"True\", but {status}")),
        None => Some(format!("corresponding condition of pod readiness gate {gate:?} does not exist.")),
    };
    let problems: Vec<String> = gates.filter_map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(("ReadinessGatesNotReady", problems.join("; "))) }
}

/// A condition; its transition time changes with its status.
fn condition(pod: &Value, type_: &str, holds: Holds, now: Timestamp) -> Value {
    let status = if holds.is_ok() { "True" } else { "False" };
    let present = conditions::find(&pod["status"], type_).filter(|present| present["status"] == status);
    let since = present.map_or_else(|| time(now), |present| present["lastTransitionTime"].clone());
    let mut condition = json!({ "type": type_, "status": status, "lastTransitionTime": since });
    if let Err((reason, message)) = holds
        && !reason.is_empty()
    {
        set(&mut condition, &["reason"], json!(reason));
        if !message.is_empty() {
            set(&mut condition, &["message"], json!(message));
        }
    }
    condition
}

fn init_container(init: &Value, life: &Life) -> Value {
    let state = match life.sandbox {
        Some(at) => {
            let at = time(at);
            json!({ "terminated": { "exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at } })
        }
        None => waiting("PodInitializing", ""),
    };
    json!({
        "name": init["name"], "image": init["image"], "imageID": "", "ready": life.sandbox.is_some(), "started": false,
        "restartCount": 0, "state": state, "lastState": {},
    })
}

fn container(pod: &Value, life: &Life, container: &Container, now: Timestamp) -> Value {
    let last = container
        .last
        .as_ref()
        .filter(|_| !matches!(container.state, ContainerState::Ended | ContainerState::Done))
        .map_or_else(|| json!({}), terminated);
    let is_running = matches!(container.state, ContainerState::Running(_));
    let is_init = life.inits.iter().any(|init| init.name == container.name);
    let image_id = if container.has_started() { format!("{}@sha256:0", container.image) } else { String::new() };
    json!({
        "name": container.name, "image": container.image, "imageID": image_id,
        "ready": container.is_ready(now) || (is_init && container.has_succeeded()),
        "started": is_running, "restartCount": container.restarts, "state": state(pod, life, container), "lastState": last,
    })
}

fn state(pod: &Value, life: &Life, container: &Container) -> Value {
    let Container { image, name: container_name, .. } = container;
    let pull = format!("failed to pull and unpack image {image:?}: not found");
    match &container.state {
        ContainerState::Creating if is_initializing(pod, life, container) => waiting("PodInitializing", ""),
        ContainerState::Creating => waiting("ContainerCreating", ""),
        ContainerState::Unconfigured(message) => waiting("CreateContainerConfigError", message),
        ContainerState::PullFailed => waiting("ErrImagePull", &pull),
        ContainerState::PullBackOff => {
            waiting("ImagePullBackOff", &format!("Back-off pulling image {image:?}: ErrImagePull: {pull}"))
        }
        ContainerState::Running(since) => json!({ "running": { "startedAt": time(*since) } }),
        ContainerState::Ended | ContainerState::Done => container.last.as_ref().map_or_else(|| json!({}), terminated),
        ContainerState::CrashBackOff(seconds) => {
            let of = format!("{}_{}({})", name(pod), namespace(pod), uid(pod));
            let message =
                format!("back-off {} restarting failed container={container_name} pod={of}", duration(*seconds));
            waiting("CrashLoopBackOff", &message)
        }
    }
}

/// Whether a container waits for init containers.
fn is_initializing(pod: &Value, life: &Life, container: &Container) -> bool {
    let is_waiting = match life.model {
        Some(_) => life.inits.iter().take_while(|init| init.name != container.name).any(|init| !init.has_succeeded()),
        None => life.sandbox.is_none(),
    };
    is_waiting && !items(&pod["spec"]["initContainers"]).is_empty()
}

/// A time as Go writes it.
fn duration(seconds: u64) -> String {
    let (minutes, rest) = (seconds / 60, seconds % 60);
    if minutes == 0 { format!("{rest}s") } else { format!("{minutes}m{rest}s") }
}

fn waiting(reason: &str, message: &str) -> Value {
    let mut waiting = json!({ "reason": reason });
    if !message.is_empty() {
        set(&mut waiting, &["message"], json!(message));
    }
    json!({ "waiting": waiting })
}
