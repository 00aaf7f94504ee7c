//! Pure: what a new database is filled with: a snapshot's data, then the initial configuration.

use api::sample_db::{Method, SampleDBReason};
use runtime::cache::Projection;
use runtime::job::{self, Progress};
use runtime::plan::{Create, Delete, Effect};
use runtime::projections::Job;

use crate::database::observed::{InitSources, Observed};
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::{init as initial, restore};
use crate::operand::agent_job::{self, JobOf};
use crate::operand::job_result::Words;
use crate::operand::kinds::Snapshot;
use crate::operand::names;

/// The snapshot's data into the new database, before anybody else's. Those of a physical one are there before the server.
pub(super) fn fill(observed: &Observed, pinned: &Pinned, source: &Snapshot) -> Option<NextStep> {
    if source.status.method == Some(Method::Physical) {
        return None;
    }
    let name = restore::job_name(&observed.db);
    let doing = || format!("restoring the snapshot {}", source.meta.key.name);
    match observed.progress(&name) {
        Progress::Absent => {
            Some(create(observed, pinned, restore::job(&observed.db, source), SampleDBReason::Restoring, &doing()))
        }
        // The status is about to say that it is done.
        Progress::Complete(..) => Some(NextStep::wait(SampleDBReason::Restoring, doing())),
        Progress::Active(_) => Some(at_work(observed, &name, SampleDBReason::Restoring, doing())),
        Progress::Failed(_, message) => {
            let message = format!(
                "{} failed: {}; mend what it says, then delete the Job {name} to have it tried again",
                doing(),
                Words::why(observed.words(&name).as_ref(), message)
            );
            Some(NextStep::stuck(SampleDBReason::RestoreFailed, message))
        }
    }
}

/// The initial configuration, once: that the database's own note says so, the Job has found.
pub(super) fn init(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let db = &*observed.db;
    let name = names::init_job(db);
    if db.status.initialization.completed_at.is_some() {
        let left = observed.jobs.iter().find(|job| !job.meta.deleting)?;
        return Some(delete(left, SampleDBReason::CleaningUp, "clearing up after what Jobs have done"));
    }
    match observed.progress(&name) {
        Progress::Absent => match &observed.init_sources {
            InitSources::Missing(what) => {
                Some(NextStep::stuck(SampleDBReason::InitSourceMissing, format!("{what}: make it, and init runs")))
            }
            InitSources::Unknown(why) => Some(NextStep::wait(SampleDBReason::InitSourceUnreadable, why.clone())),
            InitSources::Digest(_) => Some(create(
                observed,
                pinned,
                initial::job(db),
                SampleDBReason::Initializing,
                "configuring the new database",
            )),
        },
        Progress::Failed(job, _) if has_changed(observed) => {
            Some(delete(job, SampleDBReason::Initializing, "the SQL has changed, and is run again"))
        }
        // The status is about to say that it is done.
        Progress::Complete(..) => None,
        Progress::Failed(_, message) => {
            let message = format!(
                "the initial configuration failed, and nothing of it stayed: {}; mend the SQL, and it runs again, or delete \
                 the Job {name} to have it tried again as it is",
                Words::why(observed.words(&name).as_ref(), message)
            );
            Some(NextStep::stuck(SampleDBReason::InitFailed, message))
        }
        Progress::Active(_) => {
            Some(at_work(observed, &name, SampleDBReason::Initializing, "configuring the new database".to_owned()))
        }
    }
}

/// Whether the SQL is another than that which failed, or may be: what was not written down is not known.
fn has_changed(observed: &Observed) -> bool {
    let noted = &observed.db.status.initialization;
    let failed = noted.failed_digest.as_deref().or(noted.sql_digest.as_deref());
    match &observed.init_sources {
        InitSources::Digest(now) => failed.unwrap_or_default() != now,
        InitSources::Missing(_) | InitSources::Unknown(_) => false,
    }
}

fn create(observed: &Observed, pinned: &Pinned, of: JobOf, reason: SampleDBReason, message: &str) -> NextStep {
    let create: Create = agent_job::job(of, &observed.place_of_jobs(&pinned.image));
    NextStep::take(Effect::Create(create), reason, message)
}

fn delete(job: &Job, reason: SampleDBReason, message: &str) -> NextStep {
    NextStep::take(Effect::Delete(Delete::of(Job::KIND, &job.meta)), reason, message)
}

/// A Job that has yet to end; what keeps its pods from starting is told.
fn at_work(observed: &Observed, name: &str, reason: SampleDBReason, doing: String) -> NextStep {
    match job::diagnosis(&observed.pods, name) {
        Some(trouble) => NextStep::wait(reason, format!("{doing}: {}", trouble.message)),
        None => NextStep::wait(reason, doing),
    }
}
