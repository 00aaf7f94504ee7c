//! The Jobs of upgrades, and how they fare. Pure.

use api::sample_db::{Method, SampleDBReason};
use api::sample_db_snapshot::SnapshotReason;
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::{Create, Delete, Effect};
use runtime::views::{Job, JobEnd};
use serde_json::json;

use crate::plan::catalog::Release;
use crate::plan::objects::{self, JobOf};
use crate::plan::steps::Step;
use crate::plan::target::Goal;
use crate::plan::wish::Wish;
use crate::plan::{DbAct, Heard, Observed, Words, after, names, words};

/// How many seconds a copy may take.
const COPY: i64 = 24 * 3600;
/// How many seconds everything else may.
const WORK: i64 = 3600;

/// Why there is nothing to go on from.
pub(super) enum NotDone {
    /// This comes first.
    Step(Step),
    /// It failed.
    Failed(String),
}

/// The last words of a Job that has done its work; it is made if it is not there.
pub(super) fn run(observed: &Observed, name: &str, make: impl FnOnce() -> Create) -> Result<Words, NotDone> {
    let doing = || format!("the Job {name} is at work");
    let wait = |message: String| Err(NotDone::Step(Step::wait(SampleDBReason::Upgrading, message)));
    let Some(job) = observed.job(name) else {
        let create = Effect::<DbAct>::Create(make());
        return Err(NotDone::Step(Step::Take(
            vec![create],
            SampleDBReason::Upgrading,
            format!("starting the Job {name}"),
        )));
    };
    match &job.end {
        _ if job.meta.deleting => wait(format!("waiting until an earlier Job {name} is gone")),
        Some(JobEnd::Complete) => match Words::of_done(&observed.pods, name) {
            Heard::Said(words) => Ok(*words),
            Heard::ToCome => wait(doing()),
            Heard::Lost => {
                let delete = Effect::Delete(Delete::of(Job::KIND, &job.meta));
                let message = format!("nobody has heard what the Job {name} said last: it is done again");
                Err(NotDone::Step(Step::Take(vec![delete], SampleDBReason::Upgrading, message)))
            }
        },
        Some(JobEnd::Failed { message, .. }) => {
            let said = observed.words(name).as_ref().and_then(Words::failure).map(|(_, why)| why);
            Err(NotDone::Failed(said.unwrap_or_else(|| message.clone())))
        }
        // A pod that has done its work need not wait for its Job to notice.
        None => match (observed.words(name).filter(|words| words.code == 0), words::trouble(&observed.pods, name)) {
            (Some(words), _) => Ok(words),
            (None, Some(trouble)) if trouble.lasting => Err(NotDone::Failed(trouble.message.clone())),
            (None, Some(trouble)) => wait(format!("{}: {}", doing(), trouble.message)),
            (None, None) => wait(doing()),
        },
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
pub(super) fn snapshot(observed: &Observed, wish: &Wish, name: &str, now: Timestamp) -> Effect<DbAct> {
    let db = &*observed.db;
    let until = after(now, db.spec.backup.retention.max_age());
    let mut create = objects::snapshot(db, name, SnapshotReason::PreUpgrade, until);
    let running = db.status.engine.running.as_deref().and_then(Release::parse);
    if running.or(wish.release).is_some_and(Release::is_unsafe_to_dump) {
        create.body["spec"]["method"] = json!(Method::Physical);
    }
    Effect::Create(create)
}

/// What the new image says of itself; and of the server, if it is to be copied.
pub(super) fn check(observed: &Observed, goal: &Goal, major: bool) -> Create {
    let verb = if major { "pg-survey" } else { "pg-version" };
    let of = base(observed, &check_name(observed), vec![verb.to_owned()], WORK);
    let env_from = of.env_from.clone().filter(|_| major);
    objects::job(JobOf { env_from, ..of }, &observed.place_of_jobs(&goal.image))
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
pub(super) fn copy(observed: &Observed, goal: &Goal, name: &str, to: &To) -> Create {
    let db = &*observed.db;
    let mut arguments =
        vec!["pg-upgrade".to_owned(), format!("--to={}", to.address), format!("--major={}", goal.major)];
    arguments.extend([format!("--database={}", names::database(db)), "--jobs=2".to_owned()]);
    arguments.extend(to.room.map(|bytes| format!("--room={bytes}")));
    arguments.extend(db.status.system_identifier.iter().map(|id| format!("--from-system-identifier={id}")));
    let mut of = base(observed, name, arguments, COPY);
    // Nobody can write until it has ended: the way back begins at its first failure.
    of.retries = 0;
    objects::job(of, &observed.place_of_jobs(&goal.image))
}

/// Does what a release needs while writers are in.
pub(super) fn finish(observed: &Observed, wish: &Wish, name: &str, major: bool) -> Create {
    let mut arguments = vec!["pg-finish".to_owned()];
    arguments.extend(major.then(|| "--major".to_owned()));
    objects::job(base(observed, name, arguments, WORK), &observed.place_of_jobs(&wish.image))
}

fn base(observed: &Observed, name: &str, arguments: Vec<String>, deadline_seconds: i64) -> JobOf {
    JobOf { retries: 2, ..JobOf::of_database(&observed.db, name, arguments, deadline_seconds) }
}
