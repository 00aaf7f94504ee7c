//! The catalog of releases: a ConfigMap in the manager's own namespace, read by name about once a minute while a database depends
//! on it. Without the ConfigMap, the releases that the program knows apply.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1;
use runtime::cache::Projection;
use runtime::plan::Key;
use runtime::projections::ConfigMap;

use crate::database::catalog::Catalog;
use crate::queries::{ApiQueries, get_object};
use crate::ttl_cache::TtlCache;

/// How long a catalog is used without another read.
const CACHE_TTL: SignedDuration = SignedDuration::from_secs(30);

type CatalogResult = Result<Arc<Catalog>, String>;

/// The catalogs that were read last, by the key of their ConfigMap.
#[derive(Clone, Default)]
pub(crate) struct Catalogs(TtlCache<Key, CatalogResult>);

impl Catalogs {
    /// Returns the releases that are available.
    pub(crate) async fn read(&self, api: &impl ApiQueries, key: &Key, now: Timestamp) -> CatalogResult {
        if let Some(read) = self.0.get(key, CACHE_TTL, now) {
            return read;
        }
        let read = match get_object::<v1::ConfigMap>(api, ConfigMap::KIND, key).await {
            Ok(None) => Ok(Arc::default()),
            Ok(Some(map)) => Catalog::parse(&map.data.unwrap_or_default()).map(Arc::new),
            Err(error) => Err(error.to_string()),
        };
        let read = read.map_err(|why| format!("the catalog, ConfigMap {key}, cannot be read: {why}"));
        self.0.put(key.clone(), read.clone(), CACHE_TTL, now);
        read
    }
}
