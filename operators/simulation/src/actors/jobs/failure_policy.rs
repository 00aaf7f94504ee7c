//! What the field `podFailurePolicy` says about a failed pod (kubernetes: `pod_failure_policy.go`).

use serde_json::Value;

use super::super::object::{items, name, namespace, number, text};

/// What follows from the failure of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// It counts toward the limit.
    Counts,
    /// It does not count.
    Ignored,
    /// It counts, and the Job fails with this message.
    FailsJob(String),
}

/// What follows from the failure of a pod: the first rule that matches decides.
pub(super) fn of(job: &Value, pod: &Value) -> Consequence {
    for (index, rule) in items(&job["spec"]["podFailurePolicy"]["rules"]).iter().enumerate() {
        let Some(what) = matching(rule, pod) else { continue };
        return match text(&rule["action"]) {
            "Ignore" => Consequence::Ignored,
            "FailJob" => Consequence::FailsJob(format!("{what} matching FailJob rule at index {index}")),
            _ => Consequence::Counts,
        };
    }
    Consequence::Counts
}

/// What of a pod matches a rule, as the message names it.
fn matching(rule: &Value, pod: &Value) -> Option<String> {
    let of = format!("{}/{}", namespace(pod), name(pod));
    if !rule["onExitCodes"].is_null() {
        let statuses = ["containerStatuses", "initContainerStatuses"].into_iter();
        let mut containers = statuses.flat_map(|list| items(&pod["status"][list]));
        let container = containers.find(|container| is_exit_code(&rule["onExitCodes"], container))?;
        let code = exit_code(container)?;
        return Some(format!("Container {} for pod {of} failed with exit code {code}", text(&container["name"])));
    }
    let is_met = |pattern: &&Value| {
        let mut present = items(&pod["status"]["conditions"]).iter();
        present.any(|one| one["type"] == pattern["type"] && one["status"] == pattern["status"])
    };
    let pattern = items(&rule["onPodConditions"]).iter().find(is_met)?;
    Some(format!("Pod {of} has condition {}", text(&pattern["type"])))
}

fn is_exit_code(requirement: &Value, container: &Value) -> bool {
    let is_named = requirement["containerName"].is_null() || requirement["containerName"] == container["name"];
    let Some(code) = exit_code(container).filter(|code| is_named && *code != 0) else { return false };
    let is_listed = items(&requirement["values"]).iter().any(|value| number(value) == code);
    match text(&requirement["operator"]) {
        "In" => is_listed,
        "NotIn" => !is_listed,
        _ => false,
    }
}

fn exit_code(container: &Value) -> Option<i64> {
    container["state"]["terminated"]["exitCode"].as_i64()
}
