//! Pure: the Jobs of upgrades, and their results.

use agent_protocol::{AgentCommand, Jobs, PgFinish, PgSurvey, PgUpgrade, PgVersion};
use api::sample_db::{Method, SampleDBReason};
use api::sample_db_snapshot::SnapshotReason;
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::job::{self, JobProgress, JobResult};
use runtime::plan::{Create, Delete, Effect};
use runtime::projections::Job;
use serde_json::json;

use crate::database::effects::DbAct;
use crate::database::objects;
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::target::TargetRelease;
use crate::operand::agent_job::{self, JobParams};
use crate::operand::names;
use crate::operand::release::Release;
use crate::operand::time::after;
use runtime::job::outcome::AgentOutcome;

/// How many seconds a copy may take.
const COPY_DEADLINE: i64 = 24 * 3600;
/// How many seconds any other Job may take.
const WORK_DEADLINE: i64 = 3600;

/// Why a Job has no result.
pub(super) enum JobNotDone {
    /// This step comes first.
    NextStep(NextStep),
    /// It failed: why.
    Failed(String),
}

/// The result of a Job, which is created if it does not exist.
pub(super) fn run(
    observed: &Observed,
    name: &str,
    create: impl FnOnce() -> Create,
) -> Result<AgentOutcome, JobNotDone> {
    let doing = || format!("the Job {name} is running");
    let wait = |message: String| Err(JobNotDone::NextStep(NextStep::wait(SampleDBReason::Upgrading, message)));
    let take =
        |effect, message| Err(JobNotDone::NextStep(NextStep::Do(vec![effect], SampleDBReason::Upgrading, message)));
    if observed.job(name).is_some_and(|job| job.meta.deleting) {
        return wait(format!("waiting for an earlier Job {name} to be deleted"));
    }
    match observed.progress(name) {
        JobProgress::Ending => wait(format!("waiting for the pods of an earlier Job {name} to end")),
        JobProgress::Absent => take(Effect::<DbAct>::Create(create()), format!("starting the Job {name}")),
        JobProgress::Complete(_, JobResult::Available(ended)) => Ok(AgentOutcome::of(ended)),
        JobProgress::Complete(_, JobResult::Pending) => wait(doing()),
        JobProgress::Complete(job, JobResult::Lost) => take(
            Effect::Delete(Delete::of(Job::KIND, &job.meta)),
            format!("the result of the Job {name} was lost (its pods are gone); rerunning it"),
        ),
        JobProgress::Failed(_, message) => {
            Err(JobNotDone::Failed(AgentOutcome::failure_or(observed.job_outcome(name).as_ref(), message)))
        }
        // A pod that is done need not wait for its Job to notice.
        JobProgress::Active(_) => {
            match (observed.job_outcome(name).filter(|outcome| outcome.code == 0), job::diagnosis(&observed.pods, name))
            {
                (Some(outcome), _) => Ok(outcome),
                (None, Some(diagnosis)) if diagnosis.permanent => Err(JobNotDone::Failed(diagnosis.message.clone())),
                (None, Some(diagnosis)) => wait(format!("{}: {}", doing(), diagnosis.message)),
                (None, None) => wait(doing()),
            }
        }
    }
}

pub(super) fn check_name(observed: &Observed) -> String {
    format!("{}-check", observed.db.meta.key.name)
}

/// The Job that performs the upgrade.
pub(super) fn copy_name(observed: &Observed, release: Release) -> String {
    format!("{}-upgrade-{}-{}", observed.db.meta.key.name, release.major, release.minor)
}

/// The Job that finishes an upgrade to a minor release.
pub(super) fn minor_finish_name(observed: &Observed, release: Release) -> String {
    copy_name(observed, release)
}

/// The Job that finishes an upgrade to a major release, once clients are allowed again.
pub(super) fn major_finish_name(observed: &Observed, release: Release) -> String {
    format!("{}-finish-{}-{}", observed.db.meta.key.name, release.major, release.minor)
}

/// The pre-upgrade snapshot. A server that cannot be dumped while clients write is copied file by file.
pub(super) fn snapshot(observed: &Observed, pinned: &Pinned, name: &str, now: Timestamp) -> Effect<DbAct> {
    let db = &*observed.db;
    let until = after(now, db.spec.backup.retention.max_age());
    let mut create = objects::snapshot(db, name, SnapshotReason::PreUpgrade, until);
    let running = db.status.engine.running.as_deref().and_then(Release::parse);
    if running.or(pinned.release).is_some_and(Release::is_unsafe_to_dump) {
        create.body["spec"]["method"] = json!(Method::Physical);
    }
    Effect::Create(create)
}

/// Reports the version of the new image; and surveys the server, if its data is to be copied.
pub(super) fn check(observed: &Observed, goal: &TargetRelease, major: bool) -> Create {
    let arguments = if major { PgSurvey::default().argv() } else { PgVersion::default().argv() };
    let of = base(observed, &check_name(observed), arguments, WORK_DEADLINE);
    let env_from = of.env_from.clone().filter(|_| major);
    agent_job::job(JobParams { env_from, ..of }, &observed.job_context(&goal.image))
}

/// The server that a copy goes to.
#[derive(Default)]
pub(super) struct CopyTarget {
    /// Its pod's address.
    pub(super) address: String,
    /// The free bytes of its volume, if known.
    pub(super) room: Option<i64>,
}

/// Copies the data from the old server to the new one.
pub(super) fn copy(observed: &Observed, goal: &TargetRelease, name: &str, to: &CopyTarget) -> Create {
    let db = &*observed.db;
    let upgrade = PgUpgrade {
        to: to.address.clone(),
        major: goal.major,
        database: Some(names::database(db).to_owned()),
        jobs: Jobs(2),
        room: to.room.and_then(|bytes| u64::try_from(bytes).ok()),
        from_system_identifier: db.status.system_identifier.clone(),
        ..PgUpgrade::default()
    };
    let mut of = base(observed, name, upgrade.argv(), COPY_DEADLINE);
    // Clients cannot write until it has ended, so its first failure starts the rollback.
    of.retries = 0;
    agent_job::job(of, &observed.job_context(&goal.image))
}

/// Finishes an upgrade, while clients are allowed.
pub(super) fn finish(observed: &Observed, pinned: &Pinned, name: &str, major: bool) -> Create {
    let arguments = PgFinish { major, ..PgFinish::default() }.argv();
    agent_job::job(base(observed, name, arguments, WORK_DEADLINE), &observed.job_context(&pinned.image))
}

fn base(observed: &Observed, name: &str, arguments: Vec<String>, deadline_seconds: i64) -> JobParams {
    JobParams { retries: 2, ..JobParams::of_database(&observed.db, name, arguments, deadline_seconds) }
}
