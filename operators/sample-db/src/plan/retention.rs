//! What a snapshot holds that no later one does: it is kept for that, whatever the retention says. Pure.

use api::sample_db_snapshot::{RELEASE_SNAPSHOT, SampleDBSnapshotStatus, SnapshotPhase, VerificationPhase};

use crate::Snapshot;
use crate::snapshot::plan::is_proved;

/// The databases that `snapshot` holds and none of those among `all` does that were taken later and are as good. None, if
/// somebody has released it.
pub(crate) fn held_alone<'a>(snapshot: &'a Snapshot, all: &[&Snapshot]) -> Vec<&'a str> {
    let good = worth(&snapshot.status);
    if good == Worth::Nothing || is_released(snapshot) {
        return Vec::new();
    }
    let covers = |other: &&&Snapshot| is_later(other, snapshot) && worth(&other.status) >= good;
    let later: Vec<_> = all.iter().filter(covers).filter_map(|other| other.status.database_names.as_ref()).collect();
    let is_held = |name: &&str| later.iter().any(|names| names.iter().any(|other| *other == **name));
    names(&snapshot.status).filter(|name| !is_held(name)).collect()
}

/// Whether any that is of use was taken later.
pub(crate) fn has_later(snapshot: &Snapshot, all: &[&Snapshot]) -> bool {
    all.iter().any(|other| is_later(other, snapshot) && worth(&other.status) > Worth::Nothing)
}

/// Why a snapshot is kept, and how it is let go.
pub(crate) fn sentence(snapshot: &Snapshot, names: &[&str]) -> String {
    let key = &snapshot.meta.key;
    format!(
        "no later snapshot holds the database {}, which {} does: it is kept until it is released by kubectl annotate \
         sampledbsnapshot {} --namespace {} {RELEASE_SNAPSHOT}={}",
        names.join(", "),
        key.name,
        key.name,
        key.namespace,
        key.name
    )
}

/// How far a snapshot can be relied upon.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// It could not be taken, is not complete, or its files are not what they were.
    Nothing,
    /// It was taken; its proof failed for another reason, or is under way.
    Doubtful,
    /// It was taken, and not to be proved.
    Taken,
    Proved,
}

fn worth(status: &SampleDBSnapshotStatus) -> Worth {
    match (status.phase, status.verification.phase) {
        _ if is_proved(status) => Worth::Proved,
        (Some(SnapshotPhase::Ready), Some(VerificationPhase::Skipped) | None) => Worth::Taken,
        (Some(SnapshotPhase::Ready), _) => Worth::Doubtful,
        _ => Worth::Nothing,
    }
}

fn is_later(other: &Snapshot, than: &Snapshot) -> bool {
    other.meta.uid != than.meta.uid && !other.meta.deleting && other.status.started_at > than.status.started_at
}

fn is_released(snapshot: &Snapshot) -> bool {
    snapshot.annotations.get(RELEASE_SNAPSHOT).is_some_and(|name| **name == *snapshot.meta.key.name)
}

/// Of one that was taken before names were written down, the one that is known: what else it may hold nothing tells.
fn names(status: &SampleDBSnapshotStatus) -> impl Iterator<Item = &str> {
    let known = status.database_names.iter().flatten().map(String::as_str);
    known.chain(status.database.as_deref().filter(|_| status.database_names.is_none()))
}
