//! Pure: the server of a database that is being deleted: whether it serves, and how it is stopped.

use api::sample_db::DeletionStep;
use runtime::cache::Projection;
use runtime::projections::{Pod, StatefulSet};

use super::step::{DeletionAction, delete};
use crate::database::observed::Observed;
use crate::operand::names;

/// Deletes the server and its pods.
pub(super) fn stop(observed: &Observed) -> Option<DeletionAction> {
    if let Some(server) = observed.own_servers().next() {
        let message = "stopping the server, so that clients no longer write".to_owned();
        return Some(DeletionAction::act(DeletionStep::RemovePods, delete(&server.meta, StatefulSet::KIND), message));
    }
    let pod = observed.pods.iter().find(|pod| names::is_server_pod(&observed.db, &pod.meta.key.name))?;
    let message = format!("waiting for the pod {} to be deleted", pod.meta.key.name);
    Some(match pod.meta.deleting {
        true => DeletionAction::Wait(DeletionStep::RemovePods, message),
        false => DeletionAction::act(DeletionStep::RemovePods, delete(&pod.meta, Pod::KIND), message),
    })
}

/// Whether the server's pod exists and is not terminating.
fn is_present(observed: &Observed) -> bool {
    observed.pod().is_some_and(|pod| !pod.meta.deleting)
}

/// Whether it accepts connections.
pub(crate) fn is_ready(observed: &Observed) -> bool {
    is_present(observed) && observed.pod().and_then(|pod| pod.details.as_ref()).is_some_and(|running| running.ready)
}

/// Whether the server is ready, and its StatefulSet keeps it running.
pub(crate) fn serves(observed: &Observed) -> bool {
    let name = names::server(&observed.db);
    is_ready(observed) && observed.own_servers().any(|set| *set.meta.key.name == *name)
}
