//! Recovery of a cluster that has lost quorum for good.

use jiff::Timestamp;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The annotation that gives up members of a cluster without quorum: their names, separated by commas. The cluster continues with the
/// best one of the others. Each value has an effect once, and none if there is quorum.
pub const RECOVER_WITHOUT: &str = "example.com/recover-without";

/// The default of [`EtcdRecovery::delay_seconds`].
const DELAY_SECONDS: i32 = 300;

/// What happens when so many members are lost that the others can never have quorum again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRecovery {
    /// Who decides that the cluster continues without the lost members, which may hold writes that no other member has. Default:
    /// Manual.
    #[serde(default)]
    pub policy: RecoveryPolicy,

    /// Seconds without quorum before the operator decides (Automatic only). Default: 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 30, max = 86400))]
    pub delay_seconds: Option<i32>,
}

impl EtcdRecovery {
    /// The seconds without quorum before the operator decides.
    #[must_use]
    pub fn delay_seconds(&self) -> i64 {
        self.delay_seconds.unwrap_or(DELAY_SECONDS).into()
    }
}

/// Who decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RecoveryPolicy {
    /// A user, by the annotation `example.com/recover-without`; the condition has the command.
    #[default]
    Manual,
    /// The operator, if the volumes of the lost members are gone; if all are, the cluster begins again from the newest backup that an
    /// EtcdBackup has of it. A member that only does not answer, for example because its node is down, is never given up without a user.
    Automatic,
}

/// The last recovery from a lost quorum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRecoveryStatus {
    /// Member that the cluster continues with.
    pub from: String,
    /// Members that were given up. Their volumes stay, whatever `spec.storage.onDelete` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// When the operator began to stop the other members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// When it ended; absent while it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RecoveryOutcome>,
}

/// How a recovery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RecoveryOutcome {
    /// The cluster went on with one member, and grew back from it.
    Recovered,
    /// No member was given up: quorum returned, the annotation was removed, or the member to continue with was lost as well.
    Canceled,
}
