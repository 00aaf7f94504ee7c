//! Backups beside the steps on the way to what is asked for: neither waits for the other, whichever of them fails. Pure.

use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::Effect;
use runtime::views::Pod;

use super::login::Login;
use super::steps::Step;
use super::{DbAct, Observed, upgrade};

/// Whether a configured server can be backed up beside that step: it serves, and the step does not stop it.
pub(super) fn may_back_up(observed: &Observed, step: &Step, now: Timestamp) -> bool {
    let is_shut = || observed.asked.answer().is_some_and(|answer| answer.login == Login::ShutOut);
    let open = || observed.is_ready() && !is_shut() && upgrade::lets_back_up(&observed.db, now);
    match step {
        Step::Rest => true,
        Step::Wait(..) | Step::Stuck(..) => open(),
        Step::Take(effects, ..) => open() && !effects.iter().any(stops),
    }
}

/// Whether an effect stops a server.
pub(super) fn stops(effect: &Effect<DbAct>) -> bool {
    matches!(effect, Effect::Delete(delete) if delete.kind == Pod::KIND)
}

/// The effects of a step and that of the backups. What fails first keeps the rest from being done, and may fail in every pass,
/// so every other minute the other one is first.
pub(super) fn in_turn(step: Step, backup: Option<Effect<DbAct>>, now: Timestamp) -> Vec<Effect<DbAct>> {
    let mut effects = match step {
        Step::Take(effects, ..) => effects,
        Step::Rest | Step::Wait(..) | Step::Stuck(..) => Vec::new(),
    };
    if let Some(backup) = backup {
        let first = now.as_second().div_euclid(60).rem_euclid(2) == 0;
        let place = if first { 0 } else { effects.len() };
        effects.insert(place, backup);
    }
    effects
}
