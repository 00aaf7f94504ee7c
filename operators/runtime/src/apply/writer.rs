//! Who writes for a controller: as whom, while it leads, and what the queue and the stores are told of each write.

use std::collections::HashMap;
use std::sync::Arc;

use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::again::Last;
use super::failed::Failed;
use super::request;
use crate::Error;
use crate::apply::drift::Rendered;
use crate::cache::{Health, Projection, Store};
use crate::leader_election::Fence;
use crate::plan::meta::{Key, Kind, Meta, field_manager};
use crate::workqueue::{At, Fight, Queue, Version};

/// Writes for one controller.
pub struct Writer {
    pub(super) client: Client,
    pub(super) queue: Arc<Queue>,
    /// The controller's field manager.
    pub(super) manager: String,
    pub(super) fence: Fence,
    pub(super) stores: HashMap<Kind, Box<dyn Stored>>,
    pub(super) failed: Failed,
    pub(super) last: Last,
}

/// What writing needs of a store, whatever its kind.
pub(super) trait Stored: Send + Sync {
    fn version(&self, key: &Key) -> u64;
    fn applied(&self, key: &Key, rendered: Rendered, version: u64);
    fn health(&self) -> &Health;
    fn may_be_missing(&self) -> bool;
}

impl<V: Projection> Stored for Arc<Store<V>> {
    fn version(&self, key: &Key) -> u64 {
        Store::version(self, key)
    }

    fn applied(&self, key: &Key, rendered: Rendered, version: u64) {
        Store::applied(self, key, rendered, version);
    }

    fn health(&self) -> &Health {
        Store::health(self)
    }

    fn may_be_missing(&self) -> bool {
        V::MAY_BE_MISSING
    }
}

/// What is read of every answer.
#[derive(Deserialize)]
pub(crate) struct Answer {
    pub(crate) metadata: Meta,
}

impl Writer {
    /// Writes as that controller, while the fence is open, and tells its queue.
    #[must_use]
    pub fn new(client: Client, queue: Arc<Queue>, controller: &str, fence: Fence) -> Self {
        Self {
            client,
            queue,
            manager: field_manager(controller),
            fence,
            stores: HashMap::new(),
            failed: Failed::default(),
            last: Last::default(),
        }
    }

    /// Lets it know the store of a kind: a write that changed nothing is not waited for, and what the server makes of
    /// an apply is learned.
    pub fn knows<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        self.stores.insert(V::KIND, Box::new(store.clone()));
    }

    /// The controller's field manager.
    #[must_use]
    pub fn manager(&self) -> &str {
        &self.manager
    }

    /// The fight over a child of `owner` with another writer, if there is one.
    #[must_use]
    pub fn fight(&self, owner: &Meta) -> Option<Fight> {
        self.queue.fight(&owner.key)
    }

    /// What to say of somebody who changes a child of `owner` now and then, once each time that this has happened often enough.
    #[must_use]
    pub fn slow_fight(&self, owner: &Meta) -> Option<String> {
        self.queue.slow_fight(&owner.key).map(|child| Error::changed_again_and_again(&child))
    }

    /// What is read of an object's metadata, if it is there.
    pub(crate) async fn metadata<M: DeserializeOwned>(&self, kind: &Kind, key: &Key) -> Result<Option<M>, Error> {
        #[derive(Deserialize)]
        struct Found<M> {
            metadata: M,
        }
        match self.client.request::<Found<M>>(request::get_metadata(&kind.path_of(key))?).await {
            Ok(found) => Ok(Some(found.metadata)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends one apply to `path`, an object or its status.
    pub(crate) async fn send(&self, path: &str, manager: &str, force: bool, body: &Value) -> Result<Answer, Error> {
        self.check_fence()?;
        self.ask(request::apply_request(path, manager, force, body)?, body).await
    }

    /// Sends a request that writes `body`.
    async fn ask(&self, request: http::Request<Vec<u8>>, body: &Value) -> Result<Answer, Error> {
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

    /// How the watches of that kind fare, and its CRD.
    pub(crate) fn health(&self, kind: &Kind) -> Option<&Health> {
        self.stores.get(kind).map(|store| store.health())
    }

    /// Tells the queue of a write to `key` of that kind, made for `owner`.
    pub(crate) fn wrote(&self, owner: &Key, kind: Kind, key: &Key, at: At) {
        let held = self.stores.get(&kind).map_or(0, |store| store.version(key));
        self.queue.wrote(owner, Version { kind, key: key.clone(), at }, held);
    }
}
