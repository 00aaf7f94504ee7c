//! How containers end, and whether they are started again.
//!
//! A container whose image has `crash` in its name ends with an error a few seconds after each start. In pods that are not to run
//! for ever, all others end well.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::object::{items, set, text, time};
use super::container::{Container, ContainerState, End};
use super::life::Life;
use super::program::Exit;

/// The exit code of a container that was killed.
const KILLED: i64 = 137;

/// When the kubelet starts a container again that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

impl RestartPolicy {
    /// That of a pod.
    pub(super) fn of(pod: &Value) -> Self {
        match text(&pod["spec"]["restartPolicy"]) {
            "Never" => Self::Never,
            "OnFailure" => Self::OnFailure,
            _ => Self::Always,
        }
    }

    /// Whether a container that ended with that code is not started again.
    pub(super) fn is_final(self, code: i64) -> bool {
        match self {
            Self::Always => false,
            Self::OnFailure => code == 0,
            Self::Never => true,
        }
    }
}

/// How a container ends some seconds after its start, if it does.
pub(super) fn of(container: &Value, policy: RestartPolicy) -> Option<Exit> {
    let code = match (text(&container["image"]).contains("crash"), policy) {
        (true, _) => 1,
        (false, RestartPolicy::Always) => return None,
        (false, _) => 0,
    };
    Some(Exit { code, message: String::new() })
}

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
