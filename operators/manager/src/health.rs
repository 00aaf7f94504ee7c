//! What the probes say: how the watches of each kind fare, and its CRD.

use std::sync::{Arc, OnceLock};

use runtime::cache;
use runtime::cache::watch_health;
use runtime::crd::schema::{Crd, sentence};

use crate::server::{Check, Health, State};

/// Ready once every kind has been listed, or listing it has been tried: what others break must not take this pod away.
/// Until the watches are known, this process is starting: it may have to wait for an API server that is away, and is well meanwhile.
#[derive(Default)]
pub struct Watches(OnceLock<Vec<Arc<cache::Health>>>);

impl Watches {
    /// From now on these are looked at.
    pub fn set(&self, watches: Vec<Arc<cache::Health>>) {
        // It is told once.
        drop(self.0.set(watches));
    }
}

impl Health for Watches {
    fn live(&self) -> Result<(), String> {
        Ok(())
    }

    fn ready(&self) -> Vec<Check> {
        let Some(watches) = self.0.get() else {
            let why = "starting: the image of this manager's own pod is not known yet".to_owned();
            return vec![Check { name: "start".to_owned(), state: State::Failed { why, blocks_readiness: true } }];
        };
        let check = |health: &Arc<cache::Health>| {
            let state = match health.failing() {
                _ if !health.tried() => State::Failed { why: "listing".to_owned(), blocks_readiness: true },
                failing if failing.is_empty() => State::Ok,
                failing => State::Failed { why: watch_health::sentence(&failing), blocks_readiness: false },
            };
            Check { name: format!("watch-{}", health.kind().plural), state }
        };
        watches.iter().map(check).chain(watches.iter().filter_map(|health| crd(health))).collect()
    }
}

/// Whether the CRD of a kind is as it is needed, once that has been looked at.
fn crd(health: &cache::Health) -> Option<Check> {
    let state = match health.crd() {
        Crd::Unknown => return None,
        Crd::Fits => State::Ok,
        Crd::Lacks(lacks) => State::Failed { why: sentence(&health.kind(), &lacks), blocks_readiness: false },
    };
    Some(Check { name: format!("crd-{}", health.kind().plural), state })
}
