//! Pure: our StatefulSets.

use serde::Deserialize;

use super::managed_fields::ManagedFieldsReader;
use crate::apply::drift::Fingerprint;
use crate::cache::Projection;
use crate::plan::meta::{Meta, ResourceKind};

/// A StatefulSet: identity, drift, and its status.
#[derive(Debug)]
pub struct StatefulSet {
    /// Its metadata.
    pub meta: Meta,
    /// The fingerprint of its owned part.
    pub fingerprint: Fingerprint,
    /// The desired number of pods.
    pub replicas: i32,
    /// What the StatefulSet controller reports.
    pub status: StatefulSetStatus,
}

/// The status of a StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatefulSetStatus {
    /// The generation of these fields.
    pub observed_generation: i64,
    /// Pods that exist.
    pub replicas: i32,
    /// Pods that are ready.
    pub ready_replicas: i32,
    /// The revision of the present template: a pod with another one in its label `controller-revision-hash` is outdated.
    pub update_revision: String,
}

impl Projection for StatefulSet {
    const KIND: ResourceKind =
        ResourceKind { group: "apps", version: "v1", kind: "StatefulSet", plural: "statefulsets" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        #[derive(Default, Deserialize)]
        struct Spec {
            replicas: Option<i32>,
        }
        let live = ManagedFieldsReader::read(json)?;
        Ok(Self {
            fingerprint: live.fingerprint()?,
            replicas: live.field::<Spec>("spec")?.replicas.unwrap_or(1),
            status: live.field::<Option<StatefulSetStatus>>("status")?.unwrap_or_default(),
            meta: live.meta,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn only_own_fields_changed(&self, before: &Self) -> bool {
        self.status == before.status
    }

    fn has_same_content(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint && self.replicas == before.replicas && self.status == before.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_read() {
        let set = serde_json::json!({
            "metadata": { "namespace": "n", "name": "a" },
            "spec": { "replicas": 1 },
            "status": { "observedGeneration": 2, "replicas": 1, "readyReplicas": 1, "updateRevision": "a-1" },
        });
        let set = StatefulSet::decode(&set.to_string()).unwrap();
        assert_eq!((set.replicas, set.status.ready_replicas, &*set.status.update_revision), (1, 1, "a-1"));
    }
}
