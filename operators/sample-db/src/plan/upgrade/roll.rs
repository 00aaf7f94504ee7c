//! To another release of the same major version, and what both kinds of upgrade end with. Pure.

use api::sample_db::{EngineStatus, SampleDBReason, StorageStatus, UpgradeStep as At};
use jiff::Timestamp;

use super::jobs::{self, NotDone};
use super::{Go, end, let_in, server, to, turn};
use crate::plan::catalog::Release;
use crate::plan::wish::Wish;
use crate::plan::{Observed, after};

/// The server of the new release, on the same data.
pub(super) fn roll(observed: &Observed, wish: &Wish, now: Timestamp) -> Go {
    match server(observed, wish, now) {
        Ok(()) => to(observed, At::Finish, now),
        Err(Ok(step)) => Go::On(step),
        Err(Err(why)) => end::fail(observed, &why, now),
    }
}

/// Writers are let in, the time is taken, and what the release needs is done.
pub(super) fn finish(observed: &Observed, wish: &Wish, now: Timestamp) -> Go {
    match server(observed, wish, now) {
        Ok(()) => {}
        Err(Ok(step)) => return Go::On(step),
        // There is no way back: what was written since would be lost.
        Err(Err(why)) => return Go::On(super::Step::stuck(SampleDBReason::ServerFails, why)),
    }
    if let Err(step) = let_in(observed, now) {
        return Go::On(step);
    }
    let upgrade = &observed.db.status.upgrade;
    if upgrade.downtime_milliseconds.is_none() {
        let mut turn = turn(observed, At::Finish, now);
        turn.upgrade.downtime_milliseconds = Some(downtime(observed, now));
        return Go::Turn(Box::new(turn));
    }
    // The old server has nothing to bring to an end: nobody could write to it, and its data are copied.
    if let Some(step) = end::drop_other_servers(observed, SampleDBReason::Upgrading) {
        return Go::On(step);
    }
    let release = wish.release.unwrap_or(Release { major: wish.major, minor: 0 });
    let major = upgrade.claim.is_some();
    let name = match major {
        true => jobs::last_name(observed, release),
        false => jobs::finish_name(observed, release),
    };
    let left = match jobs::run(observed, &name, || jobs::finish(observed, wish, &name, major)) {
        Ok(words) => words.said.warnings.join("; "),
        Err(NotDone::Step(step)) => return Go::On(step),
        Err(NotDone::Failed(why)) => why,
    };
    let mut turn = end::completed(observed, &left, now);
    turn.storage = major.then(|| StorageStatus {
        previous_claim_until: after(now, observed.db.spec.upgrade.keep_previous_volume_for()),
        ..observed.db.status.storage.clone()
    });
    turn.engine = Some(EngineStatus { target: None, target_image: None, ..observed.db.status.engine.clone() });
    Go::Turn(Box::new(turn))
}

/// How many milliseconds nobody could write.
fn downtime(observed: &Observed, now: Timestamp) -> i64 {
    let upgrade = &observed.db.status.upgrade;
    // The copy's note and its Job know it better than the second that was written down.
    let words = || upgrade.job.as_deref().and_then(|job| observed.words(job));
    let noted = observed.copied.as_ref().and_then(|said| said.closed_at);
    let told = noted.or_else(|| words().and_then(|words| words.said.closed_at));
    let told = told.and_then(|at| Timestamp::from_millisecond(at).ok());
    told.or(upgrade.shut_out_at).map_or(0, |since| now.duration_since(since).as_millis().try_into().unwrap_or(i64::MAX))
}
