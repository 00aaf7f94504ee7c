//! Pure: what a snapshot holds that no later one does: it is kept for that, whatever the retention says.

use api::sample_db_snapshot::{RELEASE_SNAPSHOT, SampleDBSnapshotStatus, SnapshotPhase, VerificationPhase};

use super::kinds::Snapshot;
use super::snapshot_state::is_proved;

/// With this begins what stands for the names of databases that no status has room for: a sum of all of them.
const SUM: &str = "...";

/// What a snapshot holds that none of those does that were taken later and are as good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Alone<'a> {
    /// Databases that are not in the next one, for certain: which were dropped, probably.
    pub(crate) names: Vec<&'a str>,
    /// Whether one of them was made again since: a later one holds another database of that name.
    pub(crate) again: bool,
    /// Whether there may be more of them: there are more names than are known.
    pub(crate) unknown: bool,
    /// The uid of the snapshot that tells that a database was gone. Without it one that was made again would be taken for it.
    pub(crate) witness: Option<&'a str>,
}

/// What a later snapshot says of a database.
#[derive(PartialEq, Eq)]
enum Says {
    Held,
    Gone,
    /// Its name may be one of those that have no room.
    Nothing,
}

/// What `snapshot` alone holds among `all`. Nothing, if somebody has released it.
pub(crate) fn held_alone<'a>(snapshot: &'a Snapshot, all: &[&'a Snapshot]) -> Alone<'a> {
    let good = worth(&snapshot.status);
    let mut alone = Alone::default();
    if good == Worth::Nothing || is_released(snapshot) {
        return alone;
    }
    let known = |other: &&&Snapshot| {
        let known = other.status.database_names.is_some() && worth(&other.status) > Worth::Nothing;
        is_later(other, snapshot) && known
    };
    let mut later: Vec<&'a Snapshot> = all.iter().filter(known).copied().collect();
    later.sort_by_key(|other| other.status.started_at);
    for name in names(&snapshot.status) {
        let said = |other: &&'a Snapshot| match says(other, name) {
            Says::Held if worth(&other.status) < good => None,
            Says::Nothing => None,
            said => Some((said, *other)),
        };
        let again = || later.iter().any(|other| says(other, name) == Says::Held && worth(&other.status) >= good);
        match later.iter().find_map(said) {
            Some((Says::Held, _)) => {}
            Some((_, gone)) => {
                alone.names.push(name);
                alone.again |= again();
                alone.witness = alone.witness.or(Some(&*gone.meta.uid));
            }
            None if name.starts_with(SUM) || !later.is_empty() => alone.unknown = true,
            None => alone.names.push(name),
        }
    }
    alone
}

/// Names are sorted, and a sum stands for those that would come after the last one.
fn says(other: &Snapshot, name: &str) -> Says {
    let held = || other.status.database_names.iter().flatten().map(String::as_str);
    let sum = held().any(|of| of.starts_with(SUM));
    let last = held().filter(|of| !of.starts_with(SUM)).max();
    match () {
        () if held().any(|of| of == name) => Says::Held,
        () if name.starts_with(SUM) || sum && last.is_none_or(|last| name > last) => Says::Nothing,
        () => Says::Gone,
    }
}

/// Whether any that is of use was taken later.
pub(crate) fn has_later(snapshot: &Snapshot, all: &[&Snapshot]) -> bool {
    all.iter().any(|other| is_later(other, snapshot) && worth(&other.status) > Worth::Nothing)
}

/// The newest that holds a database, of those that can be relied upon most.
pub(crate) fn newest_with<'a>(name: &str, all: impl Iterator<Item = &'a Snapshot>) -> Option<&'a Snapshot> {
    let holds = |of: &&Snapshot| worth(&of.status) > Worth::Nothing && names(&of.status).any(|held| held == name);
    all.filter(holds).max_by_key(|of| (worth(&of.status), of.status.started_at))
}

/// Why a snapshot is kept, and how it is let go.
pub(crate) fn sentence(snapshot: &Snapshot, alone: &Alone<'_>) -> String {
    let key = &snapshot.meta.key;
    let (name, names) = (&key.name, alone.names.join(", "));
    let why = match (alone.names.is_empty(), alone.again) {
        (true, _) => format!(
            "there are too many databases for their names to be told, so one that {name} holds may be gone since: of such \
             snapshots it alone is kept beyond backup.retention,"
        ),
        (false, true) => format!(
            "the database {names} was gone since the snapshot {name}, and was made again: no later snapshot holds what it held \
             then, so it is kept"
        ),
        (false, false) => format!("no later snapshot holds the database {names}, which {name} does: it is kept"),
    };
    format!(
        "{why} until it is released by kubectl annotate sampledbsnapshot {name} --namespace {} {RELEASE_SNAPSHOT}={name}",
        key.namespace
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
