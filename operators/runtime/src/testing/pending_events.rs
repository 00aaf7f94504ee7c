//! Events that are not delivered yet.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::cache::{CacheEntry, Projection, Store};
use crate::plan::meta::{Key, MANAGED_BY, MANAGER, ResourceKind};

/// A change of an object; without an object, its deletion.
struct ClusterEvent {
    kind: ResourceKind,
    key: Key,
    object: Option<Value>,
    /// Whether the operator under test wrote it.
    ours: bool,
}

type EventSink = Box<dyn Fn(&ClusterEvent)>;

/// The undelivered events, and the stores that receive them.
#[derive(Default)]
pub(super) struct PendingEvents {
    feeds: Vec<EventSink>,
    waiting: VecDeque<ClusterEvent>,
    /// Each object as last delivered.
    pub(super) cached: BTreeMap<(&'static str, Key), Value>,
    /// Whether the operator under test is writing.
    pub(super) ours: bool,
}

impl PendingEvents {
    pub(super) fn feed<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        let store = store.clone();
        self.feeds.push(Box::new(move |event| {
            if event.kind != V::KIND {
                return;
            }
            let selected = |object: &&Value| !V::SELECTED || object["metadata"]["labels"][MANAGED_BY] == MANAGER;
            match event.object.as_ref().filter(selected) {
                Some(object) => store.apply(CacheEntry::decode(&object.to_string()).expect("objects here have names")),
                None => store.delete(&event.key),
            }
        }));
    }

    pub(super) fn push(&mut self, kind: ResourceKind, key: Key, object: Option<Value>) {
        self.waiting.push_back(ClusterEvent { kind, key, object, ours: self.ours });
    }

    pub(super) fn deliver_events(&mut self, count: usize) {
        for _ in 0..count {
            let Some(event) = self.waiting.pop_front() else { return };
            self.deliver_event(event);
        }
    }

    pub(super) fn deliver_events_of(&mut self, kind: ResourceKind, count: usize) {
        for _ in 0..count {
            let next = self.waiting.iter().position(|event| event.kind == kind);
            let Some(event) = next.and_then(|next| self.waiting.remove(next)) else { return };
            self.deliver_event(event);
        }
    }

    /// Forgets the events of one kind, whose watch has ended.
    pub(super) fn forget(&mut self, kind: ResourceKind) {
        self.waiting.retain(|event| event.kind != kind);
        self.cached.retain(|(plural, _), _| *plural != kind.plural);
    }

    fn deliver_event(&mut self, event: ClusterEvent) {
        self.feeds.iter().for_each(|feed| feed(&event));
        let id = (event.kind.plural, event.key);
        match event.object {
            Some(object) => drop(self.cached.insert(id, object)),
            None => drop(self.cached.remove(&id)),
        }
    }

    pub(super) fn deliver_own_writes(&mut self) {
        while let Some(kind) = self.waiting.iter().find(|event| event.ours).map(|event| event.kind) {
            self.deliver_events_of(kind, 1);
        }
    }
}
