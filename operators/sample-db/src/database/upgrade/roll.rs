//! Pure: to another release of the same major version, and what both kinds of upgrade end with.

use agent_protocol::{PgFinishResult, PgUpgradeResult};
use api::sample_db::{EngineStatus, SampleDBReason, StorageStatus, UpgradeStep as At};
use jiff::Timestamp;

use super::allow_clients::let_in;
use super::finish;
use super::jobs::{self, NotDone};
use super::server::server;
use super::transition::{UpgradeDecision, to, transition};
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::operand::release::Release;
use crate::operand::time::after;

/// The server of the new release, on the same data.
pub(super) fn roll(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    match server(observed, pinned, now) {
        Ok(()) => to(observed, At::Finish, now),
        Err(Ok(step)) => UpgradeDecision::Continue(step),
        Err(Err(why)) => finish::fail(observed, &why, now),
    }
}

/// Writers are let in, the time is taken, and what the release needs is done.
pub(super) fn finish(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    match server(observed, pinned, now) {
        Ok(()) => {}
        Err(Ok(step)) => return UpgradeDecision::Continue(step),
        // There is no way back: what was written since would be lost.
        Err(Err(why)) => {
            return UpgradeDecision::Continue(crate::database::step::NextStep::stuck(SampleDBReason::ServerFails, why));
        }
    }
    if let Err(step) = let_in(observed, now) {
        return UpgradeDecision::Continue(step);
    }
    let upgrade = &observed.db.status.upgrade;
    if upgrade.downtime_milliseconds.is_none() {
        let mut transition = transition(observed, At::Finish, now);
        transition.upgrade.downtime_milliseconds = Some(downtime(observed, now));
        return UpgradeDecision::Transition(Box::new(transition));
    }
    // The old server has nothing to bring to an end: nobody could write to it, and its data are copied.
    if let Some(step) = finish::drop_other_servers(observed, SampleDBReason::Upgrading) {
        return UpgradeDecision::Continue(step);
    }
    let release = pinned.release.unwrap_or(Release { major: pinned.major, minor: 0 });
    let major = upgrade.claim.is_some();
    let name = match major {
        true => jobs::last_name(observed, release),
        false => jobs::finish_name(observed, release),
    };
    let left = match jobs::run(observed, &name, || jobs::finish(observed, pinned, &name, major)) {
        Ok(words) => words.result::<PgFinishResult>().warnings.join("; "),
        Err(NotDone::NextStep(step)) => return UpgradeDecision::Continue(step),
        Err(NotDone::Failed(why)) => why,
    };
    let mut transition = finish::completed(observed, &left, now);
    transition.storage = major.then(|| StorageStatus {
        previous_claim_until: after(now, observed.db.spec.upgrade.keep_previous_volume_for()),
        ..observed.db.status.storage.clone()
    });
    transition.engine = Some(EngineStatus { target: None, target_image: None, ..observed.db.status.engine.clone() });
    UpgradeDecision::Transition(Box::new(transition))
}

/// How many milliseconds nobody could write.
fn downtime(observed: &Observed, now: Timestamp) -> i64 {
    let upgrade = &observed.db.status.upgrade;
    // The copy's note and its Job know it better than the second that was written down.
    let words = || upgrade.job.as_deref().and_then(|job| observed.words(job));
    let noted = observed.copied.as_ref().and_then(|said| said.closed_at);
    let told = noted.or_else(|| words().and_then(|words| words.result::<PgUpgradeResult>().closed_at));
    let told = told.and_then(|at| Timestamp::from_millisecond(at).ok());
    told.or(upgrade.shut_out_at).map_or(0, |since| now.duration_since(since).as_millis().try_into().unwrap_or(i64::MAX))
}
