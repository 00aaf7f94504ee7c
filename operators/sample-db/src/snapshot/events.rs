//! What is told on a snapshot, once for each transition. Pure.

use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotPhase, VerificationPhase};
use runtime::plan::{Announcement, conditions};

use super::status::{proved, taken};
use crate::Snapshot;

/// What is to be told when its status goes to `after`; less what the conditions tell by themselves.
pub(super) fn of(snapshot: &Snapshot, after: &SampleDBSnapshotStatus) -> Vec<Announcement> {
    let before = &snapshot.status;
    let told = conditions::announcements(&before.contract, &after.contract);
    let news = [begun(snapshot, after), done(before, after), judged(before, after)];
    news.into_iter().flatten().filter(|one| !told.iter().any(|of| of.message == one.message)).collect()
}

fn begun(snapshot: &Snapshot, after: &SampleDBSnapshotStatus) -> Option<Announcement> {
    let begins = after.started_at.is_some() && snapshot.status.started_at.is_none();
    begins.then(|| {
        let method = after.method.unwrap_or_default();
        let message = format!("taking a backup of the SampleDB {} ({method:?})", snapshot.spec.sample_db);
        Announcement { warning: false, reason: "BackupStarted".into(), message }
    })
}

fn done(before: &SampleDBSnapshotStatus, after: &SampleDBSnapshotStatus) -> Option<Announcement> {
    let event = |warning, reason: &'static str, message| Announcement { warning, reason: reason.into(), message };
    if after.completed_at.is_some() {
        return before.completed_at.is_none().then(|| event(false, "BackupCompleted", taken(after)));
    }
    let fails = after.phase == Some(SnapshotPhase::Failed) && before.phase != after.phase;
    fails.then(|| event(true, "BackupFailed", after.error.clone().unwrap_or_default()))
}

fn judged(before: &SampleDBSnapshotStatus, after: &SampleDBSnapshotStatus) -> Option<Announcement> {
    let (was, is) = (&before.verification, &after.verification);
    if was.phase == is.phase {
        return None;
    }
    let event = |warning, reason: &'static str, message| Announcement { warning, reason: reason.into(), message };
    match is.phase? {
        VerificationPhase::Passed => Some(event(false, "BackupVerified", proved(after))),
        VerificationPhase::Failed => Some(event(true, "VerificationFailed", is.message.clone().unwrap_or_default())),
        _ => None,
    }
}
