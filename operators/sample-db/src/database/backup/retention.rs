//! Pure: which scheduled snapshots retention keeps.

use api::sample_db_snapshot::SnapshotReason;
use api::time::span;
use jiff::Timestamp;

use super::scheduled::is_unfinished;
use crate::database::observed::Observed;
use crate::operand::kinds::Snapshot;
use crate::operand::retention::{self, SoleContent};
use crate::operand::snapshot_state::{has_failed, is_reverifying, is_verified};

/// What retention decides about a scheduled snapshot.
pub(super) enum RetentionDecision<'a> {
    Keep,
    /// Because only it contains something.
    KeepForContent(SoleContent<'a>),
    Delete,
}

/// Decides about the scheduled snapshots, newest first. These are never deleted: the newest verified one, those that are being
/// verified again, those that alone contain a database, and the ones that show that such a database was dropped. Snapshots that
/// failed verification do not count toward those to keep, and no more of them are kept than of the good ones.
pub(super) fn retention_decisions(observed: &Observed, now: Timestamp) -> Vec<(&Snapshot, RetentionDecision<'_>)> {
    let retention = &observed.db.spec.backup.retention;
    let keep = usize::try_from(retention.keep_last()).unwrap_or(usize::MAX);
    let oldest = span(retention.max_age()).and_then(|age| now.checked_sub(age).ok());
    let own = |snapshot: &&Snapshot| {
        let over = !is_unfinished(&snapshot.status) && !snapshot.meta.deleting;
        over && snapshot.spec.reason == SnapshotReason::Scheduled
    };
    let every: Vec<&Snapshot> = observed.own_snapshots().collect();
    let mut all: Vec<&Snapshot> = every.iter().copied().filter(own).collect();
    all.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.status.started_at));
    let verified = all.iter().position(|snapshot| is_verified(&snapshot.status));
    let (mut good, mut bad) = (0, 0);
    let stays = |(index, snapshot): (usize, &'_ Snapshot)| {
        let until = snapshot.spec.retain_until.is_some_and(|until| until > now);
        let old = snapshot.status.started_at.zip(oldest).is_some_and(|(at, oldest)| at < oldest);
        let many = good >= keep || bad >= keep && has_failed(&snapshot.status);
        let count = if has_failed(&snapshot.status) { &mut bad } else { &mut good };
        *count += 1;
        until || Some(index) == verified || is_reverifying(&snapshot.status) || !(old || many)
    };
    let stays: Vec<bool> = all.iter().copied().enumerate().map(stays).collect();
    let witnesses: Vec<&str> =
        every.iter().filter_map(|snapshot| retention::sole_content(snapshot, &every).dropped_in).collect();
    // Of those that may be the only ones to contain something, which is unknown, one is kept: where databases are created and
    // dropped often, all would be.
    let mut unknown = false;
    let all = all.into_iter().zip(stays).map(|(snapshot, stays)| match retention::sole_content(snapshot, &every) {
        _ if stays => (snapshot, RetentionDecision::Keep),
        alone if !alone.names.is_empty() => (snapshot, RetentionDecision::KeepForContent(alone)),
        alone if alone.incomplete && !std::mem::replace(&mut unknown, true) => {
            (snapshot, RetentionDecision::KeepForContent(alone))
        }
        _ if witnesses.contains(&&*snapshot.meta.uid) => (snapshot, RetentionDecision::Keep),
        _ => (snapshot, RetentionDecision::Delete),
    });
    all.collect()
}
