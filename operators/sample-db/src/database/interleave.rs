//! Pure: backups next to the steps toward the desired state: neither waits for the other if it fails.

use jiff::Timestamp;
use runtime::plan::Effect;

use super::effects::DbAct;
use super::login::LoginCheck;
use super::observed::Observed;
use super::step::{NextStep, stops};
use super::upgrade;

/// Whether a configured server can be backed up during that step: it serves, and the step does not stop it.
pub(super) fn may_back_up(observed: &Observed, step: &NextStep, now: Timestamp) -> bool {
    let is_shut = || observed.probe.info().is_some_and(|answer| answer.login == LoginCheck::Blocked);
    let open = || observed.is_ready() && !is_shut() && upgrade::lets_back_up(&observed.db, now);
    match step {
        NextStep::Idle => true,
        NextStep::Wait(..) | NextStep::Blocked(..) => open(),
        NextStep::Do(effects, ..) => open() && !effects.iter().any(stops),
    }
}

/// The effects of a step and of the backups. The first failure stops the rest, and may recur in every reconcile, so the order
/// changes every minute.
pub(super) fn in_turn(step: NextStep, backup: Option<Effect<DbAct>>, now: Timestamp) -> Vec<Effect<DbAct>> {
    let mut effects = match step {
        NextStep::Do(effects, ..) => effects,
        NextStep::Idle | NextStep::Wait(..) | NextStep::Blocked(..) => Vec::new(),
    };
    if let Some(backup) = backup {
        let first = now.as_second().div_euclid(60).rem_euclid(2) == 0;
        let index = if first { 0 } else { effects.len() };
        effects.insert(index, backup);
    }
    effects
}
