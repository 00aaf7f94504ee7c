//! Pure: takes the final snapshot: of the running server, with clients blocked, or else of its volume.

use api::sample_db::{ACCEPT_FINAL_SNAPSHOT, DeletionStep, OnSnapshotFailure, SampleDBReason};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, Effect};
use runtime::projections::Pvc;
use runtime::quantity;

use super::access;
use super::final_snapshot::{self, final_name, final_snapshot, is_enough};
use super::server::{is_ready, serves, stop};
use super::step::{DeletionAction, GRACE_PERIOD, delete, is_early, is_in_foreground, skip};
use super::terminating::{self, may_answer, terminating_claim, unreachable_data};
use crate::database::effects::DbAct;
use crate::database::objects;
use crate::database::observed::{Observed, SecretState};
use crate::operand::kinds::{ONLINE, Snapshot};
use crate::operand::names;
use crate::operand::pod::has_volume;
use crate::operand::snapshot_state::{blocker_suffix, has_failed, is_verified};
use crate::operand::time::after;
use runtime::message;

/// How the final snapshot can be taken.
enum FinalSnapshotMode {
    /// Of the running server.
    Online,
    /// Of the volume, by a server in the Job's own pod.
    Offline,
    /// Not yet: why.
    Wait(String),
    /// Not at all: why.
    Lost(String),
}

/// The next step until the data is saved.
pub(super) fn take_final_snapshot(observed: &Observed, now: Timestamp) -> Option<DeletionAction> {
    if is_saved(observed) {
        return None;
    }
    let access = || access::apply_parameters(observed).or_else(|| access::restore_services(observed));
    ensure_volume(observed).or_else(access).or_else(|| match final_snapshot(observed) {
        None => Some(final_snapshot::names_taken(observed).unwrap_or_else(|| begin(observed, now))),
        Some(snapshot) => track(observed, snapshot, now),
    })
}

/// Whether the final snapshot is verified and complete, no client wrote since, and its volume is not terminating.
pub(super) fn is_saved(observed: &Observed) -> bool {
    final_snapshot(observed).is_some_and(|last| {
        let verified = !last.meta.deleting && is_verified(&last.status) && is_on_current_volume(observed, last);
        verified && is_enough(&observed.db, last) && final_snapshot::is_known_complete(observed, last)
    })
}

/// What a verified snapshot lacks, and how the deletion can continue.
fn incomplete(snapshot: &Snapshot) -> DeletionAction {
    let name = &snapshot.meta.key.name;
    let message = format!(
        "the final snapshot {name} does not contain everything, so the data is kept: save the rest by other means and annotate \
         this SampleDB with {ACCEPT_FINAL_SNAPSHOT}={name}; or remove the rest from the database and delete the \
         SampleDBSnapshot {name} to have it taken again; it does not contain: {}",
        snapshot.status.not_covered.join("; ")
    );
    DeletionAction::Blocked(SampleDBReason::FinalSnapshotIncomplete, message::shorten(message))
}

/// Whether a snapshot is on the current volume: a user may have deleted or replaced its PVC.
fn is_on_current_volume(observed: &Observed, last: &Snapshot) -> bool {
    let claim = snapshots_claim(observed).filter(|claim| !claim.meta.deleting);
    claim.is_some_and(|claim| match last.status.location.claim_uid.as_deref() {
        Some(known) => *known == *claim.meta.uid,
        // To which of the user's PVCs it was written is not known yet.
        None => is_operators(observed),
    })
}

/// Whether the snapshot was not found on the current volume, which is not the one that it was written to.
fn is_lost(observed: &Observed, last: &Snapshot) -> bool {
    let verified_on = last.status.verification.claim_uid.as_deref();
    let there = snapshots_claim(observed).map(|claim| &*claim.meta.uid);
    has_failed(&last.status) && there.is_some() && verified_on == there && !is_on_current_volume(observed, last)
}

/// The PVC of the final snapshot. One that the spec names only since the deletion began is not used.
#[must_use]
pub fn final_claim(observed: &Observed) -> String {
    let taken = final_snapshot(observed).and_then(|last| last.status.location.claim.clone());
    let known = taken.or_else(|| observed.db.status.storage.snapshot_claim.clone());
    known.unwrap_or_else(|| names::snapshot_claim(&observed.db))
}

/// That PVC, if it exists.
fn snapshots_claim(observed: &Observed) -> Option<&Pvc> {
    let name = final_claim(observed);
    let named = observed.existing_claim.as_deref().filter(|claim| *claim.meta.key.name == *name);
    observed.claim(&name).or(named)
}

