//! The model that programs, clients and users share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::oracle;
use super::store::Etcds;
use crate::api_server::state::StoredState;
use crate::call_faults::{CallFaults, CallRates};
use crate::random::Random;

/// All etcd clusters of a world. Copies share them.
#[derive(Clone)]
pub struct EtcdModel(Arc<Mutex<Shared>>);

pub(super) struct Shared {
    pub(super) etcds: Etcds,
    pub(super) faults: CallFaults,
}

impl EtcdModel {
    /// No clusters, and no faults.
    #[must_use]
    pub fn new(mut random: Random) -> Self {
        let faults = CallFaults::new(random.fork());
        Self(Arc::new(Mutex::new(Shared { etcds: Etcds::new(random), faults })))
    }

    /// From now on, calls of managers fail at these rates.
    pub fn set_rates(&self, rates: CallRates) {
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
    pub(super) fn edit<R>(&self, edit: impl FnOnce(&mut Etcds) -> R) -> R {
        let mut shared = self.lock();
        shared.etcds.advance(runtime::clock::now());
        edit(&mut shared.etcds)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
