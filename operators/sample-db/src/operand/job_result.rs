//! Pure: what the agent leaves at its end, in the termination message of its container.

use agent_protocol::{FailureMessage, FailureReason};
use runtime::projections::{Container, Ended};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::message;

/// The exit code of what was killed.
const KILLED: i32 = 137;

/// What the agent left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Its exit code.
    pub code: i32,
    /// The termination message.
    text: String,
}

impl Words {
    /// Those of a container, if it has ended.
    #[must_use]
    pub fn of_container(container: &Container) -> Option<Self> {
        container.ended.as_ref().map(Self::of)
    }

    /// What a container left at its end.
    #[must_use]
    pub fn of(ended: &Ended) -> Self {
        Self { code: ended.code, text: ended.message.to_string() }
    }

    /// The result of a command, if it succeeded: of what is none, and of what an earlier agent did not report, the defaults.
    #[must_use]
    pub fn result<T: DeserializeOwned + Default>(&self) -> T {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Why it failed, if the agent reported that.
    #[must_use]
    pub fn reason(&self) -> Option<FailureReason> {
        serde_json::from_str::<FailureMessage>(&self.text).ok().map(|failure| failure.reason)
    }

    /// Of what the agent did not write, such as the server's log, the lines that tell why.
    fn message(&self) -> Option<String> {
        let message = match serde_json::from_str::<FailureMessage>(&self.text) {
            Ok(failure) => failure.message,
            // The result of a command that was killed after it had reported it.
            Err(_) if self.text.starts_with('{') && serde_json::from_str::<IgnoredAny>(&self.text).is_ok() => {
                return None;
            }
            Err(_) => message::log(&self.text),
        };
        Some(message).filter(|message| !message.is_empty())
    }

    /// Why a Job failed: as its last pod says, or `otherwise`.
    #[must_use]
    pub(crate) fn why(words: Option<&Self>, otherwise: &str) -> String {
        words.and_then(Self::failure).unwrap_or_else(|| otherwise.to_owned())
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let said = self.message().map(message::message);
        let message = match (self.code, said) {
            (KILLED, said) => {
                let said = said.map_or_else(String::new, |said| format!("; its last message: {said}"));
                format!(
                    "it was killed (exit code {KILLED}), as what uses more memory than resources.limits.memory is{said}"
                )
            }
            (_, Some(said)) => said,
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
        Words::of(&Ended { code, message: message.into() }).failure().unwrap()
    }

    #[test]
    fn a_result_is_read_out_of_the_termination_message() {
        let words = Words::of(&Ended { code: 0, message: r#"{"version": "15.20"}"#.into() });
        let found: PgVersionResult = words.result();
        assert_eq!((words.failure(), words.reason(), found.version.as_deref()), (None, None, Some("15.20")));
    }

    #[test]
    fn of_a_log_the_cause_and_the_last_lines_are_told() {
        let log = "LOG: one\n\nLOG: unknown parameter\nFATAL: errors\nLOG: stopped\n";
        assert_eq!(failure(1, log), "FATAL: errors; LOG: unknown parameter; LOG: stopped");
    }

    #[test]
    fn what_was_killed_says_so() {
        let why = failure(137, "");
        assert!(why.contains("memory"), "{why}");
    }
}
