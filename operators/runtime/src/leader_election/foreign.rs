//! What is known about the leases of other managers, so that two installs never fight over an object: a manager stands
//! back from an object whose status names a lease that lives or cannot be read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::time::{Instant, timeout};

use crate::leader_election::LeaseName;
use crate::leader_election::decision::{ObservedRecord, Record, foreign_is_live};

/// How long an answer is good for, so at most one GET per lease in this time.
const FRESH: Duration = Duration::from_secs(15);
/// How long one GET may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How many leases are remembered. There are about as many as managers; the bound holds off junk in statuses.
const REMEMBERED: usize = 64;

/// What is known about another manager's lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignLease {
    /// Somebody holds it, or did too recently to be sure: stand back, and ask again: what is said here is at most 15 s old.
    Held,
    /// It could not be read, for the reason in this sentence: stand back, for unknown is not absent.
    Unreadable(String),
    /// It does not exist, was released, or stood still for longer than it lasts: take over.
    Expired,
}

/// Other managers' leases, shared by all controllers and objects.
pub struct ForeignLeases {
    client: Client,
    epoch: Instant,
    known: Mutex<HashMap<LeaseName, Arc<tokio::sync::Mutex<Known>>>>,
}

#[derive(Default)]
struct Known {
    seen: ObservedRecord,
    /// When it was last asked for, and what that said.
    answer: Option<(Duration, ForeignLease)>,
}

impl ForeignLeases {
    /// Knows nothing yet; sends nothing until asked.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, epoch: Instant::now(), known: Mutex::default() }
    }

    /// The state of `lease`, by an answer at most 15 s old. Callers who ask at once share one GET of at most 5 s.
    pub async fn state(&self, lease: &LeaseName) -> ForeignLease {
        let known = self.remember(lease);
        let mut known = known.lock().await;
        let asked = self.epoch.elapsed();
        match &known.answer {
            Some((at, state)) if asked.saturating_sub(*at) < FRESH => state.clone(),
            _ => {
                let state = self.ask(lease, &mut known.seen).await;
                known.answer = Some((asked, state.clone()));
                state
            }
        }
    }

    async fn ask(&self, lease: &LeaseName, seen: &mut ObservedRecord) -> ForeignLease {
        let api = Api::<Lease>::namespaced(self.client.clone(), &lease.namespace);
        let read = match timeout(REQUEST_TIMEOUT, api.get_opt(&lease.name)).await {
            Ok(Ok(read)) => read,
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                return ForeignLease::Unreadable(format!(
                    "the lease {lease} may not be read: grant get on leases.coordination.k8s.io in {}",
                    lease.namespace
                ));
            }
            Ok(Err(error)) => return ForeignLease::Unreadable(format!("the lease {lease} could not be read: {error}")),
            Err(_) => return ForeignLease::Unreadable(format!("the lease {lease} could not be read in time")),
        };
        let read_at = self.epoch.elapsed();
        seen.observe(read.map(|lease| Record::read(&lease.spec.unwrap_or_default())), read_at);
        if foreign_is_live(seen, read_at) { ForeignLease::Held } else { ForeignLease::Expired }
    }

    fn remember(&self, lease: &LeaseName) -> Arc<tokio::sync::Mutex<Known>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED && !known.contains_key(lease) {
            // Nobody is asking for those right now; what is lost is only how long they stood still.
            known.retain(|_, entry| Arc::strong_count(entry) > 1);
        }
        known.entry(lease.clone()).or_default().clone()
    }
}
