//! Pure: messages about members that do not work.

use agent_protocol::FailureMessage;
use serde::Deserialize;

use super::failed_pods;
use crate::plan::member_set::MemberView;
use crate::plan::objects::{ETCD, RECOVER, RESTORE, WAIT};

/// Why a member's pod does not work.
pub(super) fn failure_message(member: &MemberView<'_>) -> Option<String> {
    if let Some(why) = failed_pods::failure_of(member) {
        return Some(why);
    }
    let diagnosis = member.pod.filter(|pod| !pod.meta.deleting)?.diagnosis.as_ref()?;
    let termination = [WAIT, RESTORE, RECOVER, ETCD].iter().find_map(|container| {
        let ended = member.container(container).filter(|container| !container.running)?.terminated.as_ref()?;
        (ended.code != 0).then(|| termination_text(&ended.message)).flatten()
    });
    Some(match termination {
        Some(text) => format!("{}: {text}", diagnosis.message),
        None => diagnosis.message.clone(),
    })
}

/// What to check if a member's PVC is not bound.
fn unbound_suffix(member: &MemberView<'_>) -> String {
    match member.claim.filter(|claim| !claim.bound) {
        Some(claim) => {
            let class = claim.class.as_deref().map_or_else(String::new, |class| format!(" of StorageClass {class}"));
            format!("; its PVC{class} is not bound: see kubectl describe pvc {}", member.name)
        }
        None => String::new(),
    }
}

/// The message about a member that does not work yet.
pub(in crate::plan) fn waiting_message(member: &MemberView<'_>) -> String {
    match (failure_message(member), &member.endpoint_error) {
        (Some(failure), _) => format!("member {} does not start: {failure}{}", member.name, unbound_suffix(member)),
        (None, Some(error)) => format!("waiting for member {}, which {error}", member.name),
        (None, None) => format!("waiting for member {} to start", member.name),
    }
}

/// The failure that the agent reports in the termination message.
pub(super) fn agent_failure(message: &str) -> Option<FailureMessage> {
    serde_json::from_str(message).ok()
}

/// The text of a termination message: from the JSON of the agent or etcd, or else its last line.
pub(super) fn termination_text(message: &str) -> Option<String> {
    if let Some(result) = agent_failure(message) {
        return Some(result.message);
    }
    // The last line of a panic is only its location.
    let is_error = |line: &&str| {
        line.starts_with("panic:")
            || ["panic", "fatal", "error"].iter().any(|level| line.contains(&format!("\"level\":\"{level}\"")))
    };
    // The error precedes the usage text.
    let message = message.split("\nUsage:").next().unwrap_or(message);
    let line = message.lines().rev().find(is_error);
    let line = line.or_else(|| message.lines().rev().find(|line| !line.trim().is_empty()))?;
    #[derive(Deserialize)]
    struct Log {
        msg: String,
        #[serde(default)]
        error: String,
    }
    Some(match serde_json::from_str::<Log>(line) {
        Ok(Log { msg, error }) if error.is_empty() => msg,
        Ok(Log { msg, error }) => format!("{msg}: {error}"),
        Err(_) => line.chars().take(300).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::termination_text;

    #[test]
    fn the_error_is_extracted_from_a_termination_message() {
        let usage = "invalid value \"many\" for flag -max-wals: parse error\nUsage:\n\n  etcd [flags]\n    Start an etcd server.\n";
        let panic = "{\"level\":\"info\",\"msg\":\"a\"}\npanic: x\n\ngoroutine 1 [running]:\nmain.go:1\n";
        for (message, text) in [
            (usage, Some("invalid value \"many\" for flag -max-wals: parse error")),
            (panic, Some("panic: x")),
            ("{\"level\":\"fatal\",\"msg\":\"a\",\"error\":\"b\"}\n{\"level\":\"info\",\"msg\":\"c\"}", Some("a: b")),
            ("{\"reason\":\"NoData\",\"message\":\"there is none\"}", Some("there is none")),
            ("first\nlast\n", Some("last")),
            ("\n", None),
        ] {
            assert_eq!(termination_text(message).as_deref(), text);
        }
    }
}
