//! Performs effects: with `status`, the only module that writes to objects.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Error;
use crate::cache::{Health, Store, View};
use crate::leader::Fence;
use crate::plan::adoption::{self, Verdict};
use crate::plan::drift::Fingerprint;
use crate::plan::meta::{Key, Kind, Meta, field_manager};
use crate::plan::{Apply, Create, Delete, Effect};
use crate::queue::{At, Fight, Queue, Version};

mod aside;
mod repair;
mod request;

pub use aside::Aside;
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
}

/// What writing needs of a store, whatever its kind.
trait Stored: Send + Sync {
    fn version(&self, key: &Key) -> u64;
    fn applied(&self, key: &Key, rendered: Fingerprint, version: u64);
    fn health(&self) -> &Health;
}

impl<V: View> Stored for Arc<Store<V>> {
    fn version(&self, key: &Key) -> u64 {
        Store::version(self, key)
    }

    fn applied(&self, key: &Key, rendered: Fingerprint, version: u64) {
        Store::applied(self, key, rendered, version);
    }

    fn health(&self) -> &Health {
        Store::health(self)
    }
}

/// What is read of every answer.
#[derive(Deserialize)]
pub(crate) struct Answer {
    pub(crate) metadata: Meta,
}

/// Whether garbage collection would take a child away with its owner.
fn goes_with(child: &Value, owner: &Meta) -> bool {
    let owners = child["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|reference| reference["uid"] == *owner.uid))
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

    /// Performs one effect for `owner`, an object of `kind`; `act` does what only its operator can. What `had_children`
    /// may have been deleted without our having seen it, with its children gone before it is.
    ///
    /// # Errors
    /// The failure, classed by what ends it.
    pub async fn perform<X>(
        &self,
        kind: &Kind,
        owner: &Meta,
        had_children: bool,
        effect: Effect<X>,
        act: impl AsyncFnOnce(X) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match effect {
            Effect::Apply(apply) => self.apply(kind, owner, had_children, apply).await,
            Effect::Create(create) => self.create(kind, owner, had_children, create).await,
            Effect::Delete(delete) => self.delete(owner, delete).await,
            Effect::Act(x) => {
                self.check_fence()?;
                act(x).await
            }
        }
    }

    async fn apply(&self, kind: &Kind, owner: &Meta, had_children: bool, apply: Apply) -> Result<(), Error> {
        if apply.repairs && self.repair(owner, &apply).await? {
            return Ok(());
        }
        if apply.gathers {
            self.gather(owner, &apply).await?;
        }
        let uid = match &apply.seen {
            Some(uid) => Some(uid.clone()),
            None => {
                let found = self.look(kind, owner, apply.kind, &apply.key).await?;
                if had_children && goes_with(&apply.body, owner) {
                    self.look_at_owner(kind, owner).await?;
                }
                found
            }
        };
        let path = format!("{}/{}", apply.kind.path(&apply.key.namespace), apply.key.name);
        let manager = match apply.hand_over {
            Some(suffix) => format!("{suffix}/{}", self.manager),
            None => self.manager.clone(),
        };
        let rendered = apply.fingerprint();
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
            store.applied(&apply.key, rendered, version);
            if version == before {
                // Nothing changed, so no event will come; but what was just learned may change the plan.
                self.queue.add(&owner.key);
            }
        }
        self.queue.wrote_child(&owner.key, apply.kind, &apply.key);
        self.wrote(&owner.key, apply.kind, &apply.key, At::Version(version));
        tracing::debug!(child = %apply.key, kind = apply.kind.kind, "applied");
        Ok(())
    }

    async fn create(&self, kind: &Kind, owner: &Meta, had_children: bool, create: Create) -> Result<(), Error> {
        if had_children && goes_with(&create.body, owner) {
            self.look_at_owner(kind, owner).await?;
        }
        self.check_fence()?;
        let path = create.kind.path(&create.key.namespace);
        match self.client.request::<Answer>(create_request(&path, &create.body)?).await {
            Ok(answer) => self.wrote(&owner.key, create.kind, &create.key, At::Version(answer.metadata.version)),
            // If it is ours, the cache does not show it yet: mostly a matter of milliseconds. But somebody may have taken off
            // it the label by which it is watched, and then no wait is long enough: so each try comes later than the last.
            Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => {
                drop(self.look(kind, owner, create.kind, &create.key).await?);
                let (kind, name) = (create.kind.kind, &create.key.name);
                let why = format!("{kind} {name} exists already, and its watch has yet to tell of it");
                return Err(Error::transient("Conflict", why));
            }
            Err(error) => return Err(error.into()),
        }
        self.queue.wrote_child(&owner.key, create.kind, &create.key);
        tracing::debug!(child = %create.key, kind = create.kind.kind, "created");
        Ok(())
    }

    /// One live look before the first apply of a child that the cache does not hold. Returns its uid if it exists.
    async fn look(&self, kind: &Kind, owner: &Meta, child: Kind, key: &Key) -> Result<Option<Box<str>>, Error> {
        #[derive(Deserialize)]
        struct Labelled {
            metadata: Labels,
        }
        #[derive(Deserialize)]
        struct Labels {
            #[serde(default)]
            labels: BTreeMap<String, String>,
        }
        let path = format!("{}/{}", child.path(&key.namespace), key.name);
        let found: Value = match self.client.request(request::get_metadata(&path)?).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            other => other?,
        };
        let unreadable = |error: serde_json::Error| Error::transient("APIServerError", error.to_string());
        let live = Answer::deserialize(&found).map_err(unreadable)?.metadata;
        let labels = Labelled::deserialize(&found).map_err(unreadable)?.metadata.labels;
        let (child, name) = (child.kind, &key.name);
        match adoption::judge(&live, &labels, kind, owner) {
            Verdict::Ours => Ok(Some(live.uid)),
            Verdict::Leaving => {
                Err(Error::blocked("WaitingForDeletion", format!("waiting until the earlier {child} {name} is gone")))
            }
            Verdict::Stranger => Err(Error::Transient {
                reason: "NameTaken".into(),
                message: format!(
                    "{child} {name} exists and does not belong to this {}: delete or rename it, or rename this {}; it is left untouched",
                    kind.kind, kind.kind
                ),
                stalled: true,
            }),
        }
    }

    /// One live look at the owner before a child that it has lost is made or adopted again. If the owner is going too,
    /// the garbage collector would take away what we make, and that as fast as both of us can, until the owner's own
    /// watch tells; and it would take away the orphans that somebody wanted to keep, once we had adopted them.
    async fn look_at_owner(&self, kind: &Kind, owner: &Meta) -> Result<(), Error> {
        let path = format!("{}/{}", kind.path(&owner.key.namespace), owner.key.name);
        let leaving = match self.client.request::<Answer>(request::get_metadata(&path)?).await {
            // What goes on until it may go makes children knowingly.
            Ok(live) => live.metadata.deleting && !owner.deleting || live.metadata.uid != owner.uid,
            Err(kube::Error::Api(status)) if status.code == 404 => true,
            Err(error) => return Err(error.into()),
        };
        if leaving {
            return Err(Error::blocked(Error::OWNER_LEAVING, format!("this {} is being deleted", kind.kind)));
        }
        Ok(())
    }

    async fn delete(&self, owner: &Meta, delete: Delete) -> Result<(), Error> {
        if let Some((kind, key)) = &delete.unless
            && self.exists(*kind, key).await?
        {
            // The cache is behind; the next pass sees what this look has seen.
            return Err(Error::transient("Conflict", format!("{} {key} is still there", kind.kind)));
        }
        let path = format!("{}/{}", delete.kind.path(&delete.key.namespace), delete.key.name);
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

    async fn exists(&self, kind: Kind, key: &Key) -> Result<bool, Error> {
        let path = format!("{}/{}", kind.path(&key.namespace), key.name);
        match self.client.request::<Answer>(request::get_metadata(&path)?).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends one apply to `path`, an object or its status.
    pub(crate) async fn send(&self, path: &str, manager: &str, force: bool, body: &Value) -> Result<Answer, Error> {
        self.check_fence()?;
        Ok(self.client.request(apply_request(path, manager, force, body)?).await?)
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
