//! The kinds that the API server serves.

use std::sync::{Arc, LazyLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::field_types::FieldTypes;
use super::pages::KnownPages;

#[cfg(test)]
mod tests;

/// The number of a kind.
pub type KindId = usize;

/// A kind in one version.
pub struct Kind {
    /// Its group; empty for the core.
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its name in objects: `Deployment`.
    pub kind: String,
    /// Its name in paths: `deployments`.
    pub plural: String,
    /// Its objects are in namespaces.
    pub namespaced: bool,
    /// It has the subresource `status`.
    pub status: bool,
    /// It has the subresource `scale`.
    pub scale: bool,
    /// How its lists and maps merge.
    pub types: FieldTypes,
    /// The schema of a custom kind: its `openAPIV3Schema`.
    pub schema: Option<Value>,
}

impl Kind {
    /// Its group and version, as in the field `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Its plural and group, as in messages: `deployments.apps`.
    #[must_use]
    pub fn resource(&self) -> String {
        self.with_group(&self.plural)
    }

    /// Its name and group, as in messages: `Deployment.apps`.
    #[must_use]
    pub fn qualified(&self) -> String {
        self.with_group(&self.kind)
    }

    fn with_group(&self, name: &str) -> String {
        if self.group.is_empty() { name.to_owned() } else { format!("{name}.{}", self.group) }
    }
}

/// Where the subresource `scale` of a kind reads and writes: JSON pointers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The desired replicas.
    pub spec: String,
    /// The observed replicas.
    pub status: String,
    /// The selector as a text; `None` if `spec.selector` is one of labels.
    pub selector: Option<String>,
}

/// The kinds that are served.
pub struct Kinds {
    all: Vec<Kind>,
    scales: Vec<Option<ScalePaths>>,
    pages: KnownPages,
}

impl Kinds {
    /// The built-in kinds that the manager, its tests and the actors use, and those of our CRDs. The kinds of the Gateway API are
    /// not among them: clusters may lack them. ([`Self::add`])
    #[must_use]
    pub fn all() -> Arc<Self> {
        /// The same in each world: the schemas of the CRDs take longer to make than a world to run.
        static ALL: LazyLock<Arc<Kinds>> = LazyLock::new(|| {
            let mut kinds = Kinds { all: Vec::new(), scales: Vec::new(), pages: KnownPages::default() };
            for built_in in &BUILT_IN {
                kinds.push(built_in.kind(), built_in.scale.then(replicas));
            }
            api::crds().iter().for_each(|crd| kinds.add(crd));
            Arc::new(kinds)
        });
        ALL.clone()
    }

    /// Adds the kind of a CRD, in each version that is served.
    pub fn add(&mut self, crd: &CustomResourceDefinition) {
        for version in crd.spec.versions.iter().filter(|version| version.served) {
            let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
            let schema = schema.and_then(|schema| serde_json::to_value(schema).ok()).unwrap_or_default();
            let subresources = version.subresources.as_ref();
            let scale = subresources.and_then(|subresources| subresources.scale.as_ref());
            let kind = Kind {
                group: crd.spec.group.clone(),
                version: version.name.clone(),
                kind: crd.spec.names.kind.clone(),
                plural: crd.spec.names.plural.clone(),
                namespaced: crd.spec.scope == "Namespaced",
                status: subresources.is_some_and(|subresources| subresources.status.is_some()),
                scale: scale.is_some(),
                types: FieldTypes::of_custom(&schema),
                schema: Some(schema),
            };
            let scale = scale.map(|scale| ScalePaths {
                spec: pointer(&scale.spec_replicas_path),
                status: pointer(&scale.status_replicas_path),
                selector: Some(scale.label_selector_path.as_deref().map(pointer).unwrap_or_default()),
            });
            self.push(kind, scale);
        }
    }

    fn push(&mut self, kind: Kind, scale: Option<ScalePaths>) {
        self.all.push(kind);
        self.scales.push(scale);
        self.pages = KnownPages::default();
    }

