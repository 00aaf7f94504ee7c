//! Where members keep their data.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where members keep their data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.ephemeral) || !self.ephemeral || (!has(self.size) && !has(self.storageClassName))"
).message("storage.ephemeral means that there is no volume: leave storage.size and storage.storageClassName out"))]
pub struct Storage {
    /// The size of each member's volume. Default: 1Gi. It may grow later, where the StorageClass allows that. A smaller one
    /// than before is taken, for a growth that was refused to be taken back; volumes that have grown stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(BYTES).message("storage.size must be a quantity of bytes from 1 to 1Pi, such as 2Gi"))]
    pub size: Option<String>,

    /// The StorageClass of the volumes. Unset: the default one. Cannot be changed.
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

/// A quantity of bytes, in a spelling that leaves no fraction of them worth speaking of.
pub(super) const BYTES: &str = "self.matches('^[0-9]+([.][0-9]{1,3})?([kMGTP]|[KMGTP]i)?$') && isQuantity(self) && \
    quantity(self).compareTo(quantity('1')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0";

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
