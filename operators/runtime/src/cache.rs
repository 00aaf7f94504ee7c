//! Shared caches: one watch and one store per kind, whichever controllers read it.
//!
//! A store holds projections ([`Projection`]) of the objects of one kind. Its watches (one per watched namespace, or one for all)
//! feed it, and it calls its [`ChangeHandler`]s for each object that changed or was deleted. A handler only puts keys into a
//! queue, so a slow or stopped controller never blocks a watch.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::outage::Outages;

mod applied_cache;
mod entry;
mod kind_health;
mod projection;
mod store;
mod watch;
pub mod watch_health;

pub use entry::{CacheEntry, Undecodable};
pub(crate) use kind_health::WatchStates;
pub use kind_health::{KindHealth, WatchState};
pub use projection::Projection;
pub use store::{ChangeHandler, ObjectChange, Store};

/// All stores of the process, and the watches that feed them.
pub struct Cache {
    namespaces: Vec<Option<Arc<str>>>,
    stores: HashMap<TypeId, Box<dyn Any>>,
    health: Vec<Arc<KindHealth>>,
    watches: Vec<StartWatch>,
}

type StartWatch = Box<dyn FnOnce(&Client, &Outages, &CancellationToken, &mut JoinSet<()>)>;

impl Cache {
    /// A cache of these namespaces; an empty list means all of them, with one watch per kind.
    #[must_use]
    pub fn new(namespaces: &[String]) -> Self {
        let namespaces = if namespaces.is_empty() {
            vec![None]
        } else {
            namespaces.iter().map(|n| Some(Arc::from(n.as_str()))).collect()
        };
        Self { namespaces, stores: HashMap::new(), health: Vec::new(), watches: Vec::new() }
    }

    /// The store of that kind, the same at each call. It fills once the cache runs.
    ///
    /// # Panics
    /// Never: a store is stored under its own type.
    pub fn store<V: Projection>(&mut self) -> Arc<Store<V>> {
        if let Some(store) = self.stores.get(&TypeId::of::<V>()) {
            return store.downcast_ref::<Arc<Store<V>>>().expect("stored under its own type").clone();
        }
        let store = Arc::new(Store::<V>::new(self.namespaces.len()));
        self.stores.insert(TypeId::of::<V>(), Box::new(store.clone()));
        self.health.push(store.health().clone());
        for namespace in self.namespaces.clone() {
            let store = store.clone();
            self.watches.push(Box::new(move |client, outages, stop, tasks| {
                tasks.spawn(watch::run(store, client.clone(), namespace, outages.clone(), stop.clone()));
            }));
        }
        store
    }

    /// The health of each kind, in the order in which the stores were created.
    #[must_use]
    pub fn health(&self) -> Vec<Arc<KindHealth>> {
        self.health.clone()
    }

    /// Starts all watches; they end when `stop` is canceled.
    #[must_use]
    pub fn start(self, client: &Client, outages: &Outages, stop: &CancellationToken) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for start in self.watches {
            start(client, outages, stop, &mut tasks);
        }
        tasks
    }
}
