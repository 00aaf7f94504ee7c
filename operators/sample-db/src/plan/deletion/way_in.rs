//! What leads the Job of the last snapshot to the server that runs. Pure.

use api::sample_db::DeletionStep;
use runtime::plan::{Apply, Effect};

use super::{Step, is_in_foreground, save};
use crate::plan::objects::{self, ONLINE};
use crate::plan::{Observed, names, unlabeled};
use crate::snapshot::plan::is_bad;

/// Puts back the Service and the ConfigMap with its address, as long as a snapshot of the running server is to be taken: somebody
/// may have deleted them, and without them its Job would look for the server in vain. In a foreground deletion the garbage
/// collector deletes them, and would do so again.
pub(super) fn restored(observed: &Observed) -> Option<Step> {
    let db = &*observed.db;
    let online = save::last(observed).is_none_or(|last| {
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
    (!effects.is_empty()).then_some(Step::Take(DeletionStep::Snapshot, effects, message))
}

/// Whether the server's pod is there to stay.
fn is_there(observed: &Observed) -> bool {
    observed.pod().is_some_and(|pod| !pod.meta.deleting)
}

/// Whether it takes connections.
pub(super) fn is_ready(observed: &Observed) -> bool {
    is_there(observed) && observed.pod().and_then(|pod| pod.running.as_ref()).is_some_and(|running| running.ready)
}

/// Whether the server runs, and something keeps it running.
pub(super) fn serves(observed: &Observed) -> bool {
    let name = names::server(&observed.db);
    is_ready(observed) && observed.own_servers().any(|set| *set.meta.key.name == *name)
}
