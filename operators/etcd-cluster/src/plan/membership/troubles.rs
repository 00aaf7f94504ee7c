//! Pure: what keeps members from working, in words.

use agent_protocol::FailureMessage;
use serde::Deserialize;

use super::failed;
use crate::plan::objects::{ETCD, WAIT};
use crate::plan::roster::Node;

/// What keeps a member's pod from working, in words.
pub(super) fn trouble(node: &Node<'_>) -> Option<String> {
    if let Some(why) = failed::why(node) {
        return Some(why);
    }
    let trouble = node.pod.filter(|pod| !pod.meta.deleting)?.diagnosis.as_ref()?;
    let last_words = [WAIT, ETCD].iter().find_map(|container| {
        let ended = node.container(container).filter(|container| !container.running)?.ended.as_ref()?;
        (ended.code != 0).then(|| words(&ended.message)).flatten()
    });
    Some(match last_words {
        Some(words) => format!("{}: {words}", trouble.message),
        None => trouble.message.clone(),
    })
}

/// What to look at if a member's volume is not there.
fn unbound(node: &Node<'_>) -> String {
    match node.claim.filter(|claim| !claim.bound) {
        Some(claim) => {
            let class = claim.class.as_deref().map_or_else(String::new, |class| format!(" of StorageClass {class}"));
            format!("; its claim{class} is not bound: kubectl describe pvc {} tells more", node.name)
        }
        None => String::new(),
    }
}

/// A sentence on a member that does not work yet.
pub(in crate::plan) fn waiting_for(node: &Node<'_>) -> String {
    match (trouble(node), &node.silence) {
        (Some(trouble), _) => format!("member {} does not start: {trouble}{}", node.name, unbound(node)),
        (None, Some(silence)) => format!("waiting for member {}, which {silence}", node.name),
        (None, None) => format!("waiting for member {} to start", node.name),
    }
}

/// What the agent leaves when it fails.
pub(super) fn result(message: &str) -> Option<FailureMessage> {
    serde_json::from_str(message).ok()
}

/// The agent's last words, out of its JSON; else the last line that anything wrote.
pub(super) fn words(message: &str) -> Option<String> {
    if let Some(result) = result(message) {
        return Some(result.message);
    }
    // Of a panic the last line is only where it was.
    let telling = |line: &&str| {
        line.starts_with("panic:")
            || ["panic", "fatal", "error"].iter().any(|level| line.contains(&format!("\"level\":\"{level}\"")))
    };
    // What ends with how it is used has said before what is wrong.
    let message = message.split("\nUsage:").next().unwrap_or(message);
    let line = message.lines().rev().find(telling);
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
    use super::words;

    #[test]
    fn what_is_wrong_is_taken_out_of_what_a_program_wrote() {
        let usage = "invalid value \"many\" for flag -max-wals: parse error\nUsage:\n\n  etcd [flags]\n    Start an etcd server.\n";
        let panic = "{\"level\":\"info\",\"msg\":\"a\"}\npanic: x\n\ngoroutine 1 [running]:\nmain.go:1\n";
        for (message, telling) in [
            (usage, Some("invalid value \"many\" for flag -max-wals: parse error")),
            (panic, Some("panic: x")),
            ("{\"level\":\"fatal\",\"msg\":\"a\",\"error\":\"b\"}\n{\"level\":\"info\",\"msg\":\"c\"}", Some("a: b")),
            ("{\"reason\":\"NoData\",\"message\":\"there is none\"}", Some("there is none")),
            ("first\nlast\n", Some("last")),
            ("\n", None),
        ] {
            assert_eq!(words(message).as_deref(), telling);
        }
    }
}
