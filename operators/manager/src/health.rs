//! What the probes say: how the watches of each kind fare.

use std::sync::Arc;

use runtime::cache;
use runtime::plan::sight::sentence;

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
                failing => State::Failed { why: sentence(&failing), blocks_readiness: false },
            };
            Check { name: format!("watch-{}", health.kind().plural), state }
        };
        self.0.iter().map(check).collect()
    }
}
