//! Pure: the effects of a plan.

use std::convert::Infallible;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::meta::{Key, Meta, ResourceKind};
use crate::apply::drift::repair::{Restore, restoring};
use crate::apply::drift::{Additions, CreatedFingerprint, Fingerprint, are_defaults_known};

/// One effect. Each may fail, and each may be repeated.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect<X = Infallible> {
    /// Creates a child, or changes it to be as rendered.
    Apply(Apply),
    /// Creates a child that is never applied again: a pod, PVC or Job.
    Create(Create),
    /// Deletes a child.
    Delete(Delete),
    /// An act on the live system behind the object, performed by the operator.
    Act(X),
}

/// A server-side apply of a child, with the controller's field manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// The child's kind.
    pub kind: ResourceKind,
    /// The child's namespace and name.
    pub key: Key,
    /// The desired child: all fields that we want to own, and nothing else.
    pub body: Value,
    /// The uid of our child in the cache. Without it, the child is created, or a live read precedes the first apply.
    pub seen: Option<Box<str>>,
    /// Whether a child that the cache does not hold is created with a POST, which costs the API server about half of an apply.
    /// (docs/decisions/040-made-by-a-creation.md)
    pub creates: bool,
    /// Applies as `<this>/<field manager>`: so fields that the controller no longer sends are not removed.
    pub manager_prefix: Option<&'static str>,
    /// Whether others have added fields that must be removed and that an apply would leave: the child is patched instead.
    pub repairs: bool,
    /// Whether we own fields through a creation or a patch, not through an apply.
    pub unapplied: bool,
    /// Whether their ownership is migrated first, so that the apply removes those that it does not send.
    pub migrates_ownership: bool,
    /// The complete child, if others have changed what a creation or a patch of ours has set, and nothing else differs.
    pub live: Option<Arc<str>>,
}

impl Apply {
    /// An apply of `object`, which must serialize to a JSON object.
    ///
    /// # Panics
    /// If `object` cannot be serialized to JSON (all types of k8s-openapi can).
    #[must_use]
    pub fn new(kind: ResourceKind, key: Key, object: &impl Serialize) -> Self {
        let mut body = serde_json::to_value(object).expect("Kubernetes objects are JSON");
        body["apiVersion"] = json!(kind.api_version());
        body["kind"] = json!(kind.kind);
        body["metadata"]["name"] = json!(&*key.name);
        body["metadata"]["namespace"] = json!(&*key.namespace);
        let creates = are_defaults_known(&kind);
        Self {
            kind,
            key,
            body,
            seen: None,
            creates,
            manager_prefix: None,
            repairs: false,
            unapplied: false,
            migrates_ownership: false,
            live: None,
        }
    }

    /// The same for a new child that replaces the present one.
    #[must_use]
    pub fn for_new_child(self) -> Self {
        Self { seen: None, repairs: false, unapplied: false, migrates_ownership: false, live: None, ..self }
    }

    /// Sets exactly these finalizers of ours on an object, with a field manager that owns nothing else.
    #[must_use]
    pub fn finalizers(kind: ResourceKind, meta: &Meta, finalizers: &[&str]) -> Self {
        Self::part(kind, meta, "finalizer", &json!({ "metadata": { "finalizers": finalizers } }))
    }

    /// Sets these fields of an existing object with the field manager `<part>/<field manager>`, which owns nothing else: so this
    /// and other applies do not remove fields of each other.
    #[must_use]
    pub fn part(kind: ResourceKind, meta: &Meta, part: &'static str, fields: &impl Serialize) -> Self {
        let seen = Some(meta.uid.clone());
        Self { seen, manager_prefix: Some(part), ..Self::new(kind, meta.key.clone(), fields) }
    }

