//! Performs effects: with `status`, the only module that writes to objects.

use api::ReconcileReason;
use std::collections::HashMap;
use std::sync::Arc;

use kube::Client;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use self::creation::goes_with;
use self::repair::Repaired;
use crate::Error;
use crate::cache::{Health, Store, View};
use crate::leader::Fence;
use crate::plan::drift::Rendered;
use crate::plan::meta::{Key, Kind, Meta, field_manager};
use crate::plan::{Apply, Delete, Effect, Told};
use crate::queue::{At, Fight, Queue, Version};

mod again;
mod aside;
mod creation;
mod repair;
mod request;

pub use aside::{Aside, Beside};
pub(crate) use request::{apply_request, create_request, merge_request};

/// Writes for one controller.
pub struct Writer {
    client: Client,
    queue: Arc<Queue>,
    /// The controller's field manager.
    manager: String,
    fence: Fence,
    stores: HashMap<Kind, Box<dyn Stored>>,
    failed: aside::Failed,
    last: again::Last,
}

/// What writing needs of a store, whatever its kind.
trait Stored: Send + Sync {
    fn version(&self, key: &Key) -> u64;
    fn applied(&self, key: &Key, rendered: Rendered, version: u64);
    fn health(&self) -> &Health;
    fn may_be_missing(&self) -> bool;
}

impl<V: View> Stored for Arc<Store<V>> {
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
            failed: aside::Failed::default(),
            last: again::Last::default(),
        }
    }

    /// Lets it know the store of a kind: a write that changed nothing is not waited for, and what the server makes of
    /// an apply is learned.
    pub fn knows<V: View>(&mut self, store: &Arc<Store<V>>) {
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

    /// Performs one effect for `owner`, an object of `kind` whose status told that; `act` does what only its operator can.
    ///
    /// # Errors
    /// The failure, classed by what ends it.
    pub async fn perform<X>(
        &self,
        kind: &Kind,
        owner: &Meta,
        told: Told,
        effect: Effect<X>,
        act: impl AsyncFnOnce(X) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match effect {
            Effect::Apply(apply) => self.apply(kind, owner, told, apply).await,
            Effect::Create(create) => self.create(kind, owner, told, create).await,
            Effect::Delete(delete) => self.delete(owner, delete).await,
            Effect::Act(x) => {
                self.check_fence()?;
                act(x).await
            }
        }
    }

    async fn apply(&self, kind: &Kind, owner: &Meta, told: Told, apply: Apply) -> Result<(), Error> {
        let child = apply.kind;
        self.apply_served(kind, owner, told, apply).await.map_err(|error| self.doubting(&child, error))
    }

    /// Has the watch look, if a child of a kind that may be missing is refused as if it were: its events of what went with the
    /// kind come before it knows why.
    fn doubting(&self, child: &Kind, error: Error) -> Error {
        let Some(store) = self.stores.get(child).filter(|store| store.may_be_missing()) else { return error };
        let error = error.of_optional(child.kind);
        if error.reason() == ReconcileReason::KindNotServed {
            store.health().doubt();
        }
        error
    }

    async fn apply_served(&self, kind: &Kind, owner: &Meta, told: Told, mut apply: Apply) -> Result<(), Error> {
        if apply.repairs {
            match self.repair(owner, &apply).await? {
                Repaired::Whole => return Ok(()),
                Repaired::InPart => apply.gathers = true,
                Repaired::Nothing => {}
            }
        }
        let uid = match &apply.seen {
            Some(uid) => Some(uid.clone()),
            None if apply.creates && self.make(kind, owner, told, &apply).await? => return Ok(()),
            None => {
                let found = self.look(kind, owner, apply.kind, &apply.key).await?;
                if told.had_children() && goes_with(&apply.body, owner) {
                    self.look_at_owner(kind, owner).await?;
                }
                apply.gathers = apply.creates && found.is_some();
                found
            }
        };
        if self.restore(owner, &apply).await? {
            return Ok(());
        }
        if apply.gathers {
            self.gather(owner, &apply, told).await?;
        }
        let path = apply.kind.path_of(&apply.key);
        let manager = match apply.hand_over {
            Some(suffix) => format!("{suffix}/{}", self.manager),
            None => self.manager.clone(),
        };
        // What an apply beside an earlier creation leaves is not the API server's way of writing, but to be gathered.
        let heals = apply.unapplied && !apply.gathers;
        let rendered = Rendered::of(&apply.kind, &apply.body);
        let place = (apply.kind, apply.key.clone(), apply.hand_over);
        let mut body = apply.body;
        if let Some(uid) = &uid {
            // A precondition: not the object that has taken the name meanwhile.
            body["metadata"]["uid"] = json!(uid);
        }
        let store = self.stores.get(&apply.kind);
        let before = store.map_or(0, |store| store.version(&apply.key));
        // Without force a stranger made since the look shows as a conflict; of our own, edited fields are taken back.
        let answer = self.send(&path, &manager, uid.is_some(), &body).await.map_err(Error::of_child)?;
        let version = answer.metadata.version;
        if let (Some(store), None) = (store, apply.hand_over) {
            if !heals || version == before {
                store.applied(&apply.key, rendered, version);
            }
            if version == before {
                // Nothing changed, so no event will come; but what was just learned may change the plan.
                self.queue.add(&owner.key);
            }
        }
        let is_again = self.last.was(&owner.key, place, rendered.whole) && uid.is_some();
        if version != before && (heals || is_again) {
            self.queue.repaired(&owner.key, apply.kind, &apply.key);
        } else {
            self.queue.wrote_child(&owner.key, apply.kind, &apply.key);
        }
        self.wrote(&owner.key, apply.kind, &apply.key, At::Version(version));
        tracing::debug!(child = %apply.key, kind = apply.kind.kind, "applied");
        Ok(())
    }

    async fn delete(&self, owner: &Meta, delete: Delete) -> Result<(), Error> {
        if let Some((kind, key)) = &delete.unless
            && self.metadata::<IgnoredAny>(kind, key).await?.is_some()
        {
            // The cache is behind; the next pass sees what this look has seen.
            return Err(Error::transient(ReconcileReason::Conflict, format!("{} {key} is still there", kind.kind)));
        }
        let path = delete.kind.path_of(&delete.key);
        self.check_fence()?;
        match self.client.request::<Value>(request::delete(&path, &delete)?).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.queue.wrote_child(&owner.key, delete.kind, &delete.key);
        self.wrote(&owner.key, delete.kind, &delete.key, At::Gone);
        tracing::debug!(child = %delete.key, kind = delete.kind.kind, "deleted");
        Ok(())
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
        self.ask(apply_request(path, manager, force, body)?, body).await
    }

    /// Sends a request that writes `body`.
    async fn ask(&self, request: http::Request<Vec<u8>>, body: &Value) -> Result<Answer, Error> {
        let bytes = request.body().len();
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let named = |error| Error::from(error).about(&text(&body["kind"]), &text(&body["metadata"]["name"]), bytes);
        self.client.request(request).await.map_err(named)
    }

    fn check_fence(&self) -> Result<(), Error> {
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

#[cfg(test)]
mod tests;
