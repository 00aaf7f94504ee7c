//! PostgreSQL servers in memory: what the operator of databases reaches instead of the network.
//!
//! Data is on volumes, by the uid of their PVC, and outlives servers. A server runs in a pod, by the pod's uid, from when the
//! model of its program starts it until that stops it. Each request takes some simulated milliseconds before and after it takes
//! effect, so a manager can be killed on either side.
//!
//! Rows are a number: the last one that was written, since applications write one after the other. What the model sees that must
//! not happen is a violation ([`PostgresServers::violations`]).
//!
//! Not modelled: sessions of clients, databases other than that of the application, rules and settings that a user changes,
//! servers that are starting or stopping, the size of databases, full volumes, restores, and upgrades to another major version.

use crate::actors::Actor;
use crate::actors::pods::program::Programs;
use crate::api_server::state::StoredState;

mod applications;
mod client;
mod commands;
mod connection;
mod model;
mod oracle;
mod programs;
mod server;
mod snapshots;

pub use model::{DataDirectory, PostgresServer, PostgresServers};

#[cfg(test)]
mod tests;

impl PostgresServers {
    /// The model of the programs in the pods of SampleDBs.
    #[must_use]
    pub fn programs(&self) -> Box<dyn Programs> {
        Box::new(programs::PostgresPrograms::new(self.clone()))
    }

    /// The applications that write to databases.
    #[must_use]
    pub fn applications(&self) -> Box<dyn Actor> {
        Box::new(applications::Applications::new(self.clone()))
    }

    /// What must not have happened, and what is not as it must be at the end.
    #[must_use]
    pub fn violations(&self, state: &StoredState) -> Vec<String> {
        oracle::violations(&self.lock(), state)
    }
}
