//! Pure: how often a pending upgrade is polled, and what may happen meanwhile.

use std::time::Duration;

use api::sample_db::UpgradeStep;
use jiff::{SignedDuration, Timestamp};
use runtime::job;

use crate::database::effects::{POLL_FALLBACK, POLL_UPGRADE};
use crate::database::login::LoginCheck;
use crate::database::observed::Observed;
use crate::database::target::target_server_name;
use crate::operand::kinds::SampleDB;
use crate::operand::names;

/// For how long a step that watches report is polled often.
const RECENT: SignedDuration = SignedDuration::from_mins(2);
/// How often the result of a recent copy is polled: clients cannot write until it is found.
const POLL_COPY_RESULT: Duration = Duration::from_millis(200);
/// How often the result of any other copy is polled: each poll is a login, and watches report the end of its Job a second later.
const POLL_COPY_RESULT_SLOWLY: Duration = Duration::from_secs(15);
/// How long scheduled backups wait for the pre-upgrade snapshot.
const SNAPSHOT_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// Where the result of a copy is, and how often to poll for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyResultPoll {
    /// The pod of the server that the copy goes to.
    pub pod: String,
    /// The shortest interval.
    pub every: Duration,
}

/// How to poll for the result of a copy, while that helps: it is there before the watch reports the end of the Job's pod. `None`
/// while no pod can have written it.
#[must_use]
pub fn copy_result_poll(observed: &Observed, now: Timestamp) -> Option<CopyResultPoll> {
    let upgrade = &observed.db.status.upgrade;
    let since = match upgrade.step? {
        UpgradeStep::Copy => copy_started(observed)?,
        UpgradeStep::Finish if upgrade.downtime_milliseconds.is_none() && is_open(observed) => None,
        _ => return None,
    };
    let since = since.or(upgrade.step_since);
    let young = since.is_none_or(|since| now.duration_since(since) < RECENT);
    let pod = names::pod_of(&target_server_name(&observed.db)?);
    Some(CopyResultPoll { pod, every: if young { POLL_COPY_RESULT } else { POLL_COPY_RESULT_SLOWLY } })
}

/// Since when the copy's Job works, if known; `None` while its pod waits.
fn copy_started(observed: &Observed) -> Option<Option<Timestamp>> {
    let job = observed.db.status.upgrade.job.as_deref()?;
    match (job::started(&observed.pods, job), job::has_pod(&observed.pods, job)) {
        (Some(work), _) => Some(work.since),
        (None, true) => None,
        (None, false) => Some(None),
    }
}

/// Whether the server says that others than its superuser can connect.
fn is_open(observed: &Observed) -> bool {
    observed.probe.info().is_some_and(|answer| answer.login != LoginCheck::Blocked)
}

/// When to requeue an upgrade that waits.
pub(in crate::database) fn requeue_after(observed: &Observed, now: Timestamp) -> Duration {
    let copying = observed.db.status.upgrade.step == Some(UpgradeStep::Copy);
    match copy_result_poll(observed, now) {
        Some(poll) if copying => poll.every,
        None if copying => POLL_FALLBACK,
        _ if is_urgent(&observed.db, now) => POLL_UPGRADE,
        _ => POLL_FALLBACK,
    }
}

/// Whether a pending upgrade is reconciled often: clients are blocked meanwhile, or the step is recent.
#[must_use]
pub fn is_urgent(db: &SampleDB, now: Timestamp) -> bool {
    let open =
        matches!(db.status.upgrade.step, Some(UpgradeStep::Check | UpgradeStep::Snapshot | UpgradeStep::Prepare));
    !open || is_step_recent(db, now)
}

/// Whether the present step of an upgrade is recent.
#[must_use]
pub fn is_step_recent(db: &SampleDB, now: Timestamp) -> bool {
    db.status.upgrade.step_since.is_some_and(|since| now.duration_since(since) < RECENT)
}

/// Whether an upgrade, if there is one, allows scheduled backups: clients are allowed, and no pre-upgrade snapshot is about to be
/// taken anyway.
pub(in crate::database) fn lets_back_up(db: &SampleDB, now: Timestamp) -> bool {
    let upgrade = &db.status.upgrade;
    match upgrade.step {
        None | Some(UpgradeStep::Check | UpgradeStep::Prepare | UpgradeStep::Finish) => true,
        Some(UpgradeStep::Snapshot) => {
            upgrade.step_since.is_none_or(|since| now.duration_since(since) > SNAPSHOT_TIMEOUT)
        }
        Some(UpgradeStep::Copy | UpgradeStep::Switch | UpgradeStep::Roll | UpgradeStep::RollBack) => false,
    }
}
