//! What the probes say: how the watches of each kind fare, and its CRD.

use std::sync::Arc;

use runtime::cache;
use runtime::plan::crd::{Crd, sentence};
use runtime::plan::sight;

use crate::server::{Check, Health, State};

/// Ready once every kind has been listed, or listing it has been tried: what others break must not take this pod away.
pub struct Watches(pub Vec<Arc<cache::Health>>);

impl Health for Watches {
    fn live(&self) -> Result<(), String> {
        Ok(())
    }

    fn ready(&self) -> Vec<Check> {
        let check = |health: &Arc<cache::Health>| {
            let state = match health.failing() {
                _ if !health.tried() => State::Failed { why: "listing".to_owned(), blocks_readiness: true },
                failing if failing.is_empty() => State::Ok,
                failing => State::Failed { why: sight::sentence(&failing), blocks_readiness: false },
            };
            Check { name: format!("watch-{}", health.kind().plural), state }
        };
        self.0.iter().map(check).chain(self.0.iter().filter_map(|health| crd(health))).collect()
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
