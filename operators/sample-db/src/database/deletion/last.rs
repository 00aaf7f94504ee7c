//! Pure: which snapshot is the last one: somebody else may make one that looks like it.

use api::sample_db::{ACCEPT_FINAL_SNAPSHOT, DeletionStep, OnSnapshotFailure, SampleDBReason};
use api::sample_db_snapshot::SnapshotReason;
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;

use super::server::{is_ready, stop};
use super::step::{DeletionAction, LONG, gone, skip};
use crate::database::answer::Answer;
use crate::database::login::Login;
use crate::database::observed::Observed;
use crate::operand::kinds::{ONLINE, SampleDB, Snapshot};
use crate::operand::snapshot_state::{is_bad, is_proved};

/// The last snapshot, if there is one yet.
pub(super) fn last(observed: &Observed) -> Option<&Snapshot> {
    let name = final_name(observed);
    let named = observed.snapshots.iter().map(|snapshot| &**snapshot).find(|snapshot| *snapshot.meta.key.name == *name);
    named.filter(|snapshot| is_last(&observed.db, snapshot))
}

/// How far the clocks of two API servers may differ, each of which has noted one of two times.
const CLOCKS: SignedDuration = SignedDuration::from_secs(5);

/// Whether a snapshot has been asked for by this deletion: what somebody else has made under such a name, or beforehand, lacks
/// what was written since.
fn is_last(db: &SampleDB, snapshot: &Snapshot) -> bool {
    let spec = &snapshot.spec;
    let own = spec.reason == SnapshotReason::Final && spec.sample_db_uid.as_deref() == Some(&*db.meta.uid);
    own && snapshot.created.zip(db.deleted).is_none_or(|(created, deleted)| created + CLOCKS >= deleted)
}

/// The name of the last snapshot: its own for each object of that name, of whose uids no two may begin alike.
#[must_use]
pub fn final_name(observed: &Observed) -> String {
    let db = &*observed.db;
    let uid: Vec<char> = db.meta.uid.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = |part: &[char]| format!("{}-final-{}", db.meta.key.name, part.iter().collect::<String>());
    let taken = |name: &String| {
        let of = observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == **name);
        of.is_some_and(|of| !is_last(db, of))
    };
    uid.chunks(4).map(name).find(|name| !taken(name)).unwrap_or_else(|| name(&uid[..uid.len().min(4)]))
}

/// What keeps the last snapshot from being made: somebody has made others under all of its names.
pub(super) fn names_taken(observed: &Observed) -> Option<DeletionAction> {
    let db = &*observed.db;
    let name = final_name(observed);
    observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == *name)?;
    let message = format!(
        "there is no final snapshot, so the data stay: all names that it may have are those of other SampleDBSnapshots: delete \
         {name} to have it taken, or let the data go without one: annotate this SampleDB with {}",
        skip(db)
    );
    Some(DeletionAction::Blocked(SampleDBReason::FinalSnapshotFailed, message))
}

/// Removes the last snapshot, to take it anew, if writers get in to the server that it is of, or if it is of the volume and a server
/// writes to that: also while another snapshot is being taken, which is waited for.
pub(super) fn anew(observed: &Observed) -> Option<DeletionAction> {
    let snapshot = last(observed).filter(|snapshot| !snapshot.meta.deleting)?;
    let why = match snapshot.annotations.contains_key(ONLINE) {
        true => lets_writers_in(observed, snapshot).then_some("writers get in to the server that it is of"),
        // The operator takes one of the volume once the server is gone, so somebody else has made this.
        false => stop(observed).map(|_| "it is of the volume, and the server has yet to stop"),
    }?;
    let message = format!("taking the final snapshot {} anew: {why}", snapshot.meta.key.name);
    Some(DeletionAction::take(DeletionStep::Snapshot, gone(&snapshot.meta, Snapshot::KIND), message))
}

/// Whether the server is asked if writers get in. It is not while a person is waited for, who may let somebody in to mend what is
/// wrong, nor once a person has accepted this very snapshot: another one may lack more.
pub(super) fn is_watched(observed: &Observed, last: &Snapshot) -> bool {
    let db = &*observed.db;
    let waits = match is_proved(&last.status) {
        true => !is_enough(db, last),
        false => is_bad(&last.status) && db.spec.deletion.on_snapshot_failure != OnSnapshotFailure::Proceed,
    };
    last.annotations.contains_key(ONLINE) && !waits && !is_accepted(db, last)
}

/// Whether writers get in to the server that a snapshot is of, which lacks what they write: whoever made it has not shut them out
/// first, as the operator does, or somebody has let them in again.
fn lets_writers_in(observed: &Observed, snapshot: &Snapshot) -> bool {
    // Where they are shut out, that is always found out.
    is_watched(observed, snapshot) && answer(observed).is_some_and(|answer| answer.login != Login::ShutOut)
}

/// Whether what a snapshot has is known to be all: of a server that is ready, only that itself can tell.
pub(super) fn is_judged(observed: &Observed, snapshot: &Snapshot) -> bool {
    let of_server = is_watched(observed, snapshot) && is_ready(observed);
    !of_server || answer(observed).is_some_and(|answer| answer.login == Login::ShutOut)
}

/// What comes before anything goes with a snapshot of a server that does not say whether writers get in: it is waited for. A snapshot is
/// not given up for a server that stays silent: its node may be gone with the volume.
pub(super) fn judge(observed: &Observed, snapshot: &Snapshot, now: Timestamp) -> Option<DeletionAction> {
    let turned = observed.pod().and_then(|pod| pod.running.as_deref()).and_then(|running| running.ready_since);
    let since = observed.db.status.deletion.started_at.max(snapshot.status.completed_at).max(turned);
    let waits = !is_judged(observed, snapshot) && since.is_none_or(|since| now.duration_since(since) <= LONG);
    waits.then(|| {
        let name = &snapshot.meta.key.name;
        let message = format!("waiting until the server says that nobody writes what the final snapshot {name} lacks");
        DeletionAction::Wait(DeletionStep::Verify, message)
    })
}

/// What the server says, if it has the data.
fn answer(observed: &Observed) -> Option<&Answer> {
    let known = observed.db.status.system_identifier.as_deref();
    observed.asked.answer().filter(|answer| known == Some(&*answer.system_identifier))
}

/// Whether a snapshot contains everything, or somebody accepts that it does not.
pub(crate) fn is_enough(db: &SampleDB, last: &Snapshot) -> bool {
    let proceeds = db.spec.deletion.on_snapshot_failure == OnSnapshotFailure::Proceed;
    last.status.not_covered.is_empty() || is_accepted(db, last) || proceeds
}

/// Whether somebody has accepted what this snapshot lacks.
pub(crate) fn is_accepted(db: &SampleDB, last: &Snapshot) -> bool {
    db.annotations.get(ACCEPT_FINAL_SNAPSHOT).is_some_and(|name| **name == *last.meta.key.name)
}
