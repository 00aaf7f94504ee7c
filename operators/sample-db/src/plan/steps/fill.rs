//! What a new database is filled with: a snapshot's data, then the initial configuration. Pure.

use api::sample_db::{Method, SampleDBReason};
use runtime::cache::View;
use runtime::plan::{Create, Delete, Effect};
use runtime::views::{Job, JobEnd};

use super::Step;
use crate::Snapshot;
use crate::plan::objects;
use crate::plan::wish::Wish;
use crate::plan::{InitSources, Observed, Words, init as initial, names, restore, words};

/// The snapshot's data into the new database, before anybody else's. Those of a physical one are there before the server.
pub(super) fn fill(observed: &Observed, wish: &Wish, source: &Snapshot) -> Option<Step> {
    if source.status.method == Some(Method::Physical) {
        return None;
    }
    let name = restore::job_name(&observed.db);
    let doing = || format!("restoring the snapshot {}", source.meta.key.name);
    match observed.job(&name).map(|job| &job.end) {
        None => Some(create(observed, wish, restore::job(&observed.db, source), SampleDBReason::Restoring, &doing())),
        // The status is about to say that it is done.
        Some(Some(JobEnd::Complete)) => Some(Step::wait(SampleDBReason::Restoring, doing())),
        Some(None) => Some(at_work(observed, &name, SampleDBReason::Restoring, doing())),
        Some(Some(JobEnd::Failed { message, .. })) => {
            let message = format!(
                "{} failed: {}; mend what it says, then delete the Job {name} to have it tried again",
                doing(),
                why(observed, &name, message)
            );
            Some(Step::stuck(SampleDBReason::RestoreFailed, message))
        }
    }
}

/// The initial configuration, once: that the database's own note says so, the Job has found.
pub(super) fn init(observed: &Observed, wish: &Wish) -> Option<Step> {
    let db = &*observed.db;
    let name = names::init_job(db);
    if db.status.initialization.completed_at.is_some() {
        let left = observed.jobs.iter().find(|job| !job.meta.deleting)?;
        return Some(delete(left, SampleDBReason::CleaningUp, "clearing up after what Jobs have done"));
    }
    let job = observed.job(&name);
    match job.map(|job| (job, &job.end)) {
        None => match &observed.init_sources {
            InitSources::Missing(what) => {
                Some(Step::stuck(SampleDBReason::InitSourceMissing, format!("{what}: make it, and init runs")))
            }
            InitSources::Unknown(why) => Some(Step::wait(SampleDBReason::InitSourceUnreadable, why.clone())),
            InitSources::Digest(_) => Some(create(
                observed,
                wish,
                initial::job(db),
                SampleDBReason::Initializing,
                "configuring the new database",
            )),
        },
        Some((job, Some(JobEnd::Failed { .. }))) if has_changed(observed) => {
            Some(delete(job, SampleDBReason::Initializing, "the SQL has changed, and is run again"))
        }
        // The status is about to say that it is done.
        Some((_, Some(JobEnd::Complete))) => None,
        Some((_, Some(JobEnd::Failed { message, .. }))) => {
            let message = format!(
                "the initial configuration failed, and nothing of it stayed: {}; mend the SQL, and it runs again, or delete \
                 the Job {name} to have it tried again as it is",
                why(observed, &name, message)
            );
            Some(Step::stuck(SampleDBReason::InitFailed, message))
        }
        Some((_, None)) => {
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

fn create(observed: &Observed, wish: &Wish, of: objects::JobOf, reason: SampleDBReason, message: &str) -> Step {
    let create: Create = objects::job(of, &observed.place_of_jobs(&wish.image));
    Step::take(Effect::Create(create), reason, message)
}

fn delete(job: &Job, reason: SampleDBReason, message: &str) -> Step {
    Step::take(Effect::Delete(Delete::of(Job::KIND, &job.meta)), reason, message)
}

/// A Job that has yet to end; what keeps its pods from starting is told.
fn at_work(observed: &Observed, name: &str, reason: SampleDBReason, doing: String) -> Step {
    match words::trouble(&observed.pods, name) {
        Some(trouble) => Step::wait(reason, format!("{doing}: {}", trouble.message)),
        None => Step::wait(reason, doing),
    }
}

fn why(observed: &Observed, name: &str, otherwise: &str) -> String {
    observed.words(name).as_ref().and_then(Words::failure).map_or_else(|| otherwise.to_owned(), |(_, why)| why)
}
