//! `deletion.policy: Retain`: the server goes, and the volume stays. Pure.

use api::sample_db::{DeletionStep, SampleDBReason};
use jiff::Timestamp;

use super::{GRACE, Step, is_early, is_in_foreground, is_skipped, skip, stop, terminating};
use crate::plan::{Observed, hold};

/// The server goes, and the volume stays. One whose claim somebody has deleted would not stay.
pub(super) fn retain(observed: &Observed, now: Timestamp) -> Option<Step> {
    let db = &*observed.db;
    let current = || hold::own(observed).filter(|claim| hold::is_current(observed, claim));
    if let Some(claim) = current().find(|claim| claim.meta.deleting).filter(|_| !is_skipped(db)) {
        let message = match terminating::may_answer(observed) {
            true => format!(
                "deletion.policy is Retain, and the claim {} of the data is being deleted, so it cannot stay: set \
                 deletion.policy to Snapshot to have the data saved, or let them go: annotate this SampleDB with {}",
                claim.meta.key.name,
                skip(db)
            ),
            false => terminating::unreachable_data(observed, claim),
        };
        return Some(Step::Blocked(SampleDBReason::ClaimTerminating, message));
    }
    let waits = (current().next().is_some() && is_early(observed, now)).then(|| {
        let message = format!(
            "stopping the server and releasing the claim {} s after the deletion: deletion.policy is Retain, and the claim \
             may be about to be deleted as well",
            GRACE.as_secs()
        );
        Step::Wait(DeletionStep::RemovePods, message)
    });
    let stops = match is_in_foreground(observed) {
        true => stop(observed).or(waits),
        false => waits.or_else(|| stop(observed)),
    };
    stops.or_else(|| {
        let marks = hold::retain(observed);
        let message = "marking the volume as retained".to_owned();
        (!marks.is_empty()).then_some(Step::Take(DeletionStep::Release, marks, message))
    })
}
