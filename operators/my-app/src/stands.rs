//! What this process has seen of Deployments that seem to be at a standstill, by its own clock: the API server's may differ.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use runtime::plan::Key;

use crate::plan::{Observed, Stand};

/// Of each MyApp whose Deployment looks so.
#[derive(Default)]
pub(crate) struct Stands(Mutex<HashMap<Key, Stand>>);

impl Stands {
    /// What is known at `now`, which is remembered. Forgets all MyApps that are not there any more.
    pub(crate) fn look(&self, observed: &Observed, now: Timestamp, is_there: impl Fn(&Key) -> bool) -> Option<Stand> {
        let key = &observed.app.meta.key;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stand = observed.deployment.ours().and_then(|live| Stand::seen(all.get(key), live, now));
        match &stand {
            Some(stand) => {
                all.retain(|key, _| is_there(key));
                drop(all.insert(key.clone(), stand.clone()));
            }
            None => drop(all.remove(key)),
        }
        stand
    }
}
