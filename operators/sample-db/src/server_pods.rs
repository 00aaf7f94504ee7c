//! Reads servers' pods by name that the watch does not show as such; seldom, as long as there is none to restore.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use runtime::plan::Key;
use runtime::{Error, pods};

use crate::plan::Observed;
use crate::plan::unlabeled::{self, Found};

/// For how long it is taken for true that there is no pod, or one of others.
const FRESH: Duration = Duration::from_secs(5);

/// What was found under the names of servers' pods.
pub(crate) struct ServerPods {
    client: Client,
    held: Mutex<HashMap<Key, Held>>,
}

struct Held {
    at: Instant,
    /// The uid of the pod of that name that the watch shows.
    watched: Option<Box<str>>,
    found: Found,
}

impl ServerPods {
    /// Nothing looked at yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, held: Mutex::default() }
    }

    /// Takes in servers' pods whose labels were edited.
    ///
    /// # Errors
    /// If one cannot be read: it may be there.
    pub(crate) async fn look(&self, observed: &mut Observed) -> Result<(), Error> {
        for name in unlabeled::unseen(observed) {
            let key = observed.db.meta.key.sibling(&name);
            let watched = observed.pod_named(&name).map(|pod| pod.meta.uid.clone());
            // What is done with the data of a server that is deleted depends on whether it is there.
            let known = self.known(&key, &watched).filter(|_| !observed.db.meta.deleting);
            let found = match known {
                Some(found) => found,
                None => {
                    let live = pods::get(&self.client, &key).await?;
                    let found = Found::of(&observed.db, live.as_ref());
                    self.note(key, watched, &found);
                    found
                }
            };
            unlabeled::take_in(observed, name, found);
        }
        Ok(())
    }

    fn known(&self, key: &Key, watched: &Option<Box<str>>) -> Option<Found> {
        let all = self.lock();
        let held = all.get(key).filter(|held| held.watched == *watched && held.at.elapsed() < FRESH)?;
        Some(held.found.clone())
    }

    /// One of its own is labeled in the same pass, and watched from then on.
    fn note(&self, key: Key, watched: Option<Box<str>>, found: &Found) {
        let mut all = self.lock();
        all.retain(|of, held| *of != key && held.at.elapsed() < FRESH);
        if !matches!(found, Found::Own(_)) {
            all.insert(key, Held { at: Instant::now(), watched, found: found.clone() });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
