//! Volume of the database's data.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Default size of the data volume.
pub const DEFAULT_SIZE: &str = "1Gi";

/// Volume of the database's data; it outlives pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseStorage {
    /// Size of the volume, 64Mi to 1Pi. Default: 1Gi. Can be increased, where the StorageClass allows that; a volume
    /// never shrinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(bytes("64Mi")).message(
        "storage.size must be a quantity of bytes from 64Mi to 1Pi, such as 10Gi"
    ))]
    pub size: Option<String>,

    /// StorageClass of the volume. Default: the cluster's at creation, latched in status. Cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message(CLASS_MESSAGE))]
    pub storage_class_name: Option<String>,
}

impl DatabaseStorage {
    /// The requested size.
    #[must_use]
    pub fn size(&self) -> &str {
        self.size.as_deref().unwrap_or(DEFAULT_SIZE)
    }
}

/// CEL rule of a quantity of bytes, in notations without a relevant fraction.
pub(super) fn bytes(least: &str) -> String {
    format!(
        "self.matches('^[0-9]{{1,18}}([.][0-9]{{1,3}})?([kMGTP]|[KMGTP]i)?$') && isQuantity(self) && \
         quantity(self).compareTo(quantity('{least}')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0"
    )
}

/// CEL rule of an object's name.
pub(super) const NAME: &str = "!format.dns1123Subdomain().validate(self).hasValue()";

pub(super) const CLASS_MESSAGE: &str =
    "storageClassName must be the name of a StorageClass, such as standard; omit it to use the default one";

/// CEL expression of a text in the spec, by its path; `unset` is its value if it is absent. (Not `orValue`: the API
/// server knows no bound for its result, and rejects the rule as too costly.)
pub(super) fn given(spec: &str, path: &[&str], unset: &str) -> String {
    let path = path.iter().map(|field| format!(".{field}")).collect::<Vec<_>>();
    let there = (1..=path.len()).map(|end| format!("has({spec}{})", path[..end].concat())).collect::<Vec<_>>();
    format!("({} ? {spec}{} : {unset})", there.join(" && "), path.concat())
}

/// CEL rule that a text of the spec does not change.
pub(crate) fn unchanged(path: &[&str], unset: &str) -> String {
    format!("{} == {}", given("self", path, unset), given("oldSelf", path, unset))
}
