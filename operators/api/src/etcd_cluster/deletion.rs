//! What is done before an etcd cluster is deleted.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What the operator does before it deletes the members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BeforeDeletion {
    /// EtcdBackup in the same namespace, with this cluster as its `clusterRef`, that takes a last backup. The EtcdCluster is deleted
    /// once that is verified; a namespace that is deleted does not wait for it. Can be removed while the EtcdCluster is being deleted.
    #[schemars(length(min = 1, max = 46))]
    pub backup: String,
}