/// Whether the operator creates the PVC of the snapshots, not the user.
fn is_operators(observed: &Observed) -> bool {
    let (own, given) = (names::own_snapshot_claim(&observed.db), &observed.db.spec.backup.storage.existing_claim);
    final_claim(observed) == own && given.as_ref() != Some(&own)
}

/// Grows the volume of the snapshots as the spec says, as long as it is written to.
pub(super) fn grow_volume(observed: &Observed) -> Option<Apply> {
    let claim = snapshots_claim(observed).filter(|claim| is_operators(observed) && !claim.meta.deleting)?;
    let (has, asked) = (claim.requested.as_deref()?, observed.db.spec.backup.storage.size());
    let grows = quantity::value(has)? < quantity::value(asked)?;
    let apply = grows.then(|| objects::own_snapshot_claim(&observed.db, Some(claim)))?;
    apply.if_changed(Some((&claim.meta, claim.fingerprint)))
}

/// Recreates the volume of the snapshots if a user deleted it. A snapshot that was on it is retaken.
fn ensure_volume(observed: &Observed) -> Option<DeletionAction> {
    let claim = snapshots_claim(observed);
    if !is_operators(observed) || claim.is_some_and(|claim| !claim.meta.deleting) {
        return None;
    }
    let name = final_claim(observed);
    // The snapshot was deleted with the volume, or will be.
    if let Some(snapshot) = final_snapshot(observed).filter(|last| !last.meta.deleting) {
        let message = format!("retaking the final snapshot: the volume {name} with it is being deleted");
        return Some(DeletionAction::act(DeletionStep::Snapshot, delete(&snapshot.meta, Snapshot::KIND), message));
    }
    if claim.is_some() {
        let message = format!("waiting for the PVC {name} of the snapshots to be deleted");
        return Some(DeletionAction::Wait(DeletionStep::Snapshot, message));
    }
    let make = Effect::Apply(objects::own_snapshot_claim(&observed.db, None));
    Some(DeletionAction::act(
        DeletionStep::Snapshot,
        make,
        format!("creating the volume {name} for the final snapshot"),
    ))
}

fn begin(observed: &Observed, now: Timestamp) -> DeletionAction {
    let db = &*observed.db;
    let name = final_name(observed);
    let message = format!("taking the final snapshot {name}");
    let until = db.spec.deletion.keep_final_snapshot_for().and_then(|lasting| after(now, lasting));
    let create = |online| Effect::Create(objects::final_snapshot(db, &name, until, online));
    match mode(observed, now) {
        // Both together: only a snapshot that is taken after clients were blocked, and their sessions ended, is final.
        FinalSnapshotMode::Online => DeletionAction::Take(
            DeletionStep::Snapshot,
            vec![Effect::Act(DbAct::BlockConnections), create(true)],
            message,
        ),
        FinalSnapshotMode::Offline => {
            stop(observed).unwrap_or_else(|| DeletionAction::act(DeletionStep::Snapshot, create(false), message))
        }
        FinalSnapshotMode::Wait(message) => DeletionAction::Wait(DeletionStep::Snapshot, message),
        FinalSnapshotMode::Lost(message) => DeletionAction::Blocked(SampleDBReason::ClaimTerminating, message),
    }
}

/// Prefers the running server: whatever happens to the PVC, the server has the data.
fn mode(observed: &Observed, now: Timestamp) -> FinalSnapshotMode {
    let terminating_claim = terminating_claim(observed);
    let known = observed.db.status.system_identifier.as_deref();
    let same = observed.probe.info().is_some_and(|answer| known == Some(&*answer.system_identifier));
    let answers = same && observed.connection.owned().is_some();
    let stays = !is_in_foreground(observed) && serves(observed);
    match terminating_claim {
        _ if answers && stays => FinalSnapshotMode::Online,
        None if is_early(observed, now) && !is_in_foreground(observed) && stop(observed).is_some() => {
            FinalSnapshotMode::Wait(format!(
                "the server does not answer: the operator stops it {} s after the deletion, unless it answers before, and \
                 takes the final snapshot of its volume",
                GRACE_PERIOD.as_secs()
            ))
        }
        None => FinalSnapshotMode::Offline,
        Some(_) if answers && is_ready(observed) => FinalSnapshotMode::Online,
        // A recreated Secret would have another password than the server, which cannot be restarted.
        Some(claim) if matches!(observed.superuser_secret, SecretState::Absent) => {
            FinalSnapshotMode::Lost(unreachable_data(observed, claim))
        }
        Some(claim) => match terminating::silence(observed, now) {
            Some(why) => FinalSnapshotMode::Lost(terminating::silent_server(observed, claim, &why)),
            None if may_answer(observed) => FinalSnapshotMode::Wait(format!(
                "waiting until the server answers: the PVC {} of the data is being deleted, so the final snapshot can only be \
                 taken of the running server",
                claim.meta.key.name
            )),
            None => FinalSnapshotMode::Lost(unreachable_data(observed, claim)),
        },
    }
}