    /// The fingerprint of the child after this apply.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_rendered(&self.body)
    }

    /// The fingerprint of the spec alone.
    #[must_use]
    pub fn spec(&self) -> Fingerprint {
        Fingerprint::of_rendered(&self.body["spec"])
    }

    /// This apply, unless the live child is as rendered.
    #[must_use]
    pub fn if_changed(mut self, live: Option<(&Meta, Fingerprint)>) -> Option<Self> {
        if let Some((meta, fingerprint)) = live {
            if fingerprint == self.fingerprint() {
                return None;
            }
            self.seen = Some(meta.uid.clone());
        }
        Some(self)
    }

    /// This apply, unless the live child is as rendered and has no additions to remove.
    #[must_use]
    pub fn if_drifted(self, live: Option<(&Meta, Fingerprint, &Additions)>) -> Option<Self> {
        let Some((meta, fingerprint, additions)) = live else { return Some(self) };
        let repairs = additions.outlast(&self.body);
        if !repairs && self.matches(fingerprint, additions) {
            return None;
        }
        let unapplied = additions.unapplied.as_ref();
        let others = CreatedFingerprint::of_rendered(&self.kind, &self.body).others;
        let migrates_ownership = unapplied.is_some_and(|unapplied| unapplied.first != others);
        let live =
            unapplied.filter(|_| !repairs && !migrates_ownership).and_then(|unapplied| unapplied.live_json.clone());
        Some(Self {
            seen: Some(meta.uid.clone()),
            repairs,
            unapplied: unapplied.is_some(),
            migrates_ownership,
            live,
            ..self
        })
    }

    /// The patch that restores what others have changed or removed; `None` if an apply is needed.
    #[must_use]
    pub fn restore_patch(&self) -> Option<Restore> {
        let live = serde_json::from_str(self.live.as_deref()?).ok()?;
        restoring(&live, &self.body)
    }

    /// Whether a child with that owned part is as rendered, regardless of additions of others.
    #[must_use]
    pub fn matches(&self, fingerprint: Fingerprint, additions: &Additions) -> bool {
        let as_sent = || fingerprint == self.fingerprint();
        let Some(unapplied) = &additions.unapplied else { return as_sent() };
        // A fingerprint other than its own was learned from the response to a write.
        let learned = fingerprint != unapplied.created.others;
        learned && as_sent()
            || unapplied.created.is_created_from(&CreatedFingerprint::of_rendered(&self.kind, &self.body))
    }
}

/// The creation of a child whose spec cannot be changed afterward. If its name is taken, the owner of that object decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Create {
    /// The child's kind.
    pub kind: ResourceKind,
    /// The child's namespace and name.
    pub key: Key,
    /// The child.
    pub body: Value,
}

impl Create {
    /// A creation of `object`, which must serialize to a JSON object.
    ///
    /// # Panics
    /// If `object` cannot be serialized to JSON (all types of k8s-openapi can).
    #[must_use]
    pub fn new(kind: ResourceKind, key: Key, object: &impl Serialize) -> Self {
        let Apply { kind, key, body, .. } = Apply::new(kind, key, object);
        Self { kind, key, body }
    }
}

/// The result of a creation as a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The API server would create the object.
    Accepted,
    /// It would reject it, with this message.
    Rejected(String),
    /// It has not decided, for this reason.
    Unknown(String),
}

/// A deletion of an object with this uid only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The child's kind.
    pub kind: ResourceKind,
    /// The child's namespace and name.
    pub key: Key,
    /// The observed uid.
    pub uid: Box<str>,
    /// The observed version, if the decision depends on fields that may change, such as labels about the content of a volume.
    pub version: Option<u64>,
    /// An object that must not exist, by a live read, such as the pod that uses a volume.
    pub only_if_absent: Option<(ResourceKind, Key)>,
    /// Whether the grace period is 0, for a pod whose work no longer matters.
    pub immediately: bool,
}

impl Delete {
    /// The deletion of an observed object.
    #[must_use]
    pub fn of(kind: ResourceKind, meta: &Meta) -> Self {
        Self {
            kind,
            key: meta.key.clone(),
            uid: meta.uid.clone(),
            version: None,
            only_if_absent: None,
            immediately: false,
        }
    }
}
