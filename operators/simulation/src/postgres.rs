//! PostgreSQL servers in memory: what the operator of databases reaches instead of the network.
//!
//! Data is on volumes, by the uid of their PVC, and outlives servers. A server runs in a pod, by the pod's uid, from when the
//! model of its program starts it until that stops it. Each request takes some simulated milliseconds before and after it takes
//! effect, so a manager can be killed on either side.
//!
//! Not modelled: rows, sessions of clients, databases other than that of the application, rules and settings that a user changes,
//! servers that are starting or stopping, and the size of databases. Nothing in a world starts a server yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_protocol::PgUpgradeResult;

mod client;

#[cfg(test)]
mod tests;

/// A data directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataDirectory {
    /// PostgreSQL's identifier of the data.
    pub system_identifier: String,
    /// The superuser's password.
    pub superuser_password: String,
    /// The application's password, once it has a role.
    pub app_password: Option<String>,
    /// Whether the rules admit the superuser only.
    pub blocks_clients: bool,
    /// The parameters that were set over a connection (ALTER SYSTEM).
    pub settings: BTreeMap<String, String>,
    /// The record of a copy that is complete, until the server serves.
    pub copy: Option<PgUpgradeResult>,
}

/// A server that accepts connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresServer {
    /// The uid of the PVC with its data.
    pub volume: String,
    /// Its release, such as 17.12.
    pub version: String,
    /// The parameters of the mounted file, as the kubelet last wrote it.
    pub mounted: BTreeMap<String, String>,
}

/// All servers and all data of a world.
#[derive(Clone, Default)]
pub struct PostgresServers {
    state: Arc<Mutex<PostgresState>>,
}

#[derive(Default)]
struct PostgresState {
    /// By the uid of the PVC.
    data: BTreeMap<String, DataDirectory>,
    /// By the uid of the pod.
    servers: BTreeMap<String, RunningServer>,
    /// How many data directories were created.
    created: u64,
}

struct RunningServer {
    server: PostgresServer,
    /// The parameters that it started with.
    started: BTreeMap<String, String>,
}

impl PostgresServers {
    /// Creates data on a volume, as initdb does. Data that is there already stays, and is returned.
    pub fn initialize(&self, volume: &str, superuser_password: &str) -> DataDirectory {
        let mut state = self.lock();
        if let Some(present) = state.data.get(volume) {
            return present.clone();
        }
        state.created += 1;
        let data = DataDirectory {
            system_identifier: (7_000_000_000 + state.created).to_string(),
            superuser_password: superuser_password.to_owned(),
            ..DataDirectory::default()
        };
        state.data.insert(volume.to_owned(), data.clone());
        data
    }

    /// The data on a volume.
    #[must_use]
    pub fn data(&self, volume: &str) -> Option<DataDirectory> {
        self.lock().data.get(volume).cloned()
    }

    /// Changes the data on a volume, as a program of the agent does. Returns whether there is any.
    pub fn edit(&self, volume: &str, edit: impl FnOnce(&mut DataDirectory)) -> bool {
        self.lock().data.get_mut(volume).map(edit).is_some()
    }

    /// The volume is gone, with its data.
    pub fn lose(&self, volume: &str) {
        let mut state = self.lock();
        state.data.remove(volume);
        state.servers.retain(|_, running| running.server.volume != volume);
    }

    /// Starts a server in a pod. Returns false if its volume has no data, or another server runs on it.
    pub fn start(&self, pod: &str, server: PostgresServer) -> bool {
        let mut state = self.lock();
        let is_taken = state.servers.iter().any(|(of, running)| of != pod && running.server.volume == server.volume);
        let Some(data) = state.data.get(&server.volume).filter(|_| !is_taken) else { return false };
        let started = effective(&server, data);
        state.servers.insert(pod.to_owned(), RunningServer { server, started });
        true
    }

    /// The kubelet has written the file of a server's parameters.
    pub fn mount(&self, pod: &str, parameters: BTreeMap<String, String>) {
        if let Some(running) = self.lock().servers.get_mut(pod) {
            running.server.mounted = parameters;
        }
    }

    /// Stops the server of a pod.
    pub fn stop(&self, pod: &str) {
        self.lock().servers.remove(pod);
    }

    fn lock(&self) -> MutexGuard<'_, PostgresState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parameters of a server: those set over a connection have precedence.
fn effective(server: &PostgresServer, data: &DataDirectory) -> BTreeMap<String, String> {
    server.mounted.iter().chain(&data.settings).map(|(name, value)| (name.clone(), value.clone())).collect()
}
