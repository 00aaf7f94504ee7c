//! Applies that are independent of the effects of a plan. Each failed one is retried with its own backoff, so it delays nothing
//! else.

use super::failed_applies::{ApplyTarget, IndependentApplyError};
use super::writer::ObjectWriter;
use crate::plan::meta::{Key, Meta, ResourceKind};
use crate::plan::{Apply, Reported};

/// The result of the independent applies of a reconcile.
#[derive(Default)]
pub struct IndependentApplies {
    /// Whether anything was applied. The event of an own write queues nothing.
    pub wrote: bool,
    /// The first failure, possibly of an earlier reconcile.
    pub failed: Option<IndependentApplyError>,
}

impl ObjectWriter {
    /// Applies each of these, unless it failed before and its backoff has not elapsed.
    pub async fn apply_independent(
        &self,
        kind: &ResourceKind,
        owner: &Meta,
        reported: Reported,
        applies: Vec<Apply>,
    ) -> IndependentApplies {
        self.failed.retain(&owner.key, &applies);
        let mut result = IndependentApplies::default();
        for apply in applies {
            let child = ApplyTarget {
                owner: owner.key.clone(),
                kind: apply.kind,
                key: apply.key.clone(),
                part: apply.manager_prefix,
            };
            let rendered = apply.fingerprint();
            #[cfg(feature = "failpoints")]
            let failpoint = crate::failpoint::Failpoint::of(&apply);
            let attempted = match self.failed.pending(&child, rendered) {
                Some(failure) => Err(failure),
                None => match self.apply(kind, owner, reported, apply).await {
                    Ok(()) => {
                        #[cfg(feature = "failpoints")]
                        failpoint.passed();
                        Ok(())
                    }
                    Err(error) => Err(self.failed.record(child, rendered, error)),
                },
            };
            match attempted {
                Ok(()) => result.wrote = true,
                Err(failure) => drop(result.failed.get_or_insert(failure)),
            }
        }
        result
    }

    /// Forgets a deleted owner.
    pub fn forget(&self, owner: &Key) {
        self.failed.retain(owner, &[]);
        self.last.forget(owner);
    }
}
