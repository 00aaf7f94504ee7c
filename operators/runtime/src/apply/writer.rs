//! Sends the writes of a controller with its field manager, while this manager leads, and reports them to the queue and the
//! stores.

use std::collections::HashMap;
use std::sync::Arc;

use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failed_applies::FailedApplies;
use super::last_applied::LastApplied;
use super::request;
use crate::Error;
use crate::apply::drift::Rendered;
use crate::cache::{KindHealth, Projection, Store};
use crate::leader_election::Fence;
use crate::plan::meta::{Key, Meta, ResourceKind, field_manager};
use crate::workqueue::{Contention, ObjectVersion, Queue, ResourceVersion};

/// Writes for one controller.
pub struct ObjectWriter {
    pub(super) client: Client,
    pub(super) queue: Arc<Queue>,
    /// The controller's field manager.
    pub(super) manager: String,
    pub(super) fence: Fence,
    pub(super) stores: HashMap<ResourceKind, Box<dyn Stored>>,
    pub(super) failed: FailedApplies,
    pub(super) last: LastApplied,
}

/// A store of any kind, as the writer uses it.
pub(super) trait Stored: Send + Sync {
    fn version(&self, key: &Key) -> u64;
    fn applied(&self, key: &Key, rendered: Rendered, version: u64);
    fn health(&self) -> &KindHealth;
    fn may_be_missing(&self) -> bool;
}

impl<V: Projection> Stored for Arc<Store<V>> {
    fn version(&self, key: &Key) -> u64 {
        Store::version(self, key)
    }

    fn applied(&self, key: &Key, rendered: Rendered, version: u64) {
        Store::applied(self, key, rendered, version);
    }

    fn health(&self) -> &KindHealth {
        Store::health(self)
    }

    fn may_be_missing(&self) -> bool {
        V::MAY_BE_MISSING
    }
}

/// The part of a response to a write that is read.
#[derive(Deserialize)]
pub(crate) struct WriteResponse {
    pub(crate) metadata: Meta,
}

impl ObjectWriter {
    /// A writer for that controller, which writes while the fence is open.
    #[must_use]
    pub fn new(client: Client, queue: Arc<Queue>, controller: &str, fence: Fence) -> Self {
        Self {
            client,
            queue,
            manager: field_manager(controller),
            fence,
            stores: HashMap::new(),
            failed: FailedApplies::default(),
            last: LastApplied::default(),
        }
    }

    /// Adds the store of a kind, so that a write that changed nothing is not waited for, and normalizations by the API server are
    /// learned.
    pub fn add_store<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        self.stores.insert(V::KIND, Box::new(store.clone()));
    }

    /// The controller's field manager.
    #[must_use]
    pub fn manager(&self) -> &str {
        &self.manager
    }

    /// The write contention over a child of `owner`, if there is one.
    #[must_use]
    pub fn contention(&self, owner: &Meta) -> Option<Contention> {
        self.queue.contention(&owner.key)
    }

    /// A message about another writer that occasionally changes a child of `owner`, once it has done so often enough.
    #[must_use]
    pub fn slow_contention(&self, owner: &Meta) -> Option<String> {
        self.queue.slow_contention(&owner.key).map(|child| Error::changed_occasionally(&child))
    }

    /// Reads metadata of an object, if the object exists.
    pub(crate) async fn metadata<M: DeserializeOwned>(
        &self,
        kind: &ResourceKind,
        key: &Key,
    ) -> Result<Option<M>, Error> {
        #[derive(Deserialize)]
        struct Partial<M> {
            metadata: M,
        }
        match self.client.request::<Partial<M>>(request::get_metadata(&kind.path_of(key))?).await {
            Ok(found) => Ok(Some(found.metadata)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends one apply to `path`, an object or its status.
    pub(crate) async fn send(
        &self,
        path: &str,
        manager: &str,
        force: bool,
        body: &Value,
    ) -> Result<WriteResponse, Error> {
        self.check_fence()?;
        self.ask(request::apply_request(path, manager, force, body)?, body).await
    }

    /// Sends a request that writes `body`.
    async fn ask(&self, request: http::Request<Vec<u8>>, body: &Value) -> Result<WriteResponse, Error> {
        let bytes = request.body().len();
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let named = |error| Error::from(error).about(&text(&body["kind"]), &text(&body["metadata"]["name"]), bytes);
        self.client.request(request).await.map_err(named)
    }

    pub(super) fn check_fence(&self) -> Result<(), Error> {
        if self.fence.is_open() {
            return Ok(());
        }
        Err(Error::not_leading())
    }

    /// The health of the watches of that kind, and the state of its CRD.
    pub(crate) fn health(&self, kind: &ResourceKind) -> Option<&KindHealth> {
        self.stores.get(kind).map(|store| store.health())
    }

    /// Reports to the queue a write to `key` of that kind, which was made for `owner`.
    pub(crate) fn wrote(&self, owner: &Key, kind: ResourceKind, key: &Key, version: ResourceVersion) {
        let held = self.stores.get(&kind).map_or(0, |store| store.version(key));
        self.queue.wrote(owner, ObjectVersion { kind, key: key.clone(), version }, held);
    }
}
