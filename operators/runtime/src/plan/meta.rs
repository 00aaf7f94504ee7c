//! Pure: kinds, keys, owners, labels, and the metadata that caches keep.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::Deserialize;

use crate::names::{LONGEST_LABEL, within};

/// Value of [`MANAGED_BY`] on all of our children, and prefix of every field manager.
pub const MANAGER: &str = "multi-operator";
/// The common label by which one watch per kind selects the children of all controllers.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label with the lower-case kind of the object that a child belongs to.
pub const NAME: &str = "app.kubernetes.io/name";
/// Label with the name of the object that a child belongs to ([`instance`]).
pub const INSTANCE: &str = "app.kubernetes.io/instance";
/// Label of pods with `<Kind>.<group>` of the object they belong to, which need not be their direct owner.
pub const OWNER_KIND: &str = "multi-operator.example.com/owner-kind";
/// Label of pods whose details are cached although a controller of Kubernetes runs them.
pub const KEEP_DETAILS: &str = "multi-operator.example.com/whole";
/// Label with the uid of the one object that something belongs to: the details of such a pod are cached as well, even those of a
/// foreign one that receives requests because of it.
pub const OWNER_UID: &str = "multi-operator.example.com/owner-uid";
/// The annotation that `kubectl rollout restart` writes; on our custom resources, it restarts the pods.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// The annotation of a pod template with a digest of the objects whose content restarts the pods.
pub const CONTENTS: &str = "multi-operator.example.com/contents";
/// The annotation that names the default container of `kubectl logs` and `kubectl exec`.
pub const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
/// The annotation of OpenShift with the range of UIDs of a namespace, from which it sets the user of pods.
pub const UID_RANGE: &str = "openshift.io/sa.scc.uid-range";

/// A namespaced kind of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResourceKind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version, for example `v1`.
    pub version: &'static str,
    /// Kind, for example `Deployment`.
    pub kind: &'static str,
    /// Plural as in URLs, for example `deployments`.
    pub plural: &'static str,
}

impl ResourceKind {
    /// `group/version`, or the version alone in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// URL path of the collection, in one namespace.
    #[must_use]
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        format!("{root}/{}/namespaces/{namespace}/{}", self.api_version(), self.plural)
    }

    /// URL path of one object.
    #[must_use]
    pub fn path_of(&self, key: &Key) -> String {
        format!("{}/{}", self.path(&key.namespace), key.name)
    }

    /// `<Kind>.<group>`.
    #[must_use]
    pub fn qualified(&self) -> String {
        format!("{}.{}", self.kind, self.group)
    }
}

