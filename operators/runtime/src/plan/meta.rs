//! Pure: names of things: kinds, keys, owners, labels, and what is kept of an object's metadata.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::{Deserialize, Deserializer};

use crate::names::{LONGEST_LABEL, within};

/// Value of [`MANAGED_BY`] on every child of ours, and prefix of every field manager.
pub const MANAGER: &str = "multi-operator";
/// The common label by which one watch a kind sees the children of all controllers.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label with the lower-case kind of the object that a child belongs to.
pub const NAME: &str = "app.kubernetes.io/name";
/// Label with the name of the object that a child belongs to ([`instance`]).
pub const INSTANCE: &str = "app.kubernetes.io/instance";
/// Label of pods with `<Kind>.<group>` of the object they belong to, which need not be their direct owner.
pub const OWNER_KIND: &str = "multi-operator.example.com/owner-kind";
/// Label of pods that are kept whole though one of Kubernetes' own controllers runs them.
pub const WHOLE: &str = "multi-operator.example.com/whole";
/// Label of what belongs to one object alone, with that object's uid: a pod that bears it is kept whole as well, be it a foreign
/// one that gets requests by it.
pub const OWNER_UID: &str = "multi-operator.example.com/owner-uid";
/// The annotation that `kubectl rollout restart` writes; on an object of ours it restarts the pods.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// The annotation of a pod template with a digest of the objects whose content restarts the pods.
pub const CONTENTS: &str = "multi-operator.example.com/contents";
/// The annotation that names the container which `kubectl logs` and `kubectl exec` mean where none is named.
pub const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
/// OpenShift's annotation of namespaces with the users that pods may run as, which it then fills in.
pub const UID_RANGE: &str = "openshift.io/sa.scc.uid-range";

/// A namespaced kind of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version, for example `v1`.
    pub version: &'static str,
    /// Kind, for example `Deployment`.
    pub kind: &'static str,
    /// Plural as in URLs, for example `deployments`.
    pub plural: &'static str,
}

impl Kind {
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

/// The one owner reference that says who controls a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// The owner's kind and name.
    pub owner: Owner,
    /// The owner's uid.
    pub uid: Box<str>,
}

/// What is kept of every object's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Namespace and name.
    pub key: Key,
    /// Unique among all objects that ever had this name.
    pub uid: Box<str>,
    /// `resourceVersion`; numbers grow with each write to the kind (official since Kubernetes 1.35, KEP-5504).
    pub version: u64,
    /// Grows with each change of the spec.
    pub generation: i64,
    /// Whether deletion has begun.
    pub deleting: bool,
    /// Who controls the object.
    pub controller: Option<Controller>,
    /// What has to be done before it may go.
    pub finalizers: Box<[Box<str>]>,
}

impl Meta {
    /// Whether that finalizer holds it.
    #[must_use]
    pub fn is_held_by(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|held| **held == *finalizer)
    }

    /// Whether the object is controlled by the one with that uid.
    #[must_use]
    pub fn controlled_by(&self, uid: &str) -> bool {
        self.controller.as_ref().is_some_and(|c| &*c.uid == uid)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(WireMeta::deserialize(deserializer)?.into())
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
            Controller { owner: Owner { kind: format!("{}.{group}", o.kind).into(), name: o.name }, uid: o.uid }
        });
        Self {
            key: Key { namespace: wire.namespace, name: wire.name },
            uid: wire.uid,
            version: wire.resource_version.parse().unwrap_or(0),
            generation: wire.generation,
            deleting: wire.deletion_timestamp.is_some(),
            controller,
            finalizers: wire.finalizers.into(),
        }
    }
}

/// The field manager of a controller's applies.
#[must_use]
pub fn field_manager(controller: &str) -> String {
    format!("{MANAGER}-{controller}")
}

/// The metadata of a child: labels by the Kubernetes convention for recommended labels, and its controller.
#[must_use]
pub fn child_meta(kind: &Kind, owner: &Meta) -> ObjectMeta {
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

/// The labels of a child. Nothing is taken over from the owner's own labels.
#[must_use]
pub fn labels(kind: &Kind, owner: &Meta) -> BTreeMap<String, String> {
    let mut labels = selector(kind, owner);
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    labels
}

/// Labels as a selector is written: `a=b,c=d`.
#[must_use]
pub fn selector_text(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// The value of [`INSTANCE`] for an object of that name: the name, or what is made of one that is too long for a label. Pods,
/// claims and Jobs find their object by it, so kinds that have those bound their names.
#[must_use]
pub fn instance(name: &str) -> Cow<'_, str> {
    within(name, LONGEST_LABEL)
}

/// The labels that tell an object's children from all others'.
#[must_use]
pub fn selector(kind: &Kind, owner: &Meta) -> BTreeMap<String, String> {
    BTreeMap::from([
        (NAME.to_owned(), kind.kind.to_lowercase()),
        (INSTANCE.to_owned(), instance(&owner.key.name).into()),
    ])
}

/// The annotations of a child that outlives its owner and so has no owner reference. Argo CD takes what has none for a
/// resource of the Application that its label [`INSTANCE`] names, where it tracks by that label: an Application called as
/// our object is would prune the child as a leftover, and delete it with itself (its documentation, "Sync Options" and
/// "Compare Options").
#[must_use]
pub fn not_for_pruning() -> BTreeMap<String, String> {
    let annotations = [
        ("argocd.argoproj.io/compare-options", "IgnoreExtraneous"),
        ("argocd.argoproj.io/sync-options", "Prune=false,Delete=false"),
    ];
    annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}
