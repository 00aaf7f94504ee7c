//! Pure: the status and the events of a deletion.

use api::sample_db::{
    DeletionPolicy, DeletionStatus, DeletionStep, SKIP_FINAL_SNAPSHOT, SampleDBEvent, SampleDBPhase, SampleDBReason,
    SampleDBStatus, condition_type as domain,
};
use api::{Condition, ConditionStatus, Contract};
use jiff::{Timestamp, Unit};
use runtime::plan::EventDraft;
use runtime::status::conditions::{Summary, condition};

use super::final_snapshot::{self, final_snapshot};
use super::step::is_skipped;
use crate::database::observed::Observed;
use crate::database::pinned::SpecRefusal;
use crate::operand::kinds::Snapshot;
use crate::operand::snapshot_state::{has_failed, is_verified};

/// The events of the deletion, once for each transition. Conditions report that it is blocked.
pub(super) fn events(before: &SampleDBStatus, after: &SampleDBStatus) -> Vec<EventDraft> {
    let saved = |status: &SampleDBStatus| status.contract.is_true(domain::FINAL_SNAPSHOT);
    let condition = after.contract.condition(domain::FINAL_SNAPSHOT).filter(|_| saved(after) && !saved(before));
    let event = |of: &Condition| EventDraft {
        warning: false,
        reason: SampleDBEvent::FinalSnapshotTaken.into(),
        message: of.message.clone(),
    };
    condition.map(event).into_iter().collect()
}

/// The event that data was deleted, or stays, without the final snapshot that was wanted.
pub(super) fn skipped(observed: &Observed) -> Option<EventDraft> {
    let db = &*observed.db;
    let wanted = db.spec.deletion.policy == DeletionPolicy::Snapshot;
    let held = wanted && db.status.initialization.data_created_at.is_some();
    if !held || final_snapshot(observed).is_some_and(|last| is_verified(&last.status)) {
        return None;
    }
    let why = match () {
        () if observed.namespace_terminating => {
            "the namespace, or the CRD of snapshots, is being deleted too; the data is kept".to_owned()
        }
        () if is_skipped(db) => format!("the annotation {SKIP_FINAL_SNAPSHOT} says so"),
        () if final_snapshot(observed).is_some() => "it failed, and deletion.onSnapshotFailure is Proceed".to_owned(),
        () => "the PVC of the data was deleted".to_owned(),
    };
    let message = format!("the database is deleted without a final snapshot: {why}");
    Some(EventDraft { warning: true, reason: SampleDBEvent::FinalSnapshotSkipped.into(), message })
}

/// The status of a database that is being deleted.
pub(super) fn of(
    observed: &Observed,
    step: Option<DeletionStep>,
    progress: Result<String, SpecRefusal>,
    now: Timestamp,
) -> SampleDBStatus {
    let before = &observed.db.status;
    let (mut conditions, message) = match progress {
        Ok(message) => (Summary::Reconciling.conditions(SampleDBReason::Deleting, message.clone(), now), message),
        Err((reason, message)) => {
            let mut all = Summary::Stalled.conditions(SampleDBReason::DeletionBlocked, message.clone(), now);
            all.push(condition(domain::DELETION_BLOCKED, ConditionStatus::True, reason, message.clone(), now));
            (all, message)
        }
    };
    let last = final_snapshot(observed);
    conditions.extend(last.map(|last| saved(observed, last, now)));
    let set = observed.server.owned().is_some_and(|server| !server.meta.deleting);
    let stays = set || observed.pod().is_some_and(|pod| !pod.meta.deleting);
    let ready = observed.server.owned().is_some() && observed.is_ready();
    SampleDBStatus {
        phase: Some(SampleDBPhase::Deleting),
        ready: Some(format!("{}/1", usize::from(ready))),
        ready_replicas: Some(i32::from(ready)),
        // Running snapshots are given up when this says that there is no server. One that is not ready comes back as long as its
        // StatefulSet, or its pod, is not terminating.
        replicas: Some(i32::from(stays)),
        deletion: DeletionStatus {
            started_at: before.deletion.started_at.or_else(|| now.round(Unit::Second).ok()),
            step: step.or(before.deletion.step),
            final_snapshot: last
                .map(|last| last.meta.key.name.to_string())
                .or_else(|| before.deletion.final_snapshot.clone()),
            message: Some(message),
        },
        contract: Contract { conditions, ..before.contract.clone() },
        ..before.clone()
    }
}

fn saved(observed: &Observed, last: &Snapshot, now: Timestamp) -> Condition {
    let (holds, reason) = match is_verified(&last.status) && final_snapshot::is_known_complete(observed, last) {
        true => (ConditionStatus::True, SampleDBReason::Verified),
        false if has_failed(&last.status) => (ConditionStatus::False, SampleDBReason::Failed),
        false => (ConditionStatus::Unknown, SampleDBReason::Running),
    };
    let why = format!("the final snapshot is {}", last.meta.key.name);
    condition(domain::FINAL_SNAPSHOT, holds, reason, why, now)
}
