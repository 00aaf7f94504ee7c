//! What is known of the kind's CRD.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Health;
use crate::crd::schema::{self, Crd};

impl Health {
    /// What is known of the kind's CRD.
    #[must_use]
    pub fn crd(&self) -> Crd {
        self.watches.borrow().crd.clone()
    }

    /// What is wrong with the kind's CRD, if anything, in words.
    #[must_use]
    pub fn crd_trouble(&self) -> Option<String> {
        self.crd().lacking().map(|lacks| schema::sentence(&self.kind, lacks))
    }

    /// Somebody looks at the kind's CRD from now on.
    pub(crate) fn looked_after(&self) {
        self.looked_after.store(true, Ordering::Relaxed);
    }

    /// Whether somebody will look at the kind's CRD who has not done so since that moment.
    pub(crate) fn awaits_look(&self, since: Instant) -> bool {
        self.looked_after.load(Ordering::Relaxed) && self.watches.borrow().looked.is_none_or(|looked| looked < since)
    }

    /// Waits until something is known of the kind's CRD, if somebody looks at it.
    pub(crate) async fn crd_known(&self) {
        if self.looked_after.load(Ordering::Relaxed) {
            // The sender lives as long as this, so this does not end early.
            drop(self.subscribe().wait_for(|watches| watches.crd != Crd::Unknown).await);
        }
    }

    /// Waits until the kind's CRD has all that is needed, after it has not.
    pub(crate) async fn crd_restored(&self) {
        let mut watches = self.subscribe();
        // The sender lives as long as this, so neither ends early.
        drop(watches.wait_for(|watches| watches.crd.lacking().is_some()).await);
        drop(watches.wait_for(|watches| watches.crd.lacking().is_none()).await);
    }

    /// The kind's CRD has been looked at. Returns what was known before, if that is news.
    pub(crate) fn judged(&self, crd: &Crd) -> Option<Crd> {
        let mut before = None;
        self.watches.send_if_modified(|watches| {
            watches.looked = Some(Instant::now());
            if watches.crd != *crd {
                before = Some(std::mem::replace(&mut watches.crd, crd.clone()));
            }
            before.is_some()
        });
        before
    }
}
