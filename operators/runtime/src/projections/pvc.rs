//! Pure: our PersistentVolumeClaims. They may outlive their owner, so their labels name it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::managed_fields::ManagedFieldsReader;
use crate::apply::drift::Fingerprint;
use crate::cache::Projection;
use crate::plan::meta::{Meta, Owner, ResourceKind};
use crate::quantity;

/// The prefix of our annotations.
const OURS: &str = "multi-operator.example.com/";

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pvc {
    /// Its metadata.
    pub meta: Meta,
    owner: Option<Owner>,
    /// The fingerprint of its owned part.
    pub fingerprint: Fingerprint,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Our annotations of it.
    pub annotations: BTreeMap<String, String>,
    /// Whether a volume is bound to it.
    pub bound: bool,
    /// Whether its volume was lost.
    pub lost: bool,
    /// Its storage class.
    pub class: Option<String>,
    /// The requested size.
    pub requested: Option<String>,
    /// The capacity of its volume.
    pub capacity: Option<String>,
    /// Whether its file system has yet to be resized, for which some drivers need a restart of the pod.
    pub resizing: bool,
}

impl Pvc {
    /// Whether it requests more than `size`, a quantity.
    #[must_use]
    pub fn is_larger_than(&self, size: &str) -> bool {
        let requested = self.requested.as_deref().and_then(quantity::value);
        requested.zip(quantity::value(size)).is_some_and(|(requested, size)| requested > size)
    }

    /// The size to request: `size`, a quantity, but never less than the present request. Volumes only grow, and a spec that is
    /// reverted after the storage class rejected an expansion must not be rejected as well.
    #[must_use]
    pub fn never_less<'a>(&'a self, size: &'a str) -> &'a str {
        self.requested.as_deref().filter(|_| self.is_larger_than(size)).unwrap_or(size)
    }
}

impl Projection for Pvc {
    const KIND: ResourceKind =
        ResourceKind { group: "", version: "v1", kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let live = ManagedFieldsReader::read(json)?;
        let Wire { metadata: Labelled { labels, mut annotations }, spec, status } = serde_json::from_str(json)?;
        annotations.retain(|name, _| name.starts_with(OURS));
        Ok(Self {
            fingerprint: live.fingerprint()?,
            meta: live.meta,
            owner: Owner::from_labels(&labels),
            labels,
            annotations,
            bound: status.phase == "Bound",
            lost: status.phase == "Lost",
            class: spec.storage_class_name,
            requested: spec.resources.requests.storage,
            capacity: status.capacity.storage,
            resizing: status.conditions.iter().any(|c| c.type_ == "FileSystemResizePending" && c.status == "True"),
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref().or_else(|| self.meta.controller.as_ref().map(|c| &c.owner))
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn has_same_content(&self, before: &Self) -> bool {
        Self { meta: before.meta.clone(), ..self.clone() } == *before
    }
}

#[derive(Deserialize)]
struct Wire {
    metadata: Labelled,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Deserialize)]
struct Labelled {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    storage_class_name: Option<String>,
    resources: WireResources,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireResources {
    requests: Sizes,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    phase: String,
    capacity: Sizes,
    conditions: Vec<WireCondition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sizes {
    storage: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pvc_without_an_owner_reference_has_the_owner_of_its_labels() {
        let claim = serde_json::json!({
            "metadata": { "namespace": "n", "name": "a-1", "labels": {
                "multi-operator.example.com/owner-kind": "Thing.example.com", "app.kubernetes.io/instance": "a" },
                "annotations": { "multi-operator.example.com/record": "{}", "somebody.example.com/else": "" } },
            "spec": { "resources": { "requests": { "storage": "1Gi" } } },
            "status": { "phase": "Bound", "capacity": { "storage": "2Gi" } },
        });
        let claim = Pvc::decode(&claim.to_string()).unwrap();
        assert_eq!(claim.owner().map(|owner| (&*owner.kind, &*owner.name)), Some(("Thing.example.com", "a")));
        assert_eq!(claim.annotations.keys().collect::<Vec<_>>(), ["multi-operator.example.com/record"]);
        assert_eq!((claim.bound, claim.lost), (true, false));
        assert_eq!((claim.requested.as_deref(), claim.capacity.as_deref()), (Some("1Gi"), Some("2Gi")));
    }
}
