//! Pure: the last snapshot: of the running server, with writers shut out, or else of its volume.

use api::sample_db::{ACCEPT_FINAL_SNAPSHOT, DeletionStep, OnSnapshotFailure, SampleDBReason};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, Effect};
use runtime::projections::Claim;
use runtime::quantity;

use super::last::{self, final_name, is_enough, last};
use super::server::{is_ready, serves, stop};
use super::step::{DeletionAction, GRACE, gone, is_early, is_in_foreground, skip};
use super::terminating::{self, dying, may_answer, unreachable_data};
use super::way_in;
use crate::database::effects::DbAct;
use crate::database::objects;
use crate::database::observed::{Observed, SecretSeen};
use crate::operand::kinds::{ONLINE, Snapshot};
use crate::operand::pod::has_volume;
use crate::operand::snapshot_state::{hindered, is_bad, is_proved};
use crate::operand::time::after;
use crate::operand::{message, names};

/// How the last snapshot can be taken.
enum Way {
    /// Of the server, which runs.
    Online,
    /// Of the volume, by a server in the Job's own pod.
    Offline,
    /// Not yet.
    Wait(String),
    /// By nobody: why.
    Lost(String),
}

/// What comes next until the data are saved.
pub(super) fn save(observed: &Observed, now: Timestamp) -> Option<DeletionAction> {
    if is_saved(observed) {
        return None;
    }
    let way_in = || way_in::configured(observed).or_else(|| way_in::restored(observed));
    room(observed).or_else(way_in).or_else(|| match last(observed) {
        None => Some(last::names_taken(observed).unwrap_or_else(|| begin(observed, now))),
        Some(snapshot) => follow(observed, snapshot, now),
    })
}

/// Whether the last snapshot is proved and complete, nobody has written since, and where it was written is there to stay.
pub(super) fn is_saved(observed: &Observed) -> bool {
    last(observed).is_some_and(|last| {
        let proved = !last.meta.deleting && is_proved(&last.status) && is_there_still(observed, last);
        proved && is_enough(&observed.db, last) && last::is_judged(observed, last)
    })
}

/// What a proved snapshot lacks, and how the deletion goes on.
fn incomplete(snapshot: &Snapshot) -> DeletionAction {
    let name = &snapshot.meta.key.name;
    let message = format!(
        "the final snapshot {name} does not contain everything, so the data stay: save the rest by other means and annotate this \
         SampleDB with {ACCEPT_FINAL_SNAPSHOT}={name}; or remove the rest from the database and delete the SampleDBSnapshot \
         {name} to have it taken again; it does not contain: {}",
        snapshot.status.not_covered.join("; ")
    );
    DeletionAction::Blocked(SampleDBReason::FinalSnapshotIncomplete, message::message(message))
}

/// Whether a snapshot is on the volume that there is now: somebody may have deleted or replaced its claim.
fn is_there_still(observed: &Observed, last: &Snapshot) -> bool {
    let claim = snapshots_claim(observed).filter(|claim| !claim.meta.deleting);
    claim.is_some_and(|claim| match last.status.location.claim_uid.as_deref() {
        Some(known) => *known == *claim.meta.uid,
        // Which of the user's claims it was written to is not known yet.
        None => is_operators(observed),
    })
}

/// Whether a snapshot was looked for on the volume that there is now, which is another one than it was written to, in vain.
fn is_lost(observed: &Observed, last: &Snapshot) -> bool {
    let looked = last.status.verification.claim_uid.as_deref();
    let there = snapshots_claim(observed).map(|claim| &*claim.meta.uid);
    is_bad(&last.status) && there.is_some() && looked == there && !is_there_still(observed, last)
}

/// The claim that the last snapshot is on, or goes to. One that the spec has come to name since the deletion began is not used.
#[must_use]
pub fn final_claim(observed: &Observed) -> String {
    let taken = last(observed).and_then(|last| last.status.location.claim.clone());
    let known = taken.or_else(|| observed.db.status.storage.snapshot_claim.clone());
    known.unwrap_or_else(|| names::snapshot_claim(&observed.db))
}

