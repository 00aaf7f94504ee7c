//! Pure: the server that an upgrade starts.

use api::sample_db::UpgradeStep;
use jiff::{SignedDuration, Timestamp};

use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::{server_state, steps};

/// How long a server may take to start before the upgrade is rolled back.
pub(super) const START_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// Waits until the server that should run is ready.
pub(super) fn server(observed: &Observed, pinned: &Pinned, now: Timestamp) -> Result<(), Result<NextStep, String>> {
    let upgrade = &observed.db.status.upgrade;
    let late = upgrade.step_since.is_some_and(|since| now.duration_since(since) > START_TIMEOUT);
    let step = match steps::server(observed, pinned) {
        None => return Ok(()),
        Some(NextStep::Blocked(_, why)) => return Err(Err(why)),
        Some(step) => step,
    };
    // While clients cannot write, and a rollback is possible, the first failure is enough.
    let first = match (&step, upgrade.step) {
        (NextStep::Wait(..), Some(UpgradeStep::Switch | UpgradeStep::Roll)) => {
            server_state::start_failure(observed, pinned)
        }
        _ => None,
    };
    match (step, first) {
        (_, Some(why)) => Err(Err(why)),
        (NextStep::Wait(_, why), None) if late => Err(Err(format!("{why}, for more than ten minutes"))),
        (step, None) => Err(Ok(step)),
    }
}
