//! Pure: the server that an upgrade starts.

use api::sample_db::UpgradeStep as At;
use jiff::{SignedDuration, Timestamp};

use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::{server_state, steps};

/// How long a server may take to start before the old one is brought back.
pub(super) const START: SignedDuration = SignedDuration::from_mins(10);

/// The server that is to run, once it is ready.
pub(super) fn server(observed: &Observed, pinned: &Pinned, now: Timestamp) -> Result<(), Result<NextStep, String>> {
    let upgrade = &observed.db.status.upgrade;
    let late = upgrade.step_since.is_some_and(|since| now.duration_since(since) > START);
    let step = match steps::server(observed, pinned) {
        None => return Ok(()),
        Some(NextStep::Blocked(_, why)) => return Err(Err(why)),
        Some(step) => step,
    };
    // While nobody can write, and there is a way back, a first failure is enough.
    let first = match (&step, upgrade.step) {
        (NextStep::Wait(..), Some(At::Switch | At::Roll)) => server_state::ended(observed, pinned),
        _ => None,
    };
    match (step, first) {
        (_, Some(why)) => Err(Err(why)),
        (NextStep::Wait(_, why), None) if late => Err(Err(format!("{why}, for more than ten minutes"))),
        (step, None) => Err(Ok(step)),
    }
}
