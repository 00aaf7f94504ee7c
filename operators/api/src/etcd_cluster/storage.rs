//! Where members keep their data.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where members keep their data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.ephemeral) || !self.ephemeral || (!has(self.size) && !has(self.storageClassName))"
).message("storage.ephemeral leaves no volume of which size or storageClassName could speak"))]
#[x_kube(validation = Rule::new(
    "(has(self.storageClassName) ? self.storageClassName : '') == \
     (has(oldSelf.storageClassName) ? oldSelf.storageClassName : '')"
).message("storage.storageClassName cannot be changed: members keep their volumes; make a new cluster"))]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.size) || (has(self.size) && quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0)"
).message("storage.size cannot shrink: volumes only grow"))]
pub struct Storage {
    /// The size of each member's volume. Default: 1Gi. It may grow later, where the StorageClass allows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))")
        .message("storage.size must be a quantity of bytes above 0, such as 2Gi"))]
    pub size: Option<String>,

    /// The StorageClass of the volumes. Unset: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub storage_class_name: Option<String>,

    /// Whether members keep their data in their pods only, and lose it with them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,

    /// What becomes of a member's volume when the member is removed or the cluster deleted.
    #[serde(default, skip_serializing_if = "OnDelete::is_retain")]
    pub on_delete: OnDelete,
}

/// What becomes of volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnDelete {
    /// They stay, for a person to look at and delete.
    #[default]
    Retain,
    /// They are deleted.
    Delete,
}

impl OnDelete {
    fn is_retain(&self) -> bool {
        *self == Self::Retain
    }
}
