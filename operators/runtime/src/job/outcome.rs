//! Pure: the result of the agent, as its container's termination message has it.

use agent_protocol::{FailureMessage, FailureReason};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::message;
use crate::projections::{ContainerStatus, Terminated};

/// The exit code of a process that was killed (SIGKILL).
const KILLED: i32 = 137;

/// How the agent ended: its exit code and its termination message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOutcome {
    /// Its exit code.
    pub code: i32,
    /// The termination message.
    text: String,
}

impl AgentOutcome {
    /// The outcome of a container, if it has ended.
    #[must_use]
    pub fn of_container(container: &ContainerStatus) -> Option<Self> {
        container.terminated.as_ref().map(Self::of)
    }

    /// The outcome of a container that has ended.
    #[must_use]
    pub fn of(ended: &Terminated) -> Self {
        Self { code: ended.code, text: ended.message.to_string() }
    }

    /// The result of a command that succeeded. Fields that an earlier agent did not report have their defaults.
    #[must_use]
    pub fn result<T: DeserializeOwned + Default>(&self) -> T {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Why the command failed, if the agent reported a reason.
    #[must_use]
    pub fn reason(&self) -> Option<FailureReason> {
        serde_json::from_str::<FailureMessage>(&self.text).ok().map(|failure| failure.reason)
    }

    /// The message of a failure; if the agent did not write one, the relevant lines of the text, such as the server's log.
    fn message(&self) -> Option<String> {
        let message = match serde_json::from_str::<FailureMessage>(&self.text) {
            Ok(failure) => failure.message,
            // The result of a command that was killed after it had reported.
            Err(_) if self.text.starts_with('{') && serde_json::from_str::<IgnoredAny>(&self.text).is_ok() => {
                return None;
            }
            Err(_) => message::excerpt(&self.text),
        };
        Some(message).filter(|message| !message.is_empty())
    }

    /// Why a Job failed: the failure of its last pod, or `otherwise`.
    #[must_use]
    pub fn failure_or(outcome: Option<&Self>, otherwise: &str) -> String {
        outcome.and_then(Self::failure).unwrap_or_else(|| otherwise.to_owned())
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let reported = self.message().map(message::shorten);
        let message = match (self.code, reported) {
            (KILLED, reported) => {
                let last = reported.map_or_else(String::new, |reported| format!("; its last message: {reported}"));
                format!(
                    "it was killed (exit code {KILLED}), as are processes that exceed resources.limits.memory{last}"
                )
            }
            (_, Some(reported)) => reported,
            (code, None) => format!("it ended with exit code {code}"),
        };
        (self.code != 0).then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use agent_protocol::PgVersionResult;

    use super::*;

    fn failure(code: i32, message: &str) -> String {
        AgentOutcome::of(&Terminated { code, message: message.into() }).failure().unwrap()
    }

    #[test]
    fn a_result_is_read_out_of_the_termination_message() {
        let outcome = AgentOutcome::of(&Terminated { code: 0, message: r#"{"version": "15.20"}"#.into() });
        let found: PgVersionResult = outcome.result();
        assert_eq!((outcome.failure(), outcome.reason(), found.version.as_deref()), (None, None, Some("15.20")));
    }

    #[test]
    fn of_a_log_the_cause_and_the_last_lines_are_reported() {
        let log = "LOG: one\n\nLOG: unknown parameter\nFATAL: errors\nLOG: stopped\n";
        assert_eq!(failure(1, log), "FATAL: errors; LOG: unknown parameter; LOG: stopped");
    }

    #[test]
    fn a_killed_process_is_reported_as_such() {
        let why = failure(137, "");
        assert!(why.contains("memory"), "{why}");
    }
}