    /// The pages about these kinds that were asked for.
    pub(super) fn pages(&self) -> &KnownPages {
        &self.pages
    }

    /// The kind at a path.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<KindId> {
        self.all.iter().position(|kind| kind.group == group && kind.version == version && kind.plural == plural)
    }

    /// The kind of an object.
    #[must_use]
    pub fn of(&self, api_version: &str, kind: &str) -> Option<KindId> {
        self.all.iter().position(|of| of.kind == kind && of.api_version() == api_version)
    }

    /// The kind with that plural.
    #[must_use]
    pub fn plural(&self, plural: &str) -> Option<KindId> {
        self.all.iter().position(|kind| kind.plural == plural)
    }

    /// The kind of that number.
    #[must_use]
    pub fn get(&self, id: KindId) -> Option<&Kind> {
        self.all.get(id)
    }

    /// Where its subresource `scale` reads and writes, if it has one.
    #[must_use]
    pub fn scale_paths(&self, id: KindId) -> Option<&ScalePaths> {
        self.scales.get(id)?.as_ref()
    }

    /// All kinds, by number.
    pub fn iter(&self) -> impl Iterator<Item = (KindId, &Kind)> {
        self.all.iter().enumerate()
    }
}

/// A built-in kind.
struct BuiltIn {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
    status: bool,
    scale: bool,
}

impl BuiltIn {
    const fn new(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Self {
        Self { group, version, kind, plural, namespaced: true, status: false, scale: false }
    }

    const fn of_cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn with_status(mut self) -> Self {
        self.status = true;
        self
    }

    const fn with_scale(mut self) -> Self {
        self.scale = true;
        self
    }

    fn kind(&self) -> Kind {
        Kind {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
            namespaced: self.namespaced,
            status: self.status,
            scale: self.scale,
            types: FieldTypes::of_built_in(self.plural),
            schema: None,
        }
    }
}

/// Events are served in `events.k8s.io` only, where the manager writes them: the core serves the same objects in another form.
const BUILT_IN: [BuiltIn; 22] = [
    BuiltIn::new("", "v1", "Namespace", "namespaces").of_cluster().with_status(),
    BuiltIn::new("", "v1", "Node", "nodes").of_cluster().with_status(),
    BuiltIn::new("", "v1", "PersistentVolume", "persistentvolumes").of_cluster().with_status(),
    BuiltIn::new("", "v1", "Pod", "pods").with_status(),
    BuiltIn::new("", "v1", "Service", "services").with_status(),
    BuiltIn::new("", "v1", "ConfigMap", "configmaps"),
    BuiltIn::new("", "v1", "Secret", "secrets"),
    BuiltIn::new("", "v1", "ServiceAccount", "serviceaccounts"),
    BuiltIn::new("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims").with_status(),
    BuiltIn::new("", "v1", "ResourceQuota", "resourcequotas").with_status(),
    BuiltIn::new("apps", "v1", "Deployment", "deployments").with_status().with_scale(),
    BuiltIn::new("apps", "v1", "ReplicaSet", "replicasets").with_status().with_scale(),
    BuiltIn::new("apps", "v1", "StatefulSet", "statefulsets").with_status().with_scale(),
    BuiltIn::new("apps", "v1", "ControllerRevision", "controllerrevisions"),
    BuiltIn::new("batch", "v1", "Job", "jobs").with_status(),
    BuiltIn::new("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers").with_status(),
    BuiltIn::new("networking.k8s.io", "v1", "Ingress", "ingresses").with_status(),
    BuiltIn::new("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets").with_status(),
    BuiltIn::new("coordination.k8s.io", "v1", "Lease", "leases"),
    BuiltIn::new("events.k8s.io", "v1", "Event", "events"),
    BuiltIn::new("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    BuiltIn::new("storage.k8s.io", "v1", "StorageClass", "storageclasses").of_cluster(),
];

fn replicas() -> ScalePaths {
    ScalePaths { spec: "/spec/replicas".to_owned(), status: "/status/replicas".to_owned(), selector: None }
}

/// The JSON pointer of a simple JSON path: `.spec.size`.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}
