//! Pure: `deletion.policy: Retain`: the server is deleted, the volume stays.

use api::sample_db::{DeletionStep, SampleDBReason};
use jiff::Timestamp;

use super::server::stop;
use super::step::{DeletionAction, GRACE_PERIOD, is_early, is_in_foreground, is_skipped, skip};
use super::terminating;
use crate::database::observed::Observed;
use crate::database::{claims, hold};

/// Deletes the server and keeps the volume. If the PVC is terminating, the volume would not stay.
pub(super) fn retain(observed: &Observed, now: Timestamp) -> Option<DeletionAction> {
    let db = &*observed.db;
    let current = || claims::own(observed).filter(|claim| claims::is_current(observed, claim));
    if let Some(claim) = current().find(|claim| claim.meta.deleting).filter(|_| !is_skipped(db)) {
        let message = match terminating::may_answer(observed) {
            true => format!(
                "the PVC {} of the data is being deleted, so it cannot be retained (deletion.policy is Retain): set \
                 deletion.policy to Snapshot to have the data saved; or, to give the data up, annotate this SampleDB with \
                 {}",
                claim.meta.key.name,
                skip(db)
            ),
            false => terminating::unreachable_data(observed, claim),
        };
        return Some(DeletionAction::Blocked(SampleDBReason::ClaimTerminating, message));
    }
    let waits = (current().next().is_some() && is_early(observed, now)).then(|| {
        let message = format!(
            "stopping the server and releasing the PVC {} s after the deletion: deletion.policy is Retain, and the PVC may be \
             about to be deleted as well",
            GRACE_PERIOD.as_secs()
        );
        DeletionAction::Wait(DeletionStep::RemovePods, message)
    });
    let stops = match is_in_foreground(observed) {
        true => stop(observed).or(waits),
        false => waits.or_else(|| stop(observed)),
    };
    stops.or_else(|| {
        let marks = hold::retain(observed);
        let message = "marking the volume as retained".to_owned();
        (!marks.is_empty()).then_some(DeletionAction::Take(DeletionStep::Release, marks, message))
    })
}
