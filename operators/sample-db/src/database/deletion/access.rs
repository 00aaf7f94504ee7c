//! Pure: how the Job of the final snapshot reaches the running server.

use api::sample_db::DeletionStep;
use runtime::plan::{Apply, Effect};

use super::final_snapshot::final_snapshot;
use super::server::serves;
use super::step::{DeletionAction, is_in_foreground};
use super::terminating;
use crate::database::observed::Observed;
use crate::database::{objects, tuning, unlabeled};
use crate::operand::kinds::ONLINE;
use crate::operand::names;
use crate::operand::snapshot_state::has_failed;

/// Restores the Service and the ConfigMap with its address while a snapshot of the running server is to be taken: without them
/// its Job would not find the server, and a user may have deleted them. In a foreground deletion the garbage collector deletes
/// them, and would do so again.
pub(super) fn restore_services(observed: &Observed) -> Option<DeletionAction> {
    let db = &*observed.db;
    let online = final_snapshot(observed).is_none_or(|last| {
        let taken = last.status.completed_at.is_some() || has_failed(&last.status);
        last.annotations.contains_key(ONLINE) && !taken
    });
    let obstacle =
        observed.connection.blocking_reason("ConfigMap").or_else(|| observed.read_write.blocking_reason("Service"));
    if is_in_foreground(observed) || !serves(observed) || !online || obstacle.is_some() {
        return None;
    }
    let by_owner = unlabeled::can_be_selected_by_owner(observed);
    let connection = observed.connection.apply_if_drifted(objects::connection(db));
    let service = observed.read_write.apply_if_drifted(objects::read_write(db, by_owner));
    let applies: Vec<Apply> = connection.into_iter().chain(service).collect();
    let message =
        format!("restoring the Service {}, through which the final snapshot is taken", names::read_write_service(db));
    let effects = applies.into_iter().map(Effect::Apply).collect::<Vec<_>>();
    (!effects.is_empty()).then_some(DeletionAction::Take(DeletionStep::Snapshot, effects, message))
}

/// Writes the spec's parameters for a server that does not start and that alone can read the data: they may be the cause, and the
/// spec can be edited while the object is being deleted. The container reads them at its next start.
pub(super) fn apply_parameters(observed: &Observed) -> Option<DeletionAction> {
    let db = &*observed.db;
    let alone = terminating::terminating_claim(observed).is_some() && terminating::does_not_start(observed);
    let obstacle = observed.configuration.blocking_reason("ConfigMap").is_some() || tuning::refusal(db).is_some();
    if !alone || obstacle || is_in_foreground(observed) {
        return None;
    }
    let apply = observed.configuration.apply_if_drifted(objects::configuration(db))?;
    let message = "writing the spec's parameters for the server, which does not start".to_owned();
    Some(DeletionAction::act(DeletionStep::Snapshot, Effect::Apply(apply), message))
}
