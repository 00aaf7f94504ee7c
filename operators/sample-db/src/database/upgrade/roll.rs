//! Pure: upgrades to another release of the same major version, and the end of both kinds of upgrade.

use agent_protocol::{PgFinishResult, PgUpgradeResult};
use api::sample_db::{DatabaseStorageStatus, EngineStatus, SampleDBReason, UpgradeStep};
use jiff::Timestamp;

use super::allow_clients::allow_clients;
use super::finish;
use super::jobs::{self, JobNotDone};
use super::server::server;
use super::transition::{UpgradeDecision, to, transition};
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::operand::release::Release;
use crate::operand::time::after;

/// Starts the server of the new release, on the same data.
pub(super) fn roll(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    match server(observed, pinned, now) {
        Ok(()) => to(observed, UpgradeStep::Finish, now),
        Err(Ok(step)) => UpgradeDecision::Continue(step),
        Err(Err(why)) => finish::fail(observed, &why, now),
    }
}

/// Allows clients, measures the downtime, and finishes what the release needs.
pub(super) fn finish(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    match server(observed, pinned, now) {
        Ok(()) => {}
        Err(Ok(step)) => return UpgradeDecision::Continue(step),
        // There is no rollback: what was written since would be lost.
        Err(Err(why)) => {
            return UpgradeDecision::Continue(crate::database::step::NextStep::blocked(
                SampleDBReason::ServerFails,
                why,
            ));
        }
    }
    if let Err(step) = allow_clients(observed, now) {
        return UpgradeDecision::Continue(step);
    }
    let upgrade = &observed.db.status.upgrade;
    if upgrade.downtime_milliseconds.is_none() {
        let mut transition = transition(observed, UpgradeStep::Finish, now);
        transition.upgrade.downtime_milliseconds = Some(downtime(observed, now));
        return UpgradeDecision::Transition(Box::new(transition));
    }
    // The old server need not end gracefully: clients could not write to it, and its data was copied.
    if let Some(step) = finish::delete_other_servers(observed, SampleDBReason::Upgrading) {
        return UpgradeDecision::Continue(step);
    }
    let release = pinned.release.unwrap_or(Release { major: pinned.major, minor: 0 });
    let major = upgrade.claim.is_some();
    let name = match major {
        true => jobs::major_finish_name(observed, release),
        false => jobs::minor_finish_name(observed, release),
    };
    let left = match jobs::run(observed, &name, || jobs::finish(observed, pinned, &name, major)) {
        Ok(outcome) => outcome.result::<PgFinishResult>().warnings.join("; "),
        Err(JobNotDone::NextStep(step)) => return UpgradeDecision::Continue(step),
        Err(JobNotDone::Failed(why)) => why,
    };
    let mut transition = finish::completed(observed, &left, now);
    transition.storage = major.then(|| DatabaseStorageStatus {
        previous_claim_until: after(now, observed.db.spec.upgrade.keep_previous_volume_for()),
        ..observed.db.status.storage.clone()
    });
    transition.engine = Some(EngineStatus { target: None, target_image: None, ..observed.db.status.engine.clone() });
    UpgradeDecision::Transition(Box::new(transition))
}

/// For how many milliseconds clients could not write.
fn downtime(observed: &Observed, now: Timestamp) -> i64 {
    let upgrade = &observed.db.status.upgrade;
    // The copy's result is more precise than the recorded second.
    let outcome = || upgrade.job.as_deref().and_then(|job| observed.job_outcome(job));
    let noted = observed.copy_result.as_ref().and_then(|result| result.closed_at);
    let closed = noted.or_else(|| outcome().and_then(|outcome| outcome.result::<PgUpgradeResult>().closed_at));
    let closed = closed.and_then(|at| Timestamp::from_millisecond(at).ok());
    closed
        .or(upgrade.shut_out_at)
        .map_or(0, |since| now.duration_since(since).as_millis().try_into().unwrap_or(i64::MAX))
}
