//! Pure: which snapshot is the final one: others may create one that looks like it.

use api::sample_db::{ACCEPT_FINAL_SNAPSHOT, DeletionStep, OnSnapshotFailure, SampleDBReason};
use api::sample_db_snapshot::SnapshotReason;
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;

use super::server::{is_ready, stop};
use super::step::{DeletionAction, SLOW_AFTER, delete, skip};
use crate::database::login::LoginCheck;
use crate::database::observed::Observed;
use crate::database::server_info::ServerInfo;
use crate::operand::kinds::{ONLINE, SampleDB, Snapshot};
use crate::operand::snapshot_state::{has_failed, is_verified};

/// The final snapshot, if it exists.
pub(super) fn final_snapshot(observed: &Observed) -> Option<&Snapshot> {
    let name = final_name(observed);
    let named = observed.snapshots.iter().map(|snapshot| &**snapshot).find(|snapshot| *snapshot.meta.key.name == *name);
    named.filter(|snapshot| is_final(&observed.db, snapshot))
}

/// How much the clocks of two API servers may differ, each of which recorded one of two times.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(5);

/// Whether this deletion requested a snapshot. One that another client created under such a name, or earlier, lacks what was
/// written since.
fn is_final(db: &SampleDB, snapshot: &Snapshot) -> bool {
    let spec = &snapshot.spec;
    let own = spec.reason == SnapshotReason::Final && spec.sample_db_uid.as_deref() == Some(&*db.meta.uid);
    own && snapshot.created.zip(db.deleted).is_none_or(|(created, deleted)| created + CLOCK_SKEW >= deleted)
}

/// The name of the final snapshot: each object of the same name has its own, even if their UIDs begin alike.
#[must_use]
pub fn final_name(observed: &Observed) -> String {
    let db = &*observed.db;
    let uid: Vec<char> = db.meta.uid.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = |part: &[char]| format!("{}-final-{}", db.meta.key.name, part.iter().collect::<String>());
    let taken = |name: &String| {
        let of = observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == **name);
        of.is_some_and(|of| !is_final(db, of))
    };
    uid.chunks(4).map(name).find(|name| !taken(name)).unwrap_or_else(|| name(&uid[..uid.len().min(4)]))
}

/// What blocks the final snapshot: other clients created snapshots under all of its names.
pub(super) fn names_taken(observed: &Observed) -> Option<DeletionAction> {
    let db = &*observed.db;
    let name = final_name(observed);
    observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == *name)?;
    let message = format!(
        "no final snapshot, so the data is kept: other SampleDBSnapshots have all names that it may have; delete {name} to \
         have it taken; or, to give the data up without one, annotate this SampleDB with {}",
        skip(db)
    );
    Some(DeletionAction::Blocked(SampleDBReason::FinalSnapshotFailed, message))
}

/// Deletes the final snapshot, to retake it, if clients can write to the server that it is of, or if it is of the volume and a
/// server writes to that. This also happens while the operator waits for another snapshot.
pub(super) fn retake(observed: &Observed) -> Option<DeletionAction> {
    let snapshot = final_snapshot(observed).filter(|snapshot| !snapshot.meta.deleting)?;
    let why = match snapshot.annotations.contains_key(ONLINE) {
        true => admits_clients(observed, snapshot).then_some("clients can write to the server that it is of"),
        // The operator takes one of the volume only once the server is deleted, so another client created this one.
        false => stop(observed).map(|_| "it is of the volume, and the server has yet to stop"),
    }?;
    let message = format!("retaking the final snapshot {}: {why}", snapshot.meta.key.name);
    Some(DeletionAction::act(DeletionStep::Snapshot, delete(&snapshot.meta, Snapshot::KIND), message))
}

/// Whether the server is queried about whether clients can connect. It is not while a user has to act, who may connect to repair
/// something, nor once the user accepted this snapshot: another one may lack more.
pub(super) fn is_watched(observed: &Observed, last: &Snapshot) -> bool {
    let db = &*observed.db;
    let waits = match is_verified(&last.status) {
        true => !is_enough(db, last),
        false => has_failed(&last.status) && db.spec.deletion.on_snapshot_failure != OnSnapshotFailure::Proceed,
    };
    last.annotations.contains_key(ONLINE) && !waits && !is_accepted(db, last)
}

/// Whether clients can write to the server that a snapshot is of, which lacks what they write: another client created it without
/// blocking the others first, as the operator does, or clients were allowed again.
fn admits_clients(observed: &Observed, snapshot: &Snapshot) -> bool {
    // Where clients are blocked, the check always finds that out.
    is_watched(observed, snapshot) && server_info(observed).is_some_and(|info| info.login != LoginCheck::Blocked)
}

/// Whether a snapshot is known to be complete. For a ready server, only its own answer shows that.
pub(super) fn is_known_complete(observed: &Observed, snapshot: &Snapshot) -> bool {
    let of_server = is_watched(observed, snapshot) && is_ready(observed);
    !of_server || server_info(observed).is_some_and(|info| info.login == LoginCheck::Blocked)
}

/// Waits before anything is deleted, if the server that the snapshot is of does not say whether clients can connect. The snapshot
/// is not given up for a server that stays silent: its node may be lost with the volume.
pub(super) fn await_completeness(observed: &Observed, snapshot: &Snapshot, now: Timestamp) -> Option<DeletionAction> {
    let turned = observed.pod().and_then(|pod| pod.details.as_deref()).and_then(|running| running.ready_since);
    let since = observed.db.status.deletion.started_at.max(snapshot.status.completed_at).max(turned);
    let waits =
        !is_known_complete(observed, snapshot) && since.is_none_or(|since| now.duration_since(since) <= SLOW_AFTER);
    waits.then(|| {
        let name = &snapshot.meta.key.name;
        let message = format!(
            "waiting until the server confirms that clients cannot write what the final snapshot {name} would lack"
        );
        DeletionAction::Wait(DeletionStep::Verify, message)
    })
}

/// What the server reports, if it has the database's data.
fn server_info(observed: &Observed) -> Option<&ServerInfo> {
    let known = observed.db.status.system_identifier.as_deref();
    observed.probe.info().filter(|info| known == Some(&*info.system_identifier))
}

/// Whether a snapshot contains everything, or the user accepts that it does not.
pub(crate) fn is_enough(db: &SampleDB, last: &Snapshot) -> bool {
    let proceeds = db.spec.deletion.on_snapshot_failure == OnSnapshotFailure::Proceed;
    last.status.not_covered.is_empty() || is_accepted(db, last) || proceeds
}

/// Whether the user accepted what this snapshot lacks.
pub(crate) fn is_accepted(db: &SampleDB, last: &Snapshot) -> bool {
    db.annotations.get(ACCEPT_FINAL_SNAPSHOT).is_some_and(|name| **name == *last.meta.key.name)
}
