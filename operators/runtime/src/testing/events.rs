//! What stores have yet to be told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::cache::{Entry, Projection, Store};
use crate::plan::meta::{Key, Kind, MANAGED_BY, MANAGER};

/// A change to an object, gone if there is none.
struct Event {
    kind: Kind,
    key: Key,
    object: Option<Value>,
    /// Whether it is that of a write by the operator under test.
    ours: bool,
}

type Feed = Box<dyn Fn(&Event)>;

/// Events that wait, and the stores that are fed with them.
#[derive(Default)]
pub(super) struct Events {
    feeds: Vec<Feed>,
    waiting: VecDeque<Event>,
    /// What stores have been told of each object last.
    pub(super) shown: BTreeMap<(&'static str, Key), Value>,
    /// Whether it is the operator under test that writes.
    pub(super) ours: bool,
}

impl Events {
    pub(super) fn feed<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        let store = store.clone();
        self.feeds.push(Box::new(move |event| {
            if event.kind != V::KIND {
                return;
            }
            let selected = |object: &&Value| !V::SELECTED || object["metadata"]["labels"][MANAGED_BY] == MANAGER;
            match event.object.as_ref().filter(selected) {
                Some(object) => store.apply(Entry::decode(&object.to_string()).expect("objects here have names")),
                None => store.delete(&event.key),
            }
        }));
    }

    pub(super) fn push(&mut self, kind: Kind, key: Key, object: Option<Value>) {
        self.waiting.push_back(Event { kind, key, object, ours: self.ours });
    }

    pub(super) fn deliver(&mut self, count: usize) {
        for _ in 0..count {
            let Some(event) = self.waiting.pop_front() else { return };
            self.show(event);
        }
    }

    pub(super) fn deliver_of(&mut self, kind: Kind, count: usize) {
        for _ in 0..count {
            let next = self.waiting.iter().position(|event| event.kind == kind);
            let Some(event) = next.and_then(|next| self.waiting.remove(next)) else { return };
            self.show(event);
        }
    }

    /// Forgets all of one kind: its watch has ended.
    pub(super) fn forget(&mut self, kind: Kind) {
        self.waiting.retain(|event| event.kind != kind);
        self.shown.retain(|(plural, _), _| *plural != kind.plural);
    }

    fn show(&mut self, event: Event) {
        self.feeds.iter().for_each(|feed| feed(&event));
        let id = (event.kind.plural, event.key);
        match event.object {
            Some(object) => drop(self.shown.insert(id, object)),
            None => drop(self.shown.remove(&id)),
        }
    }

    pub(super) fn catch_up(&mut self) {
        while let Some(kind) = self.waiting.iter().find(|event| event.ours).map(|event| event.kind) {
            self.deliver_of(kind, 1);
        }
    }
}
