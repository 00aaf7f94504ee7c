//! A model of etcd, and of the agent that starts it: clusters by the guarantees of Raft, processes in pods, data on PVCs, and the
//! client through which managers reach them.
//!
//! It is the model of `etcd-cluster/tests/world` for a world with time and faults: a leader has a majority, a log is an index, an
//! acknowledged entry is on a majority, and stays as long as no member votes that has lost its data. What the model sees that must
//! not happen is a violation ([`EtcdModel::violations`]). Answers become what the operator observes by its own code
//! (`etcd_cluster::etcd::responses`).
//!
//! Not modelled: lost, full and corrupt volumes, alarms, authentication, network partitions between members, cluster DNS that
//! does not answer, compaction and snapshots, API v2, and versions before 3.4 and after 3.6.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::actors::Actor;
use crate::actors::pods::program::Programs;
use crate::api_server::state::StoredState;
use crate::random::Random;

mod agent;
mod client;
mod cluster;
mod faults;
mod membership;
mod oracle;
mod programs;
mod store;
#[cfg(test)]
mod tests;
mod users;

pub use client::SimulatedEtcdClient;
pub use faults::EtcdRates;

use faults::EtcdFaults;
use store::Etcds;

/// All etcd clusters of a world. Copies share them.
#[derive(Clone)]
pub struct EtcdModel(Arc<Mutex<Shared>>);

struct Shared {
    etcds: Etcds,
    faults: EtcdFaults,
}

impl EtcdModel {
    /// No clusters, and no faults.
    #[must_use]
    pub fn new(mut random: Random) -> Self {
        let faults = EtcdFaults::new(random.fork());
        Self(Arc::new(Mutex::new(Shared { etcds: Etcds::new(random), faults })))
    }

    /// The model of the programs in the pods of EtcdClusters.
    #[must_use]
    pub fn programs(&self) -> Box<dyn Programs> {
        Box::new(programs::EtcdPrograms::new(self.clone()))
    }

    /// The clients that write to clusters.
    #[must_use]
    pub fn users(&self) -> Box<dyn Actor> {
        Box::new(users::EtcdUsers::new(self.clone()))
    }

    /// A client for a manager.
    #[must_use]
    pub fn client(&self) -> SimulatedEtcdClient {
        SimulatedEtcdClient::new(self.clone())
    }

    /// From now on, calls of managers fail at these rates.
    pub fn set_rates(&self, rates: EtcdRates) {
        self.lock().faults.set(rates);
    }

    /// Kills the process of that number, modulo their count. Returns the name of its pod.
    pub fn kill(&self, number: u64) -> Option<String> {
        self.edit(|etcds| etcds.kill(number))
    }

    /// What must not have happened, and what is not as it must be at the end.
    #[must_use]
    pub fn violations(&self, state: &StoredState) -> Vec<String> {
        self.edit(|etcds| oracle::violations(etcds, state))
    }

    /// Reads or changes the clusters as they are now.
    fn edit<R>(&self, edit: impl FnOnce(&mut Etcds) -> R) -> R {
        let mut shared = self.lock();
        shared.etcds.advance(runtime::clock::now());
        edit(&mut shared.etcds)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
