//! What is reported of pods and containers that have ended.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::object::{items, set, time};
use super::container::{Container, ContainerState, End};
use super::life::Life;
use super::program::Exit;

/// The exit code of a container that was killed.
const KILLED: i64 = 137;

/// The phase of a pod that has ended: an init container has failed for good, or all of its containers have ended for good.
pub(super) fn phase(life: &Life) -> Option<&'static str> {
    let is_done = |container: &Container| container.state == ContainerState::Done;
    let has_failed = |container: &Container| is_done(container) && !container.has_succeeded();
    if life.inits.iter().any(has_failed) {
        return Some("Failed");
    }
    if !life.containers.iter().all(is_done) {
        return None;
    }
    Some(if life.containers.iter().any(has_failed) { "Failed" } else { "Succeeded" })
}

/// The status of a container that has ended.
pub(super) fn terminated(end: &End) -> Value {
    let reason = if end.exit.code == 0 { "Completed" } else { "Error" };
    let mut terminated = json!({
        "exitCode": end.exit.code, "reason": reason, "startedAt": time(end.started), "finishedAt": time(end.finished),
    });
    if !end.exit.message.is_empty() {
        set(&mut terminated, &["message"], json!(end.exit.message));
    }
    json!({ "terminated": terminated })
}

/// The status of a pod whose containers were stopped because it is being deleted.
pub(super) fn stopped(pod: &Value, life: &Life, now: Timestamp) -> Value {
    let mut status = pod["status"].clone();
    let is_success = phase(life).is_some_and(|phase| phase == "Succeeded");
    set(&mut status, &["phase"], json!(if is_success { "Succeeded" } else { "Failed" }));
    let mut containers = items(&status["containerStatuses"]).to_vec();
    for container in &mut containers {
        let running = life.containers.iter().find(|one| container["name"] == *one.name).map(|one| &one.state);
        if let Some(ContainerState::Running(started)) = running {
            let exit = Exit { code: KILLED, message: String::new() };
            set(container, &["state"], terminated(&End { started: *started, finished: now, exit }));
            set(container, &["ready"], json!(false));
            set(container, &["started"], json!(false));
        }
    }
    set(&mut status, &["containerStatuses"], Value::Array(containers));
    status
}
