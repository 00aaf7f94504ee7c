//! Pure: how often an upgrade that waits is looked at, and what may go on beside it.

use std::time::Duration;

use api::sample_db::UpgradeStep as At;
use jiff::{SignedDuration, Timestamp};
use runtime::job;

use crate::database::effects::{LATER, SOON};
use crate::database::login::Login;
use crate::database::observed::Observed;
use crate::database::target::successor;
use crate::operand::kinds::SampleDB;
use crate::operand::names;

/// For how long a step of which watches tell is looked at often.
const YOUNG: SignedDuration = SignedDuration::from_mins(2);
/// How often the note of a young copy is looked for: nobody may write until it is found.
const NOTE: Duration = Duration::from_millis(200);
/// How often that of any other: each look is a login, and watches tell of the end of its Job a second later.
const SELDOM: Duration = Duration::from_secs(15);
/// For how long the snapshot of before is waited for before the schedule's go on beside it.
const SNAPSHOT: SignedDuration = SignedDuration::from_mins(10);

/// Where the note of a copy is, and how often it is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The pod of the server that the copy goes to.
    pub pod: String,
    /// No more often than this.
    pub every: Duration,
}

/// The note of a copy, as long as it is of use: it comes before the end of the Job's pod is heard of. None while no pod can
/// have written it.
#[must_use]
pub fn note_of(observed: &Observed, now: Timestamp) -> Option<Note> {
    let upgrade = &observed.db.status.upgrade;
    let since = match upgrade.step? {
        At::Copy => begun(observed)?,
        At::Finish if upgrade.downtime_milliseconds.is_none() && is_open(observed) => None,
        _ => return None,
    };
    let since = since.or(upgrade.step_since);
    let young = since.is_none_or(|since| now.duration_since(since) < YOUNG);
    let pod = names::pod_of(&successor(&observed.db)?);
    Some(Note { pod, every: if young { NOTE } else { SELDOM } })
}

/// Since when the Job of a copy works, if that is known; nothing while its pod waits.
fn begun(observed: &Observed) -> Option<Option<Timestamp>> {
    let job = observed.db.status.upgrade.job.as_deref()?;
    match (job::started(&observed.pods, job), job::has_pod(&observed.pods, job)) {
        (Some(work), _) => Some(work.since),
        (None, true) => None,
        (None, false) => Some(None),
    }
}

/// Whether the server says that not only its superuser gets in.
fn is_open(observed: &Observed) -> bool {
    observed.asked.answer().is_some_and(|answer| answer.login != Login::ShutOut)
}

/// After how long an upgrade that waits is looked at again.
pub(in crate::database) fn pace(observed: &Observed, now: Timestamp) -> Duration {
    let copying = observed.db.status.upgrade.step == Some(At::Copy);
    match note_of(observed, now) {
        Some(note) if copying => note.every,
        None if copying => LATER,
        _ if is_urgent(&observed.db, now) => SOON,
        _ => LATER,
    }
}

/// Whether a waiting upgrade is to be reconciled often: writers are shut out meanwhile, or the step is young.
#[must_use]
pub fn is_urgent(db: &SampleDB, now: Timestamp) -> bool {
    let open = matches!(db.status.upgrade.step, Some(At::Check | At::Snapshot | At::Prepare));
    !open || is_young(db, now)
}

/// Whether the present step of an upgrade has begun a moment ago.
#[must_use]
pub fn is_young(db: &SampleDB, now: Timestamp) -> bool {
    db.status.upgrade.step_since.is_some_and(|since| now.duration_since(since) < YOUNG)
}

/// Whether an upgrade, if there is one, lets the schedule's backups be taken: writers are in, and no snapshot of before is
/// about to be taken anyway.
pub(in crate::database) fn lets_back_up(db: &SampleDB, now: Timestamp) -> bool {
    let upgrade = &db.status.upgrade;
    match upgrade.step {
        None | Some(At::Check | At::Prepare | At::Finish) => true,
        Some(At::Snapshot) => upgrade.step_since.is_none_or(|since| now.duration_since(since) > SNAPSHOT),
        Some(At::Copy | At::Switch | At::Roll | At::RollBack) => false,
    }
}
