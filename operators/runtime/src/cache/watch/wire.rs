//! What kube's watcher is given for an object: its metadata, and what the store keeps of it.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::cache::{Entry, Projection};

/// An object on its way from the API server into a store. kube's watcher asks for no more of it than its version.
pub(super) struct Wire<V> {
    meta: ObjectMeta,
    pub(super) entry: Entry<V>,
}

impl<V> Clone for Wire<V> {
    fn clone(&self) -> Self {
        Self { meta: self.meta.clone(), entry: self.entry.clone() }
    }
}

impl<V> std::fmt::Debug for Wire<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("meta", &self.meta).finish_non_exhaustive()
    }
}

impl<'de, V: Projection> Deserialize<'de> for Wire<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let entry = Entry::<V>::decode(raw.get()).map_err(serde::de::Error::custom)?;
        let meta = entry.meta();
        let meta = ObjectMeta {
            name: Some(meta.key.name.to_string()),
            namespace: Some(meta.key.namespace.to_string()),
            resource_version: Some(meta.version.to_string()),
            ..ObjectMeta::default()
        };
        Ok(Self { meta, entry })
    }
}

impl<V: Projection> kube::Resource for Wire<V> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        V::KIND.kind.into()
    }
    fn group((): &()) -> Cow<'_, str> {
        V::KIND.group.into()
    }
    fn version((): &()) -> Cow<'_, str> {
        V::KIND.version.into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        V::KIND.plural.into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}
