//! How containers whose programs no model knows end, and whether they are started again.
//!
//! A container whose image has `crash` in its name ends with an error a few seconds after each start. In pods that are not to run
//! for ever, all others end well.

use serde_json::Value;

use super::super::object::text;
use super::program::Exit;

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
pub(super) fn exit_of(container: &Value, policy: RestartPolicy) -> Option<Exit> {
    let code = match (text(&container["image"]).contains("crash"), policy) {
        (true, _) => 1,
        (false, RestartPolicy::Always) => return None,
        (false, _) => 0,
    };
    Some(Exit { code, message: String::new() })
}
