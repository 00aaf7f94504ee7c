//! What programs, clients and applications share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_protocol::PgUpgradeResult;
use jiff::Timestamp;

use crate::call_faults::{CallFaults, CallRates};
use crate::random::Random;

/// A data directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataDirectory {
    /// PostgreSQL's identifier of the data.
    pub system_identifier: String,
    /// The major version that created it.
    pub major: u32,
    /// The database that it was created for.
    pub owner: Option<String>,
    /// The last row that an application has written.
    pub rows: u64,
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

/// The files of a complete snapshot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SnapshotFiles {
    pub(super) sha256: String,
    /// The release that wrote it.
    pub(super) version: String,
    /// Whether it is a copy of the data directory.
    pub(super) is_physical: bool,
    /// The data that it holds.
    pub(super) data: DataDirectory,
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

pub(super) struct RunningServer {
    pub(super) server: PostgresServer,
    /// The parameters that it started with.
    pub(super) started: BTreeMap<String, String>,
}

/// All servers and all data of a world. Copies share them.
#[derive(Clone)]
pub struct PostgresServers {
    state: Arc<Mutex<PostgresState>>,
}

pub(super) struct PostgresState {
    /// By the uid of the PVC.
    pub(super) data: BTreeMap<String, DataDirectory>,
    /// By the uid of the pod.
    pub(super) servers: BTreeMap<String, RunningServer>,
    /// How many data directories were created.
    pub(super) created: u64,
    /// By the uid of the PVC, and their names.
    pub(super) snapshots: BTreeMap<String, BTreeMap<String, SnapshotFiles>>,
    /// When the commands of pods began, by the uid of the pod and the name of the container.
    pub(super) commands: BTreeMap<(String, String), Timestamp>,
    /// The pods whose server is to be killed.
    pub(super) killed: BTreeSet<String>,
    /// The last row whose write was acknowledged, by the name of the database.
    pub(super) acknowledged: BTreeMap<String, u64>,
    pub(super) violations: Vec<String>,
    pub(super) faults: CallFaults,
}

impl PostgresServers {
    /// No servers and no data, and requests that succeed.
    #[must_use]
    pub fn new(random: Random) -> Self {
        let state = PostgresState {
            data: BTreeMap::new(),
            servers: BTreeMap::new(),
            created: 0,
            snapshots: BTreeMap::new(),
            commands: BTreeMap::new(),
            killed: BTreeSet::new(),
            acknowledged: BTreeMap::new(),
            violations: Vec::new(),
            faults: CallFaults::new(random),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// From now on, requests of managers fail at these rates.
    pub fn set_rates(&self, rates: CallRates) {
        self.lock().faults.set(rates);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, PostgresState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
