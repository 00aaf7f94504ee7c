//! The Leases of other managers, so that two installs never write to one object: a manager leaves an object alone whose status
//! names another Lease that is held or cannot be read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::time::{Instant, timeout};

use crate::leader_election::LeaseName;
use crate::leader_election::decision::{LeaseRecord, ObservedRecord, is_foreign_held};

/// How long a state is cached: there is at most one GET per Lease in this time.
const STATE_TTL: Duration = Duration::from_secs(15);
/// How long one GET may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How many Leases are remembered. There are about as many as managers; the limit protects against junk in statuses.
const MAX_LEASES: usize = 64;

/// The state of another manager's Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignLease {
    /// It is held, or was too recently to be sure: leave its objects alone. The state is at most 15 s old.
    Held,
    /// It could not be read, for this reason: leave its objects alone, since unknown is not absent.
    Unreadable(String),
    /// It does not exist, was released, or has expired: take over its objects.
    Expired,
}

/// The Leases of other managers, shared by all controllers.
pub struct ForeignLeases {
    client: Client,
    epoch: Instant,
    known: Mutex<HashMap<LeaseName, Arc<tokio::sync::Mutex<CachedLease>>>>,
}

#[derive(Default)]
struct CachedLease {
    observed: ObservedRecord,
    /// When it was last read, and the result.
    answer: Option<(Duration, ForeignLease)>,
}

impl ForeignLeases {
    /// An empty cache; sends nothing yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, epoch: Instant::now(), known: Mutex::default() }
    }

    /// The state of `lease`, at most 15 s old. Concurrent callers share one GET of at most 5 s.
    pub async fn state(&self, lease: &LeaseName) -> ForeignLease {
        let known = self.remember(lease);
        let mut known = known.lock().await;
        let now = self.epoch.elapsed();
        match &known.answer {
            Some((at, state)) if now.saturating_sub(*at) < STATE_TTL => state.clone(),
            _ => {
                let state = self.read(lease, &mut known.observed).await;
                known.answer = Some((now, state.clone()));
                state
            }
        }
    }

    async fn read(&self, lease: &LeaseName, observed: &mut ObservedRecord) -> ForeignLease {
        let api = Api::<Lease>::namespaced(self.client.clone(), &lease.namespace);
        let read = match timeout(REQUEST_TIMEOUT, api.get_opt(&lease.name)).await {
            Ok(Ok(read)) => read,
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                return ForeignLease::Unreadable(format!(
                    "the lease {lease} cannot be read: grant get on leases.coordination.k8s.io in {}",
                    lease.namespace
                ));
            }
            Ok(Err(error)) => return ForeignLease::Unreadable(format!("the lease {lease} could not be read: {error}")),
            Err(_) => return ForeignLease::Unreadable(format!("the lease {lease} could not be read in time")),
        };
        let read_at = self.epoch.elapsed();
        observed.observe(read.map(|lease| LeaseRecord::read(&lease.spec.unwrap_or_default())), read_at);
        if is_foreign_held(observed, read_at) { ForeignLease::Held } else { ForeignLease::Expired }
    }

    fn remember(&self, lease: &LeaseName) -> Arc<tokio::sync::Mutex<CachedLease>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_LEASES && !known.contains_key(lease) {
            // No caller uses those now; only the times of their last changes are lost.
            known.retain(|_, entry| Arc::strong_count(entry) > 1);
        }
        known.entry(lease.clone()).or_default().clone()
    }
}
