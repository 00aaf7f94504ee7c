//! The state of the kind's CRD.

use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::KindHealth;
use crate::crd::schema::{self, CrdState};

impl KindHealth {
    /// The last known state of the kind's CRD.
    #[must_use]
    pub fn crd(&self) -> CrdState {
        self.watches.read(|watches| watches.crd.clone())
    }

    /// What is wrong with the kind's CRD, as a message.
    #[must_use]
    pub fn crd_mismatch_message(&self) -> Option<String> {
        self.crd().mismatches().map(|mismatches| schema::message(&self.kind, mismatches))
    }

    /// Declares that the kind's CRD is checked from now on.
    pub(crate) fn enable_crd_checks(&self) {
        self.checks_crd.store(true, Ordering::Relaxed);
    }

    /// Whether the kind's CRD is checked, and has not been since that moment.
    pub(crate) fn awaits_crd_check(&self, since: Instant) -> bool {
        self.checks_crd.load(Ordering::Relaxed)
            && self.watches.read(|watches| watches.crd_checked.is_none_or(|checked| checked < since))
    }

    /// Waits until the state of the kind's CRD is known, if it is checked.
    pub(crate) async fn first_crd_check(&self) {
        if self.checks_crd.load(Ordering::Relaxed) {
            self.watches.wait_for(|watches| watches.crd != CrdState::Unknown).await;
        }
    }

    /// Waits until the kind's CRD has mismatches, and then until it has none.
    pub(crate) async fn crd_matches_again(&self) {
        self.watches.wait_for(|watches| watches.crd.mismatches().is_some()).await;
        self.watches.wait_for(|watches| watches.crd.mismatches().is_none()).await;
    }

    /// Records a check of the kind's CRD. Returns the state before, if it was another one.
    pub(crate) fn set_crd(&self, crd: &CrdState) -> Option<CrdState> {
        let mut before = None;
        self.watches.modify(|watches| {
            watches.crd_checked = Some(Instant::now());
            if watches.crd != *crd {
                before = Some(std::mem::replace(&mut watches.crd, crd.clone()));
            }
            before.is_some()
        });
        before
    }
}
