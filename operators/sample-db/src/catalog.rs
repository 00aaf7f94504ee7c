//! The catalog of releases: a ConfigMap in the manager's own namespace, read by name about once a minute while a database
//! asks for it. Without one, what the program itself knows holds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use runtime::Error;
use runtime::plan::Key;

use crate::plan::catalog::Catalog;

/// How long what was read is taken for true.
const FRESH: Duration = Duration::from_secs(30);

type Read = Result<Arc<Catalog>, String>;

/// Reads the catalog.
pub(crate) struct Catalogs {
    client: Client,
    key: Key,
    held: Mutex<Option<(Instant, Read)>>,
}

impl Catalogs {
    pub(crate) fn new(client: Client, key: Key) -> Self {
        Self { client, key, held: Mutex::default() }
    }

    /// The releases that can be had.
    pub(crate) async fn look(&self) -> Read {
        let fresh = self.lock().as_ref().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, read)| read.clone());
        if let Some(read) = fresh {
            return read;
        }
        let read = self.read().await;
        *self.lock() = Some((Instant::now(), read.clone()));
        read
    }

    async fn read(&self) -> Read {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.key.namespace);
        match api.get_opt(&self.key.name).await {
            Ok(None) => Ok(Arc::default()),
            Ok(Some(map)) => {
                let read = Catalog::parse(&map.data.unwrap_or_default()).map(Arc::new);
                read.map_err(|why| format!("the catalog, ConfigMap {}, cannot be read: {why}", self.key))
            }
            Err(error) => Err(format!("the catalog, ConfigMap {}, cannot be read: {}", self.key, Error::from(error))),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Instant, Read)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