/// The same, as it is.
fn snapshots_claim(observed: &Observed) -> Option<&Claim> {
    let name = final_claim(observed);
    let named = observed.existing_claim.as_deref().filter(|claim| *claim.meta.key.name == *name);
    observed.claim(&name).or(named)
}

/// Whether the claim of the snapshots is one that the operator makes, and not the user's.
fn is_operators(observed: &Observed) -> bool {
    let (own, given) = (names::own_snapshot_claim(&observed.db), &observed.db.spec.backup.storage.existing_claim);
    final_claim(observed) == own && given.as_ref() != Some(&own)
}

/// What makes room for it: the volume of the snapshots grows as the spec says, as long as it is written to.
pub(super) fn grown(observed: &Observed) -> Option<Apply> {
    let claim = snapshots_claim(observed).filter(|claim| is_operators(observed) && !claim.meta.deleting)?;
    let (has, asked) = (claim.requested.as_deref()?, observed.db.spec.backup.storage.size());
    let grows = quantity::whole(has)? < quantity::whole(asked)?;
    let apply = grows.then(|| objects::own_snapshot_claim(&observed.db, Some(claim)))?;
    apply.unless(Some((&claim.meta, claim.fingerprint)))
}

/// The volume of the snapshots is made again if somebody has deleted it, too. What is on it by then is a new snapshot's.
fn room(observed: &Observed) -> Option<DeletionAction> {
    let claim = snapshots_claim(observed);
    if !is_operators(observed) || claim.is_some_and(|claim| !claim.meta.deleting) {
        return None;
    }
    let name = final_claim(observed);
    // What was taken went with it, or will.
    if let Some(snapshot) = last(observed).filter(|last| !last.meta.deleting) {
        let message = format!("taking the final snapshot anew, since the volume {name} with it is being deleted");
        return Some(DeletionAction::take(DeletionStep::Snapshot, gone(&snapshot.meta, Snapshot::KIND), message));
    }
    if claim.is_some() {
        let message = format!("waiting until the claim {name} of the snapshots, which is being deleted, is gone");
        return Some(DeletionAction::Wait(DeletionStep::Snapshot, message));
    }
    let make = Effect::Apply(objects::own_snapshot_claim(&observed.db, None));
    Some(DeletionAction::take(DeletionStep::Snapshot, make, format!("making the volume {name} for the final snapshot")))
}

fn begin(observed: &Observed, now: Timestamp) -> DeletionAction {
    let db = &*observed.db;
    let name = final_name(observed);
    let message = format!("taking the final snapshot {name}");
    let until = db.spec.deletion.keep_final_snapshot_for().and_then(|lasting| after(now, lasting));
    let create = |online| Effect::Create(objects::final_snapshot(db, &name, until, online));
    match way(observed, now) {
        // Both at once: only what was taken after writers were shut out, and their sessions ended, is the last.
        Way::Online => {
            DeletionAction::Take(DeletionStep::Snapshot, vec![Effect::Act(DbAct::ShutOut), create(true)], message)
        }
        Way::Offline => {
            stop(observed).unwrap_or_else(|| DeletionAction::take(DeletionStep::Snapshot, create(false), message))
        }
        Way::Wait(message) => DeletionAction::Wait(DeletionStep::Snapshot, message),
        Way::Lost(message) => DeletionAction::Blocked(SampleDBReason::ClaimTerminating, message),
    }
}

/// The running server is preferred: whatever becomes of the claim, it has the data.
fn way(observed: &Observed, now: Timestamp) -> Way {
    let dying = dying(observed);
    let known = observed.db.status.system_identifier.as_deref();
    let same = observed.asked.answer().is_some_and(|answer| known == Some(&*answer.system_identifier));
    let answers = same && observed.connection.owned().is_some();
    let stays = !is_in_foreground(observed) && serves(observed);
    match dying {
        _ if answers && stays => Way::Online,
        None if is_early(observed, now) && !is_in_foreground(observed) && stop(observed).is_some() => {
            Way::Wait(format!(
                "the server does not answer: waiting until it does, at most {} s after the deletion, before the server is stopped \
             and the final snapshot is taken of its volume",
                GRACE.as_secs()
            ))
        }
        None => Way::Offline,
        Some(_) if answers && is_ready(observed) => Way::Online,
        // One that is made again now has another password than the server, which cannot start anew.
        Some(claim) if matches!(observed.system, SecretSeen::Absent) => Way::Lost(unreachable_data(observed, claim)),
        Some(claim) => match terminating::silence(observed, now) {
            Some(why) => Way::Lost(terminating::silent_server(observed, claim, &why)),
            None if may_answer(observed) => Way::Wait(format!(
                "the claim {} of the data is being deleted, so the final snapshot can only be taken of the running server: \
                 waiting until that answers",
                claim.meta.key.name
            )),
            None => Way::Lost(unreachable_data(observed, claim)),
        },
    }
}

