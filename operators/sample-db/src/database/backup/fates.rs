//! Pure: which snapshots of the schedule retention keeps.

use api::sample_db::span;
use api::sample_db_snapshot::SnapshotReason;
use jiff::Timestamp;

use super::scheduled::is_under_way;
use crate::database::observed::Observed;
use crate::operand::kinds::Snapshot;
use crate::operand::retention::{self, Alone};
use crate::operand::snapshot_state::{is_bad, is_in_doubt, is_proved};

/// What retention makes of a snapshot of the schedule's.
pub(super) enum Fate<'a> {
    Stays,
    /// For what it alone holds.
    Kept(Alone<'a>),
    Goes,
}

/// What becomes of the schedule's snapshots, newest first. Never goes the newest that is proved, none that is being judged, and
/// none that alone holds a database, nor the one that tells that it was gone. One that did not stand its proof does not count among those that are kept, and no more of
/// them stay than of the good ones.
pub(super) fn fates(observed: &Observed, now: Timestamp) -> Vec<(&Snapshot, Fate<'_>)> {
    let retention = &observed.db.spec.backup.retention;
    let keep = usize::try_from(retention.keep_last()).unwrap_or(usize::MAX);
    let oldest = span(retention.max_age()).and_then(|age| now.checked_sub(age).ok());
    let ours = |snapshot: &&Snapshot| {
        let over = !is_under_way(&snapshot.status) && !snapshot.meta.deleting;
        over && snapshot.spec.reason == SnapshotReason::Scheduled
    };
    let every: Vec<&Snapshot> = observed.own_snapshots().collect();
    let mut all: Vec<&Snapshot> = every.iter().copied().filter(ours).collect();
    all.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.status.started_at));
    let proved = all.iter().position(|snapshot| is_proved(&snapshot.status));
    let (mut good, mut bad) = (0, 0);
    let fate = |(place, snapshot): (usize, &'_ Snapshot)| {
        let until = snapshot.spec.retain_until.is_some_and(|until| until > now);
        let old = snapshot.status.started_at.zip(oldest).is_some_and(|(at, oldest)| at < oldest);
        let many = good >= keep || bad >= keep && is_bad(&snapshot.status);
        let count = if is_bad(&snapshot.status) { &mut bad } else { &mut good };
        *count += 1;
        until || Some(place) == proved || is_in_doubt(&snapshot.status) || !(old || many)
    };
    let stays: Vec<bool> = all.iter().copied().enumerate().map(fate).collect();
    let witnesses: Vec<&str> =
        every.iter().filter_map(|snapshot| retention::held_alone(snapshot, &every).witness).collect();
    // Of those that may hold something alone, and of which nobody can tell, one is kept: where databases come and go, all would be.
    let mut unknown = false;
    let all = all.into_iter().zip(stays).map(|(snapshot, stays)| match retention::held_alone(snapshot, &every) {
        _ if stays => (snapshot, Fate::Stays),
        alone if !alone.names.is_empty() => (snapshot, Fate::Kept(alone)),
        alone if alone.unknown && !std::mem::replace(&mut unknown, true) => (snapshot, Fate::Kept(alone)),
        _ if witnesses.contains(&&*snapshot.meta.uid) => (snapshot, Fate::Stays),
        _ => (snapshot, Fate::Goes),
    });
    all.collect()
}
