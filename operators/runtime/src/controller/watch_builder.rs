//! Which keys a change of an object or of a child enqueues.

use std::sync::Arc;

use crate::apply::ObjectWriter;
use crate::cache::{KindHealth, ObjectChange, Projection, Store};
use crate::plan::meta::{Key, ResourceKind};
use crate::workqueue::{ObjectVersion, Queue, ResourceVersion, Trigger};

/// Subscribes the queue of a controller to stores.
pub struct WatchBuilder {
    pub(super) queue: Arc<Queue>,
    pub(super) writer: ObjectWriter,
    pub(super) kind: ResourceKind,
    pub(super) health: Vec<Arc<KindHealth>>,
    pub(super) optional: Vec<Arc<KindHealth>>,
}

impl WatchBuilder {
    /// Enqueues the owner at each change or deletion of an object in the store.
    pub fn children<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        let (queue, owner_kind) = (self.queue.clone(), self.kind.qualified());
        self.add(store, move |change| {
            for owner in change.owners.into_iter().flatten().filter(|owner| *owner.kind == owner_kind) {
                let key = Key { namespace: change.key.namespace.clone(), name: owner.name.clone() };
                queue.observe(&key, version(V::KIND, change), None, trigger(change));
            }
        });
    }

    /// The same for a kind that a reconcile can do without, whether it is not served or its watch is stale. When that changes,
    /// all objects are requeued, staggered.
    pub fn optional_children<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        self.children(store);
        self.optional.extend(self.health.pop());
    }

    pub(super) fn objects<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        let queue = self.queue.clone();
        self.add(store, move |change| {
            queue.observe(change.key, version(V::KIND, change), Some(change.generation), trigger(change));
        });
    }

    fn add<V: Projection>(
        &mut self,
        store: &Arc<Store<V>>,
        handler: impl Fn(&ObjectChange<'_>) + Send + Sync + 'static,
    ) {
        store.subscribe(Box::new(handler));
        self.writer.add_store(store);
        self.health.push(store.health().clone());
    }
}

fn trigger(change: &ObjectChange<'_>) -> Trigger {
    match (change.relevant, change.has_foreign_changes) {
        (false, _) => Trigger::None,
        (true, false) => Trigger::UnlessOwn,
        (true, true) => Trigger::Always,
    }
}

fn version(kind: ResourceKind, change: &ObjectChange<'_>) -> ObjectVersion {
    let version = if change.deleted { ResourceVersion::Deleted } else { ResourceVersion::Exact(change.version) };
    ObjectVersion { kind, key: change.key.clone(), version }
}
