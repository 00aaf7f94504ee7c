//! Pure: backups beside the steps on the way to what is asked for: neither waits for the other, whichever of them fails.

use jiff::Timestamp;
use runtime::plan::Effect;

use super::effects::DbAct;
use super::login::Login;
use super::observed::Observed;
use super::step::{NextStep, stops};
use super::upgrade;

/// Whether a configured server can be backed up beside that step: it serves, and the step does not stop it.
pub(super) fn may_back_up(observed: &Observed, step: &NextStep, now: Timestamp) -> bool {
    let is_shut = || observed.asked.answer().is_some_and(|answer| answer.login == Login::ShutOut);
    let open = || observed.is_ready() && !is_shut() && upgrade::lets_back_up(&observed.db, now);
    match step {
        NextStep::Idle => true,
        NextStep::Wait(..) | NextStep::Blocked(..) => open(),
        NextStep::Do(effects, ..) => open() && !effects.iter().any(stops),
    }
}

/// The effects of a step and that of the backups. What fails first keeps the rest from being done, and may fail in every pass,
/// so every other minute the other one is first.
pub(super) fn in_turn(step: NextStep, backup: Option<Effect<DbAct>>, now: Timestamp) -> Vec<Effect<DbAct>> {
    let mut effects = match step {
        NextStep::Do(effects, ..) => effects,
        NextStep::Idle | NextStep::Wait(..) | NextStep::Blocked(..) => Vec::new(),
    };
    if let Some(backup) = backup {
        let first = now.as_second().div_euclid(60).rem_euclid(2) == 0;
        let place = if first { 0 } else { effects.len() };
        effects.insert(place, backup);
    }
    effects
}
