//! What is applied beside the effects of a plan: each try that failed is remembered, and repeated with growing delays, so
//! that it slows down nothing else.

use super::failed::{Child, IndependentApplyError};
use super::writer::Writer;
use crate::plan::meta::{Key, Kind, Meta};
use crate::plan::{Apply, Reported};

/// What became of what stands beside the effects.
#[derive(Default)]
pub struct IndependentApplies {
    /// Whether anything was applied. No event tells of that: it is an own write.
    pub wrote: bool,
    /// The first failure, be it an earlier one.
    pub failed: Option<IndependentApplyError>,
}

impl Writer {
    /// Applies each of these, unless it has failed and its time has not come yet.
    pub async fn apply_independent(
        &self,
        kind: &Kind,
        owner: &Meta,
        told: Reported,
        applies: Vec<Apply>,
    ) -> IndependentApplies {
        self.failed.retain(&owner.key, &applies);
        let mut beside = IndependentApplies::default();
        for apply in applies {
            let child =
                Child { owner: owner.key.clone(), kind: apply.kind, key: apply.key.clone(), part: apply.hand_over };
            let rendered = apply.fingerprint();
            #[cfg(feature = "failpoints")]
            let failpoint = crate::failpoint::Failpoint::of(&apply);
            let tried = match self.failed.waits(&child, rendered) {
                Some(waits) => Err(waits),
                None => match self.apply(kind, owner, told, apply).await {
                    Ok(()) => {
                        #[cfg(feature = "failpoints")]
                        failpoint.passed();
                        Ok(())
                    }
                    Err(error) => Err(self.failed.note(child, rendered, error)),
                },
            };
            match tried {
                Ok(()) => beside.wrote = true,
                Err(aside) => drop(beside.failed.get_or_insert(aside)),
            }
        }
        beside
    }

    /// Forgets an owner that is gone.
    pub fn forget(&self, owner: &Key) {
        self.failed.retain(owner, &[]);
        self.last.forget(owner);
    }
}
