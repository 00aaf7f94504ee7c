//! What is known of an etcd cluster.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Contract, Status};

/// What is known of an etcd cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterStatus {
    /// Where the cluster stands, in one word.
    #[serde(default, deserialize_with = "phase", skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Why the phase is Failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether `spec.paused` keeps the operator from acting.
    #[serde(default)]
    pub control_paused: bool,
    /// Members, as etcd lists them.
    #[serde(default)]
    pub size: i32,
    /// The Service that clients use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,
    /// The port that clients use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_port: Option<i32>,
    /// The members' pods.
    #[serde(default)]
    pub members: Members,
    /// The version that all members have run; moves when an upgrade has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_version: Option<String>,
    /// The version that members are being brought to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_version: Option<String>,

    /// Healthy voters of those asked for, for example `3/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// etcd's id of the cluster, in hexadecimal; written once. A member that answers with another id is a stranger.
    #[serde(default, rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// The member that leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// The value of the annotation `etcd.database.coreos.com/move-leader` for which leadership was moved last; it is not
    /// moved for that one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_moved_for: Option<String>,
    /// The member that led when leadership was about to be moved for that annotation; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_moving_from: Option<String>,
    /// The size of the largest member's database, moved in steps of 10 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_size: Option<String>,
    /// The index of the log from which it is being filled up to a snapshot, before the first member leaves 3.6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub filling_from: Option<u64>,
    /// Each member, as it speaks of itself.
    #[serde(default, deserialize_with = "with_a_role", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub member_statuses: Vec<MemberStatus>,
    /// Where members keep their data; decided at creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageStatus>,
    /// The pods' label selector, as autoscalers read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The part that every kind shares, and beside Ready, Reconciling and Stalled: Available, Recovering, Scaling,
    /// Upgrading, QuorumHealthy and Durable, and Warning while there is something to warn of.
    #[serde(flatten)]
    pub contract: Contract,
}

impl EtcdClusterStatus {
    /// What it says of a member.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&MemberStatus> {
        self.member_statuses.iter().find(|status| status.name == name)
    }

    /// Those that etcd listed when it was last asked.
    pub fn listed(&self) -> impl Iterator<Item = &MemberStatus> {
        self.member_statuses.iter().filter(|status| status.id.is_some())
    }
}

/// Where the cluster stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Its first member is being made.
    Creating,
    /// It has been made; the conditions say how it fares.
    Running,
    /// What is asked for cannot be had, or a person is needed; `reason` says why.
    Failed,
}

/// Reads a phase, for which the old operator wrote an empty word as long as there was none.
fn phase<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Phase>, D::Error> {
    let word = Option::<String>::deserialize(from)?.filter(|word| !word.is_empty());
    word.map(|word| Phase::deserialize(word.into_deserializer())).transpose()
}

/// The members' pods, by whether they are ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Members {
    /// Those whose etcd is a healthy voter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready: Vec<String>,
    /// All others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unready: Vec<String>,
}

/// One member, as it speaks of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberStatus {
    /// Its name, which is also its pod's.
    pub name: String,
    /// etcd's id of it, in hexadecimal; none before etcd lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What part it plays.
    // Not required: what another field manager keeps of a member that is gone must not make all further writes invalid.
    #[schemars(with = "Option<MemberRole>")]
    pub role: MemberRole,
    /// Since when it plays that part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub since: Option<Timestamp>,
    /// The version of etcd that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The size of its database, moved in steps of 10 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_size: Option<String>,
}

/// Those entries that say what part their member plays; others are none of ours.
fn with_a_role<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<MemberStatus>, D::Error> {
    let entries: Vec<serde_json::Value> = Deserialize::deserialize(from)?;
    Ok(entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect())
}

/// What part a member plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MemberRole {
    /// It leads.
    Leader,
    /// It votes and follows.
    Follower,
    /// It catches up, and does not vote yet.
    Learner,
    /// It has a pod, and is not yet listed by etcd or has not yet started.
    Joining,
    /// It is listed by etcd and does not answer.
    Unreachable,
}

/// Where members keep their data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageStatus {
    /// Whether data outlives pods.
    pub durable: bool,
}

impl Status for EtcdClusterStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