/// The last snapshot, on its way.
fn follow(observed: &Observed, snapshot: &Snapshot, now: Timestamp) -> Option<DeletionAction> {
    let db = &*observed.db;
    let name = &snapshot.meta.key.name;
    if snapshot.meta.deleting {
        let message = format!("waiting until the final snapshot {name} is gone, to take it anew");
        return Some(DeletionAction::Wait(DeletionStep::Snapshot, message));
    }
    if is_proved(&snapshot.status) && is_there_still(observed, snapshot) {
        return match is_enough(db, snapshot) {
            true => last::judge(observed, snapshot, now),
            false => Some(incomplete(snapshot)),
        };
    }
    if is_proved(&snapshot.status) {
        let message =
            format!("waiting until the final snapshot {name} is verified again: its PVC was deleted or replaced");
        return Some(DeletionAction::Wait(DeletionStep::Verify, message));
    }
    if is_lost(observed, snapshot) {
        let message = format!("taking the final snapshot {name} anew: its PVC was replaced, and its files are gone");
        return Some(DeletionAction::take(DeletionStep::Snapshot, gone(&snapshot.meta, Snapshot::KIND), message));
    }
    let begun = snapshot.status.started_at;
    let timeout = i64::try_from(2 * db.spec.deletion.timeout_seconds().unsigned_abs()).unwrap_or(i64::MAX);
    let late = begun.is_some_and(|begun| now.duration_since(begun).as_secs() > timeout);
    let failed = is_bad(&snapshot.status) || late;
    if is_deserted(observed, snapshot, failed) {
        let message = format!("taking the final snapshot {name} anew, of the volume: the server has gone meanwhile");
        return Some(DeletionAction::take(DeletionStep::Snapshot, gone(&snapshot.meta, Snapshot::KIND), message));
    }
    if failed {
        if db.spec.deletion.on_snapshot_failure == OnSnapshotFailure::Proceed {
            return last::judge(observed, snapshot, now);
        }
        let why = snapshot.status.error.clone().unwrap_or_else(|| "it has not been taken in time".to_owned());
        let message = format!(
            "there is no final snapshot, so the data stay: {why}; mend that and delete the SampleDBSnapshot {name} to have it \
             taken again, or let the data go without one: annotate this SampleDB with {}",
            skip(db)
        );
        return Some(DeletionAction::Blocked(SampleDBReason::FinalSnapshotFailed, message));
    }
    // It is taken of a volume that somebody has deleted meanwhile: by a pod that has it, or by none.
    let online = snapshot.annotations.contains_key(ONLINE) || snapshot.status.completed_at.is_some();
    if let Some(claim) = dying(observed).filter(|_| !online && !observed.saving.iter().any(|pod| has_volume(pod))) {
        return Some(DeletionAction::Blocked(SampleDBReason::ClaimTerminating, unreachable_data(observed, claim)));
    }
    let (step, doing) = match snapshot.status.completed_at {
        None => (DeletionStep::Snapshot, "taking"),
        Some(_) => (DeletionStep::Verify, "verifying"),
    };
    Some(DeletionAction::Wait(step, format!("{doing} the final snapshot {name}{}", hindered(&snapshot.status))))
}

/// Whether the server from which a snapshot is taken has gone, and its volume can be read instead.
fn is_deserted(observed: &Observed, snapshot: &Snapshot, failed: bool) -> bool {
    let online = snapshot.annotations.contains_key(ONLINE) && dying(observed).is_none();
    let taken = snapshot.status.completed_at.is_some() && !failed;
    online && !taken && (observed.own_servers().next().is_none() || failed && !is_ready(observed))
}
