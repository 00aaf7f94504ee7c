//! Records since when Deployments seem to be stuck, by the clock of this process, which may differ from the API server's.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use runtime::plan::Key;

use crate::plan::{Observed, Standstill};

/// The standstill of each MyApp whose Deployment seems to be stuck.
#[derive(Default)]
pub(crate) struct StandstillTracker(Mutex<HashMap<Key, Standstill>>);

impl StandstillTracker {
    /// Records and returns the standstill at `now`. Removes those of deleted MyApps.
    pub(crate) fn record(
        &self,
        observed: &Observed,
        now: Timestamp,
        exists: impl Fn(&Key) -> bool,
    ) -> Option<Standstill> {
        let key = &observed.app.meta.key;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let standstill = observed.deployment.owned().and_then(|live| Standstill::observe(all.get(key), live, now));
        match &standstill {
            Some(standstill) => {
                all.retain(|key, _| exists(key));
                drop(all.insert(key.clone(), standstill.clone()));
            }
            None => drop(all.remove(key)),
        }
        standstill
    }
}
