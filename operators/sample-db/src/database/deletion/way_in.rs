//! Pure: what leads the Job of the last snapshot to the server that runs.

use api::sample_db::DeletionStep;
use runtime::plan::{Apply, Effect};

use super::last::last;
use super::server::serves;
use super::step::{DeletionAction, is_in_foreground};
use super::terminating;
use crate::database::observed::Observed;
use crate::database::{objects, tuning, unlabeled};
use crate::operand::kinds::ONLINE;
use crate::operand::names;
use crate::operand::snapshot_state::is_bad;

/// Puts back the Service and the ConfigMap with its address, as long as a snapshot of the running server is to be taken: somebody
/// may have deleted them, and without them its Job would look for the server in vain. In a foreground deletion the garbage
/// collector deletes them, and would do so again.
pub(super) fn restored(observed: &Observed) -> Option<DeletionAction> {
    let db = &*observed.db;
    let online = last(observed).is_none_or(|last| {
        let taken = last.status.completed_at.is_some() || is_bad(&last.status);
        last.annotations.contains_key(ONLINE) && !taken
    });
    let obstacle = observed.connection.obstacle("ConfigMap").or_else(|| observed.read_write.obstacle("Service"));
    if is_in_foreground(observed) || !serves(observed) || !online || obstacle.is_some() {
        return None;
    }
    let by_owner = unlabeled::can_be_selected_by_owner(observed);
    let connection = observed.connection.kept(objects::connection(db));
    let service = observed.read_write.kept(objects::read_write(db, by_owner));
    let applies: Vec<Apply> = connection.into_iter().chain(service).collect();
    let message =
        format!("putting back the Service {}, through which the final snapshot is taken", names::read_write(db));
    let effects = applies.into_iter().map(Effect::Apply).collect::<Vec<_>>();
    (!effects.is_empty()).then_some(DeletionAction::Take(DeletionStep::Snapshot, effects, message))
}

/// Brings the spec's parameters to a server that does not start, and that alone can read the data: it may be them, and the spec can
/// be edited while the object is being deleted. Its container reads them at its next start.
pub(super) fn configured(observed: &Observed) -> Option<DeletionAction> {
    let db = &*observed.db;
    let alone = terminating::dying(observed).is_some() && terminating::does_not_start(observed);
    let obstacle = observed.configuration.obstacle("ConfigMap").is_some() || tuning::refusal(db).is_some();
    if !alone || obstacle || is_in_foreground(observed) {
        return None;
    }
    let apply = observed.configuration.kept(objects::configuration(db))?;
    let message = "writing the spec's parameters for the server, which does not start".to_owned();
    Some(DeletionAction::take(DeletionStep::Snapshot, Effect::Apply(apply), message))
}
