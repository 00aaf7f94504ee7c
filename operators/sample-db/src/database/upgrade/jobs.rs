//! Pure: the Jobs of upgrades, and how they fare.

use agent_protocol::{Arguments, Jobs, PgFinish, PgSurvey, PgUpgrade, PgVersion};
use api::sample_db::{Method, SampleDBReason};
use api::sample_db_snapshot::SnapshotReason;
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::job::{self, JobResult, Progress};
use runtime::plan::{Create, Delete, Effect};
use runtime::projections::Job;
use serde_json::json;

use crate::database::effects::DbAct;
use crate::database::objects;
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::target::TargetRelease;
use crate::operand::agent_job::{self, JobOf};
use crate::operand::job_result::Words;
use crate::operand::names;
use crate::operand::release::Release;
use crate::operand::time::after;

/// How many seconds a copy may take.
const COPY: i64 = 24 * 3600;
/// How many seconds everything else may.
const WORK: i64 = 3600;

/// Why there is nothing to go on from.
pub(super) enum NotDone {
    /// This comes first.
    NextStep(NextStep),
    /// It failed.
    Failed(String),
}

/// The last words of a Job that has done its work; it is made if it is not there.
pub(super) fn run(observed: &Observed, name: &str, make: impl FnOnce() -> Create) -> Result<Words, NotDone> {
    let doing = || format!("the Job {name} is running");
    let wait = |message: String| Err(NotDone::NextStep(NextStep::wait(SampleDBReason::Upgrading, message)));
    let take = |effect, message| Err(NotDone::NextStep(NextStep::Do(vec![effect], SampleDBReason::Upgrading, message)));
    if observed.job(name).is_some_and(|job| job.meta.deleting) {
        return wait(format!("waiting for an earlier Job {name} to be deleted"));
    }
    match observed.progress(name) {
        Progress::Absent => take(Effect::<DbAct>::Create(make()), format!("starting the Job {name}")),
        Progress::Complete(_, JobResult::Available(ended)) => Ok(Words::of(ended)),
        Progress::Complete(_, JobResult::Pending) => wait(doing()),
        Progress::Complete(job, JobResult::Lost) => take(
            Effect::Delete(Delete::of(Job::KIND, &job.meta)),
            format!("the result of the Job {name} was lost (its pods are gone); rerunning it"),
        ),
        Progress::Failed(_, message) => Err(NotDone::Failed(Words::why(observed.words(name).as_ref(), message))),
        // A pod that has done its work need not wait for its Job to notice.
        Progress::Active(_) => {
            match (observed.words(name).filter(|words| words.code == 0), job::diagnosis(&observed.pods, name)) {
                (Some(words), _) => Ok(words),
                (None, Some(trouble)) if trouble.permanent => Err(NotDone::Failed(trouble.message.clone())),
                (None, Some(trouble)) => wait(format!("{}: {}", doing(), trouble.message)),
                (None, None) => wait(doing()),
            }
        }
    }
}

pub(super) fn check_name(observed: &Observed) -> String {
    format!("{}-check", observed.db.meta.key.name)
}

/// The one that carries the upgrade out.
pub(super) fn copy_name(observed: &Observed, release: Release) -> String {
    format!("{}-upgrade-{}-{}", observed.db.meta.key.name, release.major, release.minor)
}

/// The one that does what a minor release needs.
pub(super) fn finish_name(observed: &Observed, release: Release) -> String {
    copy_name(observed, release)
}

/// The one that does what a major release needs when writers are in again.
pub(super) fn last_name(observed: &Observed, release: Release) -> String {
    format!("{}-finish-{}-{}", observed.db.meta.key.name, release.major, release.minor)
}

/// The snapshot of before. A server that cannot be dumped while clients work is copied file by file.
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

/// What the new image says of itself; and of the server, if it is to be copied.
pub(super) fn check(observed: &Observed, goal: &TargetRelease, major: bool) -> Create {
    let arguments = if major { PgSurvey::default().argv() } else { PgVersion::default().argv() };
    let of = base(observed, &check_name(observed), arguments, WORK);
    let env_from = of.env_from.clone().filter(|_| major);
    agent_job::job(JobOf { env_from, ..of }, &observed.place_of_jobs(&goal.image))
}

/// The server that a copy goes to.
#[derive(Default)]
pub(super) struct To {
    /// Its pod's address.
    pub(super) address: String,
    /// How many bytes its volume has free, if that is known.
    pub(super) room: Option<i64>,
}

/// Copies the data from the old server into the new one.
pub(super) fn copy(observed: &Observed, goal: &TargetRelease, name: &str, to: &To) -> Create {
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
    let mut of = base(observed, name, upgrade.argv(), COPY);
    // Nobody can write until it has ended: the way back begins at its first failure.
    of.retries = 0;
    agent_job::job(of, &observed.place_of_jobs(&goal.image))
}

/// Does what a release needs while writers are in.
pub(super) fn finish(observed: &Observed, pinned: &Pinned, name: &str, major: bool) -> Create {
    let arguments = PgFinish { major, ..PgFinish::default() }.argv();
    agent_job::job(base(observed, name, arguments, WORK), &observed.place_of_jobs(&pinned.image))
}

fn base(observed: &Observed, name: &str, arguments: Vec<String>, deadline_seconds: i64) -> JobOf {
    JobOf { retries: 2, ..JobOf::of_database(&observed.db, name, arguments, deadline_seconds) }
}
