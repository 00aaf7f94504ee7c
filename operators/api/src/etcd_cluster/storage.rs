//! Storage of the members' data.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Storage of each member's data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.ephemeral) || !self.ephemeral || (!has(self.size) && !has(self.storageClassName))"
).message("storage.ephemeral means that there is no volume: omit storage.size and storage.storageClassName"))]
pub struct EtcdStorage {
    /// Size of each member's volume. Default: 1Gi. It may grow if the StorageClass allows that. A smaller value is
    /// accepted, to revert a growth that was rejected; volumes that have grown stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(BYTES).message("storage.size must be a quantity of bytes from 1 to 1Pi, such as 2Gi"))]
    pub size: Option<String>,

    /// StorageClass of the volumes. Default: the cluster's default class. Cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub storage_class_name: Option<String>,

    /// Keeps data in the pods only, where it is lost with them. Default: false. Cannot be changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,

    /// What happens to a volume when its member is removed or the cluster is deleted. Default: Retain.
    #[serde(default, skip_serializing_if = "OnDelete::is_retain")]
    pub on_delete: OnDelete,
}

/// A quantity of bytes, with at most three decimals.
pub(super) const BYTES: &str = "self.matches('^[0-9]+([.][0-9]{1,3})?([kMGTP]|[KMGTP]i)?$') && isQuantity(self) && \
    quantity(self).compareTo(quantity('1')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0";

/// What happens to volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnDelete {
    /// They stay, for a user to inspect and delete.
    #[default]
    Retain,
    /// They are deleted with the member or the cluster.
    Delete,
}

impl OnDelete {
    fn is_retain(&self) -> bool {
        *self == Self::Retain
    }
}
