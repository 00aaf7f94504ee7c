//! What the probes report: the state of each kind's watch and CRD.

use std::sync::{Arc, OnceLock};

use runtime::cache;
use runtime::cache::watch_health;
use runtime::crd::schema::{CrdState, message};

use crate::server::{CheckResult, HealthCheck, HealthReporter};

/// Ready once this process has listed every kind, or has tried to: a kind that cannot be listed must not make the pod unready.
/// Until [`set`](Self::set), the process is starting: it may have to wait for an unavailable API server, and is live meanwhile.
#[derive(Default)]
pub struct WatchChecks(OnceLock<Vec<Arc<cache::KindHealth>>>);

impl WatchChecks {
    /// Sets the watches to report. Only the first call has an effect.
    pub fn set(&self, watches: Vec<Arc<cache::KindHealth>>) {
        drop(self.0.set(watches));
    }
}

impl HealthReporter for WatchChecks {
    fn live(&self) -> Result<(), String> {
        Ok(())
    }

    fn ready(&self) -> Vec<HealthCheck> {
        let Some(watches) = self.0.get() else {
            let why = "starting: waiting for the image of this manager's own pod".to_owned();
            return vec![HealthCheck {
                name: "start".to_owned(),
                result: CheckResult::Failed { why, blocks_readiness: true },
            }];
        };
        let check = |health: &Arc<cache::KindHealth>| {
            let result = match health.failing() {
                _ if !health.all_attempted() => {
                    CheckResult::Failed { why: "listing".to_owned(), blocks_readiness: true }
                }
                failing if failing.is_empty() => CheckResult::Ok,
                failing => CheckResult::Failed { why: watch_health::message(&failing), blocks_readiness: false },
            };
            HealthCheck { name: format!("watch-{}", health.kind().plural), result }
        };
        watches.iter().map(check).chain(watches.iter().filter_map(|health| crd(health))).collect()
    }
}

/// Whether the CRD of a kind has the fields that the manager needs; `None` before the first check.
fn crd(health: &cache::KindHealth) -> Option<HealthCheck> {
    let result = match health.crd() {
        CrdState::Unknown => return None,
        CrdState::Matches => CheckResult::Ok,
        CrdState::Mismatched(mismatches) => {
            CheckResult::Failed { why: message(&health.kind(), &mismatches), blocks_readiness: false }
        }
    };
    Some(HealthCheck { name: format!("crd-{}", health.kind().plural), result })
}
