//! Pure: what a new database gets: a snapshot's data, then the initial configuration.

use api::sample_db::{Method, SampleDBReason};
use runtime::cache::Projection;
use runtime::job::{self, JobProgress};
use runtime::plan::{Create, Delete, Effect};
use runtime::projections::Job;

use crate::database::observed::{InitSources, Observed};
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::{init as initial, restore};
use crate::operand::agent_job::{self, JobParams};
use crate::operand::kinds::Snapshot;
use crate::operand::names;
use runtime::job::outcome::AgentOutcome;

/// Restores the snapshot into the new database, before any other data. A physical one is restored before the server starts.
pub(super) fn restore_snapshot(observed: &Observed, pinned: &Pinned, source: &Snapshot) -> Option<NextStep> {
    if source.status.method == Some(Method::Physical) {
        return None;
    }
    let name = restore::job_name(&observed.db);
    let doing = || format!("restoring the snapshot {}", source.meta.key.name);
    match observed.progress(&name) {
        JobProgress::Absent => {
            Some(create(observed, pinned, restore::job(&observed.db, source), SampleDBReason::Restoring, &doing()))
        }
        // This reconcile's status records that it is done.
        JobProgress::Complete(..) => Some(NextStep::wait(SampleDBReason::Restoring, doing())),
        JobProgress::Ending | JobProgress::Active(_) => {
            Some(job_progress(observed, &name, SampleDBReason::Restoring, doing()))
        }
        JobProgress::Failed(_, message) => {
            let message = format!(
                "{} failed: {}; fix that, and delete the Job {name} to have it tried again",
                doing(),
                AgentOutcome::failure_or(observed.job_outcome(&name).as_ref(), message)
            );
            Some(NextStep::blocked(SampleDBReason::RestoreFailed, message))
        }
    }
}

/// The initial configuration, once: the Job finds the database's own record of it.
pub(super) fn init(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let db = &*observed.db;
    let name = names::init_job(db);
    if db.status.initialization.completed_at.is_some() {
        let left = observed.jobs.iter().find(|job| !job.meta.deleting)?;
        return Some(delete(left, SampleDBReason::CleaningUp, "deleting Jobs that are done"));
    }
    match observed.progress(&name) {
        JobProgress::Absent => match &observed.init_sources {
            InitSources::Missing(what) => Some(NextStep::blocked(
                SampleDBReason::InitSourceMissing,
                format!("{what}; create it to have init run"),
            )),
            InitSources::Unknown(why) => Some(NextStep::wait(SampleDBReason::InitSourceUnreadable, why.clone())),
            InitSources::Digest(_) => Some(create(
                observed,
                pinned,
                initial::job(db),
                SampleDBReason::Initializing,
                "configuring the new database",
            )),
        },
        JobProgress::Failed(job, _) if has_changed(observed) => {
            Some(delete(job, SampleDBReason::Initializing, "the SQL has changed: running it again"))
        }
        // This reconcile's status records that it is done.
        JobProgress::Complete(..) => None,
        JobProgress::Failed(_, message) => {
            let message = format!(
                "the initial configuration failed and was undone: {}; fix the SQL, which runs it again, or delete the Job \
                 {name} to have it tried again unchanged",
                AgentOutcome::failure_or(observed.job_outcome(&name).as_ref(), message)
            );
            Some(NextStep::blocked(SampleDBReason::InitFailed, message))
        }
        JobProgress::Ending | JobProgress::Active(_) => {
            Some(job_progress(observed, &name, SampleDBReason::Initializing, "configuring the new database".to_owned()))
        }
    }
}

/// Whether the SQL differs from what failed, or may differ because that was not recorded.
fn has_changed(observed: &Observed) -> bool {
    let noted = &observed.db.status.initialization;
    let failed = noted.failed_digest.as_deref().or(noted.sql_digest.as_deref());
    match &observed.init_sources {
        InitSources::Digest(now) => failed.unwrap_or_default() != now,
        InitSources::Missing(_) | InitSources::Unknown(_) => false,
    }
}

fn create(observed: &Observed, pinned: &Pinned, of: JobParams, reason: SampleDBReason, message: &str) -> NextStep {
    let create: Create = agent_job::job(of, &observed.job_context(&pinned.image));
    NextStep::act(Effect::Create(create), reason, message)
}

fn delete(job: &Job, reason: SampleDBReason, message: &str) -> NextStep {
    NextStep::act(Effect::Delete(Delete::of(Job::KIND, &job.meta)), reason, message)
}

/// A Job that has yet to end, with what keeps its pods from starting.
fn job_progress(observed: &Observed, name: &str, reason: SampleDBReason, doing: String) -> NextStep {
    match job::diagnosis(&observed.pods, name) {
        Some(diagnosis) => NextStep::wait(reason, format!("{doing}: {}", diagnosis.message)),
        None => NextStep::wait(reason, doing),
    }
}