/// Namespace and name of an object.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl Key {
    /// A key of these two.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of another name in the same namespace.
    #[must_use]
    pub fn sibling(&self, name: &str) -> Self {
        Self { namespace: self.namespace.clone(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The object that a child belongs to, in the child's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// `<Kind>.<group>`.
    pub kind: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// The owner reference of the controller of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerRef {
    /// The owner's kind and name.
    pub owner: Owner,
    /// The owner's uid.
    pub uid: Box<str>,
}

/// The metadata that caches keep of every object.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "WireMeta")]
pub struct Meta {
    /// Namespace and name.
    pub key: Key,
    /// The uid.
    pub uid: Box<str>,
    /// `resourceVersion`, a number that grows with each write to the kind (guaranteed since Kubernetes 1.35, KEP-5504).
    pub resource_version: u64,
    /// The generation, which grows with each change of the spec.
    pub generation: i64,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its controller.
    pub controller: Option<ControllerRef>,
    /// Its finalizers.
    pub finalizers: Box<[Box<str>]>,
}

impl Owner {
    /// The owner of an object that outlives it or is controlled by another one, from the labels of the object.
    #[must_use]
    pub fn from_labels(labels: &BTreeMap<String, String>) -> Option<Self> {
        let label = |name: &str| labels.get(name).map(|value| value.as_str().into());
        Some(Self { kind: label(OWNER_KIND)?, name: label(INSTANCE)? })
    }
}

impl Meta {
    /// Reads the metadata of an object.
    ///
    /// # Errors
    /// If the object has none, or no name.
    pub fn of_object(json: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Object {
            metadata: Meta,
        }
        Ok(serde_json::from_str::<Object>(json)?.metadata)
    }

    /// Whether it has that finalizer.
    #[must_use]
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|of| **of == *finalizer)
    }

    /// Whether the object with that uid controls it.
    #[must_use]
    pub fn controlled_by(&self, uid: &str) -> bool {
        self.controller.as_ref().is_some_and(|c| &*c.uid == uid)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    #[serde(default)]
    namespace: Arc<str>,
    name: Arc<str>,
    #[serde(default)]
    uid: Box<str>,
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    generation: i64,
    #[serde(default)]
    deletion_timestamp: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    owner_references: Vec<WireOwner>,
    #[serde(default)]
    finalizers: Vec<Box<str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOwner {
    api_version: String,
    kind: String,
    name: Arc<str>,
    uid: Box<str>,
    #[serde(default)]
    controller: bool,
}

impl From<WireMeta> for Meta {
    fn from(wire: WireMeta) -> Self {
        let controller = wire.owner_references.into_iter().find(|o| o.controller).map(|o| {
            let group = o.api_version.split_once('/').map_or("", |(group, _)| group);
            ControllerRef { owner: Owner { kind: format!("{}.{group}", o.kind).into(), name: o.name }, uid: o.uid }
        });
        Self {
            key: Key { namespace: wire.namespace, name: wire.name },
            uid: wire.uid,
            resource_version: wire.resource_version.parse().unwrap_or(0),
            generation: wire.generation,
            deleting: wire.deletion_timestamp.is_some(),
            controller,
            finalizers: wire.finalizers.into(),
        }
    }
}

/// The field manager of a controller.
#[must_use]
pub fn field_manager(controller: &str) -> String {
    format!("{MANAGER}-{controller}")
}

/// The metadata of a child: the recommended labels of Kubernetes, and its controller.
#[must_use]
pub fn child_meta(kind: &ResourceKind, owner: &Meta) -> ObjectMeta {
    ObjectMeta {
        labels: Some(labels(kind, owner)),
        owner_references: Some(vec![OwnerReference {
            api_version: kind.api_version(),
            kind: kind.kind.to_owned(),
            name: owner.key.name.to_string(),
            uid: owner.uid.to_string(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }]),
        ..ObjectMeta::default()
    }
}

/// The labels of a child. The labels of the owner are not copied.
#[must_use]
pub fn labels(kind: &ResourceKind, owner: &Meta) -> BTreeMap<String, String> {
    let mut labels = selector(kind, owner);
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    labels
}

/// Labels as a selector is written: `a=b,c=d`.
#[must_use]
pub fn selector_text(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// The value of [`INSTANCE`] for an object of that name: the name, shortened if it is too long for a label. Pods, PVCs and Jobs
/// are mapped to their object by it, so kinds that have those limit the length of their names.
#[must_use]
pub fn instance(name: &str) -> Cow<'_, str> {
    within(name, LONGEST_LABEL)
}

/// The labels that select the children of an object.
#[must_use]
pub fn selector(kind: &ResourceKind, owner: &Meta) -> BTreeMap<String, String> {
    BTreeMap::from([
        (NAME.to_owned(), kind.kind.to_lowercase()),
        (INSTANCE.to_owned(), instance(&owner.key.name).into()),
    ])
}

/// The annotations of a child that outlives its owner and so has no owner reference. If Argo CD tracks resources by the label
/// [`INSTANCE`], it assigns such a child to the Application of that name: an Application with the name of our object would prune
/// the child, and delete it with itself (see "Sync Options" and "Compare Options" in its documentation).
#[must_use]
pub fn argocd_no_prune_annotations() -> BTreeMap<String, String> {
    let annotations = [
        ("argocd.argoproj.io/compare-options", "IgnoreExtraneous"),
        ("argocd.argoproj.io/sync-options", "Prune=false,Delete=false"),
    ];
    annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}
