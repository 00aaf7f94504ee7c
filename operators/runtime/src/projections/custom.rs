//! Pure: custom resources.

use std::collections::BTreeMap;
use std::fmt::Debug;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::cache::Projection;
use crate::plan::meta::{Meta, Owner, RESTARTED_AT, ResourceKind};

mod unbounded;

/// A custom resource as planners see it.
#[derive(Debug)]
pub struct Custom<K: CustomKind> {
    /// Its metadata.
    pub meta: Meta,
    /// When a restart was last requested, from the annotation that `kubectl rollout restart` writes.
    pub restarted_at: Option<Box<str>>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When its deletion was requested.
    pub deleted: Option<Timestamp>,
    /// The annotations that its kind reads.
    pub annotations: BTreeMap<&'static str, Box<str>>,
    /// The object that it belongs to, from its spec.
    owner: Option<Owner>,
    /// When its decoded spec last changed within one generation.
    reread: Option<Instant>,
    /// The desired state.
    pub spec: K::Spec,
    /// The last written status; the default if it does not decode, since the operator rewrites it.
    pub status: K::Status,
}

// Not derived, since that would require `K: Clone`.
impl<K: CustomKind> Clone for Custom<K>
where
    K::Spec: Clone,
    K::Status: Clone,
{
    fn clone(&self) -> Self {
        Self {
            meta: self.meta.clone(),
            restarted_at: self.restarted_at.clone(),
            created: self.created,
            deleted: self.deleted,
            annotations: self.annotations.clone(),
            owner: self.owner.clone(),
            reread: self.reread,
            spec: self.spec.clone(),
            status: self.status.clone(),
        }
    }
}

/// Names the kind of a [`Custom`].
pub trait CustomKind: Debug + Send + Sync + 'static {
    /// The kind.
    const KIND: ResourceKind;
    /// The annotations that planners of this kind read.
    const ANNOTATIONS: &'static [&'static str] = &[];
    /// The paths of fields of the spec whose size the CRD does not limit: an object in which they are too long does not decode.
    const FREE: &'static [&'static str] = &[];
    /// The desired state.
    type Spec: DeserializeOwned + PartialEq + Debug + Send + Sync;
    /// The observed state.
    type Status: api::ObjectStatus + Debug;

    /// The managed object that an object with this spec belongs to, which need not be its owner.
    fn belongs_to(_: &Self::Spec) -> Option<Owner> {
        None
    }

    /// Reads the spec from the JSON of the object.
    ///
    /// # Errors
    /// If the object's spec is not of this type.
    fn spec(json: &str) -> serde_json::Result<Self::Spec> {
        #[derive(Deserialize)]
        struct Wire<S> {
            spec: S,
        }
        serde_json::from_str::<Wire<Self::Spec>>(json).map(|wire| wire.spec)
    }
}

/// A custom resource, whatever its kind.
pub trait Resource: Projection {
    /// The observed state.
    type Status: api::ObjectStatus;
    /// The last written status.
    fn status(&self) -> &Self::Status;
}

impl<K: CustomKind> Resource for Custom<K> {
    type Status = K::Status;
    fn status(&self) -> &K::Status {
        &self.status
    }
}

/// The status is decoded separately, since an undecodable one must not affect the rest. The metadata is decoded twice, which is
/// cheaper than the buffering of serde's `flatten`.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotated {
    #[serde(default)]
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    deletion_timestamp: Option<Timestamp>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

fn known(names: &[&'static str], annotations: &BTreeMap<String, String>) -> BTreeMap<&'static str, Box<str>> {
    names.iter().filter_map(|name| Some((*name, annotations.get(*name)?.as_str().into()))).collect()
}

impl<K: CustomKind> Projection for Custom<K> {
    const KIND: ResourceKind = K::KIND;
    const SELECTED: bool = false;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let head: Head<'_> = serde_json::from_str(json)?;
        let annotated: Annotated = serde_json::from_str(head.metadata.get())?;
        unbounded::bound(json, K::FREE)?;
        let spec = K::spec(json)?;
        Ok(Self {
            owner: K::belongs_to(&spec),
            reread: None,
            spec,
            meta: serde_json::from_str(head.metadata.get())?,
            restarted_at: annotated.annotations.get(RESTARTED_AT).map(|at| at.as_str().into()),
            created: annotated.creation_timestamp,
            deleted: annotated.deletion_timestamp,
            annotations: known(K::ANNOTATIONS, &annotated.annotations),
            status: head.status.and_then(|status| serde_json::from_str(status.get()).ok()).unwrap_or_default(),
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref().or_else(|| self.meta.controller.as_ref().map(|c| &c.owner))
    }

    fn carry_over(&mut self, before: Option<&Self>, now: Instant) {
        let Some(before) = before.filter(|before| before.meta.generation == self.meta.generation) else { return };
        self.reread = if before.spec == self.spec { before.reread } else { Some(now) };
    }

    fn reread(&self) -> Option<Instant> {
        self.reread
    }

    fn only_own_fields_changed(&self, before: &Self) -> bool {
        self.spec == before.spec && self.restarted_at == before.restarted_at && self.annotations == before.annotations
    }

    fn has_same_content(&self, before: &Self) -> bool {
        self.only_own_fields_changed(before) && self.status == before.status
    }
}

#[cfg(test)]
mod tests {
    use api::sample::SampleStatus;
    use serde_json::{Value, json};

    use super::*;
    use crate::cache::{CacheEntry, Store};
    use crate::plan::meta::Key;

    #[derive(Debug)]
    struct Sample;

    impl CustomKind for Sample {
        const KIND: ResourceKind =
            ResourceKind { group: "example.com", version: "v1alpha1", kind: "Sample", plural: "samples" };
        type Spec = BTreeMap<String, String>;
        type Status = SampleStatus;
    }

    #[test]
    fn a_spec_that_changes_within_one_generation_is_noticed() {
        let store = Store::<Custom<Sample>>::new(1);
        let key = Key { namespace: "n".into(), name: "a".into() };
        let reread = |generation: i64, spec: &Value| {
            let object = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": "1",
                "generation": generation }, "spec": spec });
            store.apply(CacheEntry::decode(&object.to_string()).unwrap());
            store.get(&key).unwrap().reread()
        };
        let (whole, cut) = (json!({ "a": "1", "b": "2" }), json!({ "a": "1" }));
        assert_eq!(reread(1, &whole), None);
        let since = reread(1, &cut);
        assert!(since.is_some());
        assert_eq!(reread(1, &cut), since, "the status was written since");
        assert!(reread(1, &whole).is_some(), "our CRD is back");
        assert_eq!(reread(2, &cut), None, "a user has edited the spec");
        assert!(reread(2, &json!("nothing of the kind")).is_some(), "it does not decode");
    }
}
