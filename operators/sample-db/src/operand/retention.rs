//! Pure: the databases that only one snapshot contains. Such a snapshot is kept, whatever the retention says.

use api::sample_db_snapshot::{RELEASE_SNAPSHOT, SampleDBSnapshotStatus, SnapshotPhase, VerificationPhase};

use super::kinds::Snapshot;
use super::snapshot_state::is_verified;

/// The prefix of a checksum that stands for the names of databases that do not fit into a status.
const SUM: &str = "...";

/// The databases that a snapshot contains, and no later snapshot that is as reliable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SoleContent<'a> {
    /// Databases that are certainly missing in the next snapshot, probably because they were dropped.
    pub(crate) names: Vec<&'a str>,
    /// Whether one of them was recreated since: a later snapshot contains another database of that name.
    pub(crate) recreated: bool,
    /// Whether there may be more of them, because not all names are recorded.
    pub(crate) incomplete: bool,
    /// The UID of the snapshot that shows that a database was dropped. Without that one, a recreated database would be taken for
    /// the dropped one.
    pub(crate) dropped_in: Option<&'a str>,
}

/// What a later snapshot shows about a database.
#[derive(PartialEq, Eq)]
enum Presence {
    Contained,
    Dropped,
    /// Unknown: its name may be one of those that do not fit.
    Unknown,
}

/// Returns what only `snapshot` contains among `all`; nothing if it was released by annotation.
pub(crate) fn sole_content<'a>(snapshot: &'a Snapshot, all: &[&'a Snapshot]) -> SoleContent<'a> {
    let own_reliability = reliability(&snapshot.status);
    let mut sole = SoleContent::default();
    if own_reliability == Reliability::Unusable || is_released(snapshot) {
        return sole;
    }
    let known = |other: &&&Snapshot| {
        let known = other.status.database_names.is_some() && reliability(&other.status) > Reliability::Unusable;
        is_later(other, snapshot) && known
    };
    let mut later: Vec<&'a Snapshot> = all.iter().filter(known).copied().collect();
    later.sort_by_key(|other| other.status.started_at);
    for name in names(&snapshot.status) {
        let decisive = |other: &&'a Snapshot| match presence(other, name) {
            Presence::Contained if reliability(&other.status) < own_reliability => None,
            Presence::Unknown => None,
            decisive => Some((decisive, *other)),
        };
        let recreated = || {
            later.iter().any(|other| {
                presence(other, name) == Presence::Contained && reliability(&other.status) >= own_reliability
            })
        };
        match later.iter().find_map(decisive) {
            Some((Presence::Contained, _)) => {}
            Some((_, dropped_in)) => {
                sole.names.push(name);
                sole.recreated |= recreated();
                sole.dropped_in = sole.dropped_in.or(Some(&*dropped_in.meta.uid));
            }
            None if name.starts_with(SUM) || !later.is_empty() => sole.incomplete = true,
            None => sole.names.push(name),
        }
    }
    sole
}

/// Names are sorted, and a checksum stands for those after the last one.
fn presence(other: &Snapshot, name: &str) -> Presence {
    let held = || other.status.database_names.iter().flatten().map(String::as_str);
    let sum = held().any(|of| of.starts_with(SUM));
    let last = held().filter(|of| !of.starts_with(SUM)).max();
    match () {
        () if held().any(|of| of == name) => Presence::Contained,
        () if name.starts_with(SUM) || sum && last.is_none_or(|last| name > last) => Presence::Unknown,
        () => Presence::Dropped,
    }
}

/// Whether a usable snapshot was taken later.
pub(crate) fn has_later(snapshot: &Snapshot, all: &[&Snapshot]) -> bool {
    all.iter().any(|other| is_later(other, snapshot) && reliability(&other.status) > Reliability::Unusable)
}

/// The newest snapshot with a database among the most reliable ones.
pub(crate) fn newest_containing<'a>(name: &str, all: impl Iterator<Item = &'a Snapshot>) -> Option<&'a Snapshot> {
    let holds =
        |of: &&Snapshot| reliability(&of.status) > Reliability::Unusable && names(&of.status).any(|held| held == name);
    all.filter(holds).max_by_key(|of| (reliability(&of.status), of.status.started_at))
}

/// Why a snapshot is kept, and how to release it.
pub(crate) fn keep_message(snapshot: &Snapshot, sole: &SoleContent<'_>) -> String {
    let key = &snapshot.meta.key;
    let (name, names) = (&key.name, sole.names.join(", "));
    let why = match (sole.names.is_empty(), sole.recreated) {
        (true, _) => format!(
            "there are too many databases for all names to be recorded, so {name} may contain one that was dropped since; only the \
             newest such snapshot is kept beyond backup.retention,"
        ),
        (false, true) => format!(
            "the database {names} was dropped after the snapshot {name} and recreated, so no later snapshot contains its earlier \
             data: {name} is kept"
        ),
        (false, false) => format!("no later snapshot contains the database {names}: {name} is kept"),
    };
    format!(
        "{why} until it is released by kubectl annotate sampledbsnapshot {name} --namespace {} {RELEASE_SNAPSHOT}={name}",
        key.namespace
    )
}

/// How reliable a snapshot is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reliability {
    /// It could not be taken, is incomplete, or its files have changed.
    Unusable,
    /// It was taken. Its verification is running, or failed for a reason that says nothing about the files.
    Doubtful,
    /// It was taken, without verification.
    Taken,
    Verified,
}

fn reliability(status: &SampleDBSnapshotStatus) -> Reliability {
    match (status.phase, status.verification.phase) {
        _ if is_verified(status) => Reliability::Verified,
        (Some(SnapshotPhase::Ready), Some(VerificationPhase::Skipped) | None) => Reliability::Taken,
        (Some(SnapshotPhase::Ready), _) => Reliability::Doubtful,
        _ => Reliability::Unusable,
    }
}

fn is_later(other: &Snapshot, than: &Snapshot) -> bool {
    other.meta.uid != than.meta.uid && !other.meta.deleting && other.status.started_at > than.status.started_at
}

fn is_released(snapshot: &Snapshot) -> bool {
    snapshot.annotations.get(RELEASE_SNAPSHOT).is_some_and(|name| **name == *snapshot.meta.key.name)
}

/// The names of the databases in a snapshot. A snapshot that was taken before names were recorded has only the one that is known.
fn names(status: &SampleDBSnapshotStatus) -> impl Iterator<Item = &str> {
    let known = status.database_names.iter().flatten().map(String::as_str);
    known.chain(status.database.as_deref().filter(|_| status.database_names.is_none()))
}