/// Tracks the final snapshot until it is verified.
fn track(observed: &Observed, snapshot: &Snapshot, now: Timestamp) -> Option<DeletionAction> {
    let db = &*observed.db;
    let name = &snapshot.meta.key.name;
    if snapshot.meta.deleting {
        let message = format!("waiting for the final snapshot {name} to be deleted, to retake it");
        return Some(DeletionAction::Wait(DeletionStep::Snapshot, message));
    }
    if is_verified(&snapshot.status) && is_on_current_volume(observed, snapshot) {
        return match is_enough(db, snapshot) {
            true => final_snapshot::await_completeness(observed, snapshot, now),
            false => Some(incomplete(snapshot)),
        };
    }
    if is_verified(&snapshot.status) {
        let message =
            format!("waiting until the final snapshot {name} is verified again: its PVC was deleted or replaced");
        return Some(DeletionAction::Wait(DeletionStep::Verify, message));
    }
    if is_lost(observed, snapshot) {
        let message = format!("retaking the final snapshot {name}: its PVC was replaced, and its files are lost");
        return Some(DeletionAction::act(DeletionStep::Snapshot, delete(&snapshot.meta, Snapshot::KIND), message));
    }
    let begun = snapshot.status.started_at;
    let timeout = i64::try_from(2 * db.spec.deletion.timeout_seconds().unsigned_abs()).unwrap_or(i64::MAX);
    let late = begun.is_some_and(|begun| now.duration_since(begun).as_secs() > timeout);
    let failed = has_failed(&snapshot.status) || late;
    if has_lost_server(observed, snapshot, failed) {
        let message = format!("retaking the final snapshot {name}, of the volume: the server was lost meanwhile");
        return Some(DeletionAction::act(DeletionStep::Snapshot, delete(&snapshot.meta, Snapshot::KIND), message));
    }
    if failed {
        if db.spec.deletion.on_snapshot_failure == OnSnapshotFailure::Proceed {
            return final_snapshot::await_completeness(observed, snapshot, now);
        }
        let why = snapshot.status.error.clone().unwrap_or_else(|| "it was not taken in time".to_owned());
        let message = format!(
            "no final snapshot, so the data is kept: {why}; fix that and delete the SampleDBSnapshot {name} to have it taken \
             again; or, to give the data up without one, annotate this SampleDB with {}",
            skip(db)
        );
        return Some(DeletionAction::Blocked(SampleDBReason::FinalSnapshotFailed, message));
    }
    // It is taken of a volume whose PVC is terminating: by a pod that has the volume already, or not at all.
    let online = snapshot.annotations.contains_key(ONLINE) || snapshot.status.completed_at.is_some();
    if let Some(claim) = terminating_claim(observed)
        .filter(|_| !online && !observed.final_snapshot_pods.iter().any(|pod| has_volume(pod)))
    {
        return Some(DeletionAction::Blocked(SampleDBReason::ClaimTerminating, unreachable_data(observed, claim)));
    }
    let (step, doing) = match snapshot.status.completed_at {
        None => (DeletionStep::Snapshot, "taking"),
        Some(_) => (DeletionStep::Verify, "verifying"),
    };
    Some(DeletionAction::Wait(step, format!("{doing} the final snapshot {name}{}", blocker_suffix(&snapshot.status))))
}

/// Whether the server that a snapshot is taken from was lost, and its volume can be read instead.
fn has_lost_server(observed: &Observed, snapshot: &Snapshot, failed: bool) -> bool {
    let online = snapshot.annotations.contains_key(ONLINE) && terminating_claim(observed).is_none();
    let taken = snapshot.status.completed_at.is_some() && !failed;
    online && !taken && (observed.own_servers().next().is_none() || failed && !is_ready(observed))
}
