//! What a change of an object or of a child queues.

use std::sync::Arc;

use crate::apply::Writer;
use crate::cache::{Change, Health, Projection, Store};
use crate::plan::meta::{Key, Kind};
use crate::workqueue::{At, Queue, Trigger, Version};

/// Ties stores to a controller's queue.
pub struct Watches {
    pub(super) queue: Arc<Queue>,
    pub(super) writer: Writer,
    pub(super) kind: Kind,
    pub(super) health: Vec<Arc<Health>>,
    pub(super) optional: Vec<Arc<Health>>,
}

impl Watches {
    /// Changes of these objects queue their owners, on deletion too.
    pub fn children<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        let (queue, owner_kind) = (self.queue.clone(), self.kind.qualified());
        self.add(store, move |change| {
            for owner in change.owners.into_iter().flatten().filter(|owner| *owner.kind == owner_kind) {
                let key = Key { namespace: change.key.namespace.clone(), name: owner.name.clone() };
                queue.observe(&key, version(V::KIND, change), None, news(change));
            }
        });
    }

    /// The same, of a kind without which the rest goes on, be it not served or not seen; when that changes, all objects are
    /// queued, one after another.
    pub fn optional_children<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        self.children(store);
        self.optional.extend(self.health.pop());
    }

    pub(super) fn objects<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        let queue = self.queue.clone();
        self.add(store, move |change| {
            queue.observe(change.key, version(V::KIND, change), Some(change.generation), news(change));
        });
    }

    fn add<V: Projection>(&mut self, store: &Arc<Store<V>>, route: impl Fn(&Change<'_>) + Send + Sync + 'static) {
        store.route(Box::new(route));
        self.writer.knows(store);
        self.health.push(store.health().clone());
    }
}

fn news(change: &Change<'_>) -> Trigger {
    match (change.relevant, change.by_others) {
        (false, _) => Trigger::None,
        (true, false) => Trigger::UnlessOwn,
        (true, true) => Trigger::Always,
    }
}

fn version(kind: Kind, change: &Change<'_>) -> Version {
    let at = if change.deleted { At::Gone } else { At::Version(change.version) };
    Version { kind, key: change.key.clone(), at }
}
