//! The operands of a world: what managers talk to besides the API server.

use manager::OperandClients;

use crate::actors::Actor;
use crate::actors::pods::program::Programs;
use crate::api_server::state::StoredState;
use crate::etcd::{EtcdModel, SimulatedEtcdClient};
use crate::random::Random;

/// The models of all operands. Copies share them.
#[derive(Clone)]
pub struct SimulatedOperands {
    /// etcd.
    pub etcd: EtcdModel,
}

impl SimulatedOperands {
    /// Operands without anything in them.
    #[must_use]
    pub fn new(mut random: Random) -> Self {
        Self { etcd: EtcdModel::new(random.fork()) }
    }

    /// The models of what runs in pods.
    #[must_use]
    pub fn programs(&self) -> Vec<Box<dyn Programs>> {
        vec![self.etcd.programs()]
    }

    /// The actors that are part of them.
    #[must_use]
    pub fn actors(&self) -> Vec<Box<dyn Actor>> {
        vec![self.etcd.users()]
    }

    /// What must not have happened to them, and what is not as it must be at the end.
    #[must_use]
    pub fn violations(&self, state: &StoredState) -> Vec<String> {
        self.etcd.violations(state)
    }
}

impl OperandClients for SimulatedOperands {
    type Etcd = SimulatedEtcdClient;

    fn etcd(&self) -> SimulatedEtcdClient {
        self.etcd.client()
    }
}
