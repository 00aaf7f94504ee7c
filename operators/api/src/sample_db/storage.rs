//! Where the database keeps its data.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{ADDED_BEFORE, NotBuilt};

/// The size of the data volume unless the spec says so.
pub const DEFAULT_SIZE: &str = "1Gi";

/// Where the database keeps its data: one volume, which outlives pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// The size of the volume, a quantity of bytes. Default: 1Gi. It may grow later, where the StorageClass allows
    /// that; a volume never shrinks, whatever is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(bytes("64Mi")).message(
        "storage.size must be a quantity of bytes from 64Mi to 1Pi, such as 10Gi"
    ))]
    pub size: Option<String>,

    /// The StorageClass of the volume. Unset: the default one at creation, latched in status. Cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message(CLASS_MESSAGE))]
    pub storage_class_name: Option<String>,

    /// Growing by itself. Not built yet: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(ADDED_BEFORE).optional_old_self(true).message(
        "storage.autogrow is not built yet: leave it out, and give a larger storage.size when the volume fills"
    ))]
    pub autogrow: Option<NotBuilt>,
}

impl Storage {
    /// The size asked for.
    #[must_use]
    pub fn size(&self) -> &str {
        self.size.as_deref().unwrap_or(DEFAULT_SIZE)
    }
}

/// The rule of a quantity of bytes, in a spelling that leaves no fraction of them worth speaking of.
pub(super) fn bytes(least: &str) -> String {
    format!(
        "self.matches('^[0-9]{{1,18}}([.][0-9]{{1,3}})?([kMGTP]|[KMGTP]i)?$') && isQuantity(self) && \
         quantity(self).compareTo(quantity('{least}')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0"
    )
}

/// The rule of an object's name.
pub(super) const NAME: &str = "!format.dns1123Subdomain().validate(self).hasValue()";

pub(super) const CLASS_MESSAGE: &str =
    "storageClassName must be the name of a StorageClass, such as standard; leave it out for the default one";

/// A text of the spec, by its path, in CEL; if it is not given, what stands for it. (Not by `orValue`, of whose answer
/// the API server knows no bound, and takes a rule for too costly.)
pub(super) fn given(spec: &str, path: &[&str], unset: &str) -> String {
    let path = path.iter().map(|field| format!(".{field}")).collect::<Vec<_>>();
    let there = (1..=path.len()).map(|end| format!("has({spec}{})", path[..end].concat())).collect::<Vec<_>>();
    format!("({} ? {spec}{} : {unset})", there.join(" && "), path.concat())
}

/// The rule that a text of the spec stays as it is.
pub(crate) fn unchanged(path: &[&str], unset: &str) -> String {
    format!("{} == {}", given("self", path, unset), given("oldSelf", path, unset))
}
