//! Pure: what is told on a snapshot, once for each transition.

use api::Reason;
use api::sample_db_snapshot::{
    SampleDBSnapshotEvent, SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, VerificationPhase,
};
use runtime::plan::EventDraft;
use runtime::status::conditions;

use super::status::{proved, taken};
use crate::operand::kinds::Snapshot;

/// What is to be told when its status goes to `after`; less what the conditions tell by themselves.
pub(super) fn of(snapshot: &Snapshot, after: &SampleDBSnapshotStatus) -> Vec<EventDraft> {
    let before = &snapshot.status;
    let told = conditions::transitions(&before.contract, &after.contract);
    let news = [begun(snapshot, after), done(before, after), judged(before, after)];
    news.into_iter().flatten().filter(|one| !told.iter().any(|of| of.message == one.message)).collect()
}

fn begun(snapshot: &Snapshot, after: &SampleDBSnapshotStatus) -> Option<EventDraft> {
    let begins = after.started_at.is_some() && snapshot.status.started_at.is_none();
    begins.then(|| {
        let method = after.method.unwrap_or_default();
        let message = format!("taking a backup of the SampleDB {} ({method:?})", snapshot.spec.sample_db);
        event(false, SampleDBSnapshotEvent::BackupStarted, message)
    })
}

fn done(before: &SampleDBSnapshotStatus, after: &SampleDBSnapshotStatus) -> Option<EventDraft> {
    if after.completed_at.is_some() {
        let is_news = before.completed_at.is_none();
        return is_news.then(|| event(false, SampleDBSnapshotReason::BackupCompleted, taken(after)));
    }
    let fails = after.phase == Some(SnapshotPhase::Failed) && before.phase != after.phase;
    fails.then(|| event(true, SampleDBSnapshotReason::BackupFailed, after.error.clone().unwrap_or_default()))
}

fn judged(before: &SampleDBSnapshotStatus, after: &SampleDBSnapshotStatus) -> Option<EventDraft> {
    let (was, is) = (&before.verification, &after.verification);
    if was.phase == is.phase {
        return None;
    }
    match is.phase? {
        VerificationPhase::Passed => Some(event(false, SampleDBSnapshotReason::BackupVerified, proved(after))),
        VerificationPhase::Failed => {
            let message = is.message.clone().unwrap_or_default();
            Some(event(true, SampleDBSnapshotReason::VerificationFailed, message))
        }
        _ => None,
    }
}

fn event(warning: bool, reason: impl Into<Reason>, message: String) -> EventDraft {
    EventDraft { warning, reason: reason.into(), message }
}
