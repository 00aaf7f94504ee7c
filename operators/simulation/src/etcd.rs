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

use crate::actors::Actor;
use crate::actors::pods::program::Programs;

mod agent;
mod client;
mod cluster;
mod membership;
mod model;
mod oracle;
mod programs;
mod raft;
mod store;
#[cfg(test)]
mod tests;
mod users;

pub use client::SimulatedEtcdClient;
pub(crate) use cluster::hash;
pub use model::EtcdModel;

impl EtcdModel {
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
}
