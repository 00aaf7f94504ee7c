//! Observed state of a restore.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::etcd_cluster::EtcdRestoreSource;
use crate::{Contract, ObjectStatus};

/// Observed state of a restore.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreStatus {
    /// Whether the cluster began again from the snapshot.
    #[serde(default)]
    pub succeeded: bool,
    /// Why the snapshot could not be verified last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// State of the restore, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<EtcdRestorePhase>,
    /// Backup that `spec.etcdBackup` named when its verification began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<ResolvedBackup>,
    /// Snapshot that was verified; absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<VerifiedSnapshot>,
    /// etcd's ID of the cluster that began from the snapshot, in hexadecimal.
    #[serde(default, rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// etcd's ID of the cluster before, in hexadecimal: label `multi-operator.example.com/cluster-id` of its volumes.
    #[serde(default, rename = "previousClusterID", skip_serializing_if = "Option::is_none")]
    pub previous_cluster_id: Option<String>,
    /// How many attempts in a row to verify the snapshot have failed.
    #[serde(default)]
    pub failures: i32,
    /// Time of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub last_failure: Option<Timestamp>,
    /// Generation of the spec that the last failed attempt followed: after an edit, the next attempt is immediate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_generation: Option<i64>,
    /// The part that all kinds share.
    #[serde(flatten)]
    pub contract: Contract,
}

impl EtcdRestoreStatus {
    /// Whether the snapshot that the spec of this generation names is verified.
    #[must_use]
    pub fn is_verified(&self, generation: i64) -> bool {
        self.verified.as_ref().is_some_and(|snapshot| snapshot.generation == generation)
    }

    /// Whether nothing is left to do, whatever the spec says.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase == Some(EtcdRestorePhase::Succeeded)
    }
}

/// A backup that the spec refers to by the EtcdBackup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedBackup {
    /// Generation of the spec that refers to it.
    #[serde(default)]
    pub generation: i64,
    /// Its name, as `status.backups[].name` of the EtcdBackup has it.
    #[serde(default)]
    pub name: String,
    /// Where it is, as `spec.restore` of an EtcdCluster has it. A later edit or deletion of the EtcdBackup does not matter.
    #[serde(default)]
    #[schemars(schema_with = "unchecked")]
    pub source: EtcdRestoreSource,
}

/// The fields of all stores would be as long as the rest of the definition.
fn unchecked(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// State of a restore, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EtcdRestorePhase {
    /// It waits for the EtcdCluster, or for a user.
    Pending,
    /// A Job verifies the snapshot. Nothing of the cluster is touched.
    Verifying,
    /// The cluster begins again from the snapshot.
    Restoring,
    /// It did.
    Succeeded,
}

/// A snapshot that was restored into a throwaway member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedSnapshot {
    /// Generation of the spec that names it.
    #[serde(default)]
    pub generation: i64,
    /// Revision of etcd that it holds.
    #[serde(default)]
    pub revision: i64,
    /// Its size, in bytes.
    #[serde(default)]
    pub bytes: i64,
    /// Its SHA-256, in hexadecimal. Members restore no other file.
    #[serde(default)]
    pub sha256: String,
    /// When it was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub at: Option<Timestamp>,
}

impl ObjectStatus for EtcdRestoreStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
