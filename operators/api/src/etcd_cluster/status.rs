//! Observed state of an etcd cluster.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use super::defragmentation::EtcdDefragmentationStatus;
use super::recovery::EtcdRecoveryStatus;
use super::restore::EtcdRestoreProgress;
use crate::{Contract, ObjectStatus};

/// Observed state of an etcd cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterStatus {
    /// State of the cluster, in one word.
    #[serde(default, deserialize_with = "phase", skip_serializing_if = "Option::is_none")]
    pub phase: Option<EtcdClusterPhase>,
    /// Reason for the phase Failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether `spec.paused` keeps the operator from acting.
    #[serde(default)]
    pub control_paused: bool,
    /// Number of members that etcd lists.
    #[serde(default)]
    pub size: i32,
    /// Service for clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,
    /// Port for clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_port: Option<i32>,
    /// Pods of the members.
    #[serde(default)]
    pub members: Members,
    /// Version that all members have run; changes when an upgrade ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_version: Option<String>,
    /// Version that the operator brings members to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_version: Option<String>,

    /// Healthy voters of the requested number, such as `3/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// etcd's ID of the cluster, in hexadecimal; written once. A member that reports another ID is foreign.
    #[serde(default, rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Member that leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Value of the annotation `etcd.database.coreos.com/move-leader` for which the operator last moved leadership; it
    /// does not move it again for that value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_moved_for: Option<String>,
    /// Leader from before the operator moves leadership for that annotation; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_moving_from: Option<String>,
    /// Size of the largest member's database, in steps of 10%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_size: Option<String>,
    /// Log index from which the operator fills the log up to a snapshot, before the first member leaves 3.6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub filling_from: Option<u64>,
    /// State of each member, as it reports it.
    #[serde(default, deserialize_with = "with_a_role", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub member_statuses: Vec<MemberStatus>,
    /// Storage of the members; decided at creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<EtcdStorageStatus>,
    /// Snapshot that the cluster began with: PVC and file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<String>,
    /// Members of the cluster that `spec.takeover` names that still belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_members: Vec<String>,
    /// Last defragmentation that the annotation `example.com/defragment` requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defragmentation: Option<EtcdDefragmentationStatus>,
    /// Last recovery from a lost quorum: the cluster went on with one member, and without others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<EtcdRecoveryStatus>,
    /// Value of the annotation `example.com/recover-without` that has had its effect, or came while there was quorum; the operator
    /// does not act on that value again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_request: Option<String>,
    /// Last EtcdRestore: the cluster began again from a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<EtcdRestoreProgress>,
    /// Label selector of the pods, for autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The part that all kinds share. In addition to Ready, Reconciling and Stalled: Available, Recovering, Scaling,
    /// Upgrading, QuorumHealthy, Durable, and Warning while there is a warning.
    #[serde(flatten)]
    pub contract: Contract,
}

impl EtcdClusterStatus {
    /// The status of a member.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&MemberStatus> {
        self.member_statuses.iter().find(|status| status.name == name)
    }

    /// The members that etcd last listed.
    pub fn listed(&self) -> impl Iterator<Item = &MemberStatus> {
        self.member_statuses.iter().filter(|status| status.id.is_some())
    }
}

/// State of the cluster, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EtcdClusterPhase {
    /// The operator creates the first member.
    Creating,
    /// The cluster exists; the conditions report its health.
    Running,
    /// The operator cannot fulfill the spec, or the cluster needs attention; `reason` says why.
    Failed,
}

/// Reads a phase. The archived operator wrote an empty one at first.
fn phase<'de, D: Deserializer<'de>>(from: D) -> Result<Option<EtcdClusterPhase>, D::Error> {
    let text = Option::<String>::deserialize(from)?.filter(|text| !text.is_empty());
    text.map(|text| EtcdClusterPhase::deserialize(text.into_deserializer())).transpose()
}

/// Pods of the members, by readiness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Members {
    /// Pods whose etcd is a healthy voter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready: Vec<String>,
    /// All other pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unready: Vec<String>,
}

/// State of one member, as it reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberStatus {
    /// Name of the member and its pod.
    pub name: String,
    /// etcd's ID of the member, in hexadecimal; absent until etcd lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Role of the member.
    // Not required: the fields of a removed member that another field manager still owns must not make later writes invalid.
    #[schemars(with = "Option<MemberRole>")]
    pub role: MemberRole,
    /// Time since which the member has this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub since: Option<Timestamp>,
    /// Version of etcd that the member runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Size of its database, in steps of 10%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_size: Option<String>,
}

/// Reads the entries that have a role; the operator does not own others.
fn with_a_role<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<MemberStatus>, D::Error> {
    let entries: Vec<serde_json::Value> = Deserialize::deserialize(from)?;
    Ok(entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect())
}

/// Role of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MemberRole {
    /// It leads.
    Leader,
    /// It votes and follows.
    Follower,
    /// It catches up, and does not vote yet.
    Learner,
    /// It has a pod, but etcd does not list it yet, or it has not started.
    Joining,
    /// etcd lists it, but it does not answer.
    Unreachable,
}

/// Storage of the members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdStorageStatus {
    /// Whether data outlives pods.
    pub durable: bool,
}

impl ObjectStatus for EtcdClusterStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
