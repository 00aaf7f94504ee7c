//! The catalog of releases: a ConfigMap in the manager's own namespace, read by name about once a minute while a database
//! asks for it. Without one, what the program itself knows holds.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1;
use runtime::cache::Projection;
use runtime::plan::Key;
use runtime::projections::ConfigMap;

use crate::database::catalog::Catalog;
use crate::queries::{ApiQueries, whole};
use crate::remembered::Remembered;

/// How long what was read is taken for true.
const FRESH: SignedDuration = SignedDuration::from_secs(30);

type Read = Result<Arc<Catalog>, String>;

/// The catalog as it was read last.
#[derive(Clone, Default)]
pub(crate) struct Catalogs(Remembered<Key, Read>);

impl Catalogs {
    /// The releases that are available.
    pub(crate) async fn read(&self, api: &impl ApiQueries, key: &Key, now: Timestamp) -> Read {
        if let Some(read) = self.0.get(key, FRESH, now) {
            return read;
        }
        let read = match whole::<v1::ConfigMap>(api, ConfigMap::KIND, key).await {
            Ok(None) => Ok(Arc::default()),
            Ok(Some(map)) => Catalog::parse(&map.data.unwrap_or_default()).map(Arc::new),
            Err(error) => Err(error.to_string()),
        };
        let read = read.map_err(|why| format!("the catalog, ConfigMap {key}, cannot be read: {why}"));
        self.0.put(key.clone(), read.clone(), FRESH, now);
        read
    }
}
