//! The operands of a world: what managers talk to besides the API server.

use std::sync::Arc;

use manager::OperandClients;
use sample_db::PostgresClient;

use crate::actors::Actor;
use crate::actors::pods::program::Programs;
use crate::api_server::state::StoredState;
use crate::call_faults::CallRates;
use crate::etcd::{EtcdModel, SimulatedEtcdClient};
use crate::postgres::PostgresServers;
use crate::random::Random;

/// The models of all operands. Copies share them.
#[derive(Clone)]
pub struct SimulatedOperands {
    etcd: EtcdModel,
    postgres: PostgresServers,
}

impl SimulatedOperands {
    /// Operands without anything in them.
    #[must_use]
    pub fn new(mut random: Random) -> Self {
        Self { etcd: EtcdModel::new(random.fork()), postgres: PostgresServers::new(random.fork()) }
    }

    /// The models of what runs in pods.
    #[must_use]
    pub fn programs(&self) -> Vec<Box<dyn Programs>> {
        vec![self.etcd.programs(), self.postgres.programs()]
    }

    /// The actors that are part of them.
    #[must_use]
    pub fn actors(&self) -> Vec<Box<dyn Actor>> {
        vec![self.etcd.users(), self.postgres.applications()]
    }

    /// From now on, requests of managers fail at these rates.
    pub fn set_rates(&self, rates: &CallRates) {
        self.etcd.set_rates(rates.clone());
        self.postgres.set_rates(rates.clone());
    }

    /// Kills the server of that number, modulo their count. Returns what was killed.
    pub fn kill(&self, number: u64) -> Option<String> {
        let etcd = self.etcd.kill(number).map(|pod| format!("the etcd of the pod {pod}"));
        etcd.or_else(|| self.postgres.kill(number).map(|uid| format!("PostgreSQL in the pod with the uid {uid}")))
    }

    /// What must not have happened to them, and what is not as it must be at the end.
    #[must_use]
    pub fn violations(&self, state: &StoredState) -> Vec<String> {
        let mut found = self.etcd.violations(state);
        found.extend(self.postgres.violations(state));
        found
    }
}

impl OperandClients for SimulatedOperands {
    type Etcd = SimulatedEtcdClient;

    fn etcd(&self) -> SimulatedEtcdClient {
        self.etcd.client()
    }

    fn postgres(&self) -> Arc<dyn PostgresClient> {
        Arc::new(self.postgres.clone())
    }
}
