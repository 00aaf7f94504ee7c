//! The type of an object for kube's watcher: its metadata, and what the store keeps.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::cache::{CacheEntry, Projection};

/// An object on its way from the API server to a store. kube's watcher needs only its version.
pub(super) struct WatchedObject<V> {
    meta: ObjectMeta,
    pub(super) entry: CacheEntry<V>,
}

impl<V> Clone for WatchedObject<V> {
    fn clone(&self) -> Self {
        Self { meta: self.meta.clone(), entry: self.entry.clone() }
    }
}

impl<V> std::fmt::Debug for WatchedObject<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("meta", &self.meta).finish_non_exhaustive()
    }
}

impl<'de, V: Projection> Deserialize<'de> for WatchedObject<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let entry = CacheEntry::<V>::decode(raw.get()).map_err(serde::de::Error::custom)?;
        let meta = entry.meta();
        let meta = ObjectMeta {
            name: Some(meta.key.name.to_string()),
            namespace: Some(meta.key.namespace.to_string()),
            resource_version: Some(meta.resource_version.to_string()),
            ..ObjectMeta::default()
        };
        Ok(Self { meta, entry })
    }
}

impl<V: Projection> kube::Resource for WatchedObject<V> {
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
