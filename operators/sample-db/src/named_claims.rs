//! Reads claims by name that the watch does not show; seldom, as long as there is none of the database's own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::Client;
use runtime::Error;
use runtime::plan::Key;
use runtime::views::Claim;

use crate::look;
use crate::plan::{Observed, unwatched};

/// For how long it is taken for true that there is no claim of the database's own.
const FRESH: Duration = Duration::from_secs(5);

/// Which claims were looked for in vain, and when.
pub(crate) struct NamedClaims {
    client: Client,
    missing: Mutex<HashMap<Key, Instant>>,
}

impl NamedClaims {
    /// Nothing looked for yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, missing: Mutex::default() }
    }

    /// Takes in claims whose labels were edited.
    ///
    /// # Errors
    /// If one cannot be read: it may be there.
    pub(crate) async fn look(&self, observed: &mut Observed) -> Result<(), Error> {
        for name in unwatched::unseen(observed) {
            let key = observed.db.meta.key.sibling(&name);
            // What becomes of a database that is deleted depends on whether there are data.
            if self.is_missing(&key) && !observed.db.meta.deleting {
                continue;
            }
            if let Some(claim) = self.read(&key).await? {
                unwatched::take_in(observed, claim);
            }
            // One of its own is labeled in the same pass, and watched from then on.
            if observed.claim(&name).is_none() {
                self.note(key);
            }
        }
        Ok(())
    }

    /// The claim under that key, whatever its labels are, if there is one.
    ///
    /// # Errors
    /// If it cannot be read now.
    pub(crate) async fn read(&self, key: &Key) -> Result<Option<Arc<Claim>>, Error> {
        look::live::<PersistentVolumeClaim, _>(&self.client, key).await
    }

    fn is_missing(&self, key: &Key) -> bool {
        self.lock().get(key).is_some_and(|at| at.elapsed() < FRESH)
    }

    fn note(&self, key: Key) {
        let mut all = self.lock();
        all.retain(|_, at| at.elapsed() < FRESH);
        all.insert(key, Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Instant>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
