//! Pure: restarts the server, unless something has to happen first.

use api::sample_db::SampleDBReason;
use runtime::cache::Projection;
use runtime::plan::{Delete, DryRun, Effect};
use runtime::projections::Pod;

use crate::database::observed::Observed;
use crate::database::step::NextStep;
use crate::operand::snapshot_state::is_being_taken;

/// The server is started again: not while a backup is taken of it, unless it does not serve anyway.
pub(crate) fn restart(observed: &Observed, why: &str) -> NextStep {
    let Some(pod) = observed.pod() else {
        return NextStep::wait(SampleDBReason::ServerStarting, "waiting for the pod".to_owned());
    };
    // No other pod could use the claim.
    let claim = observed.db.status.storage.claim.as_deref().and_then(|name| observed.claim(name));
    if let Some(claim) = claim.filter(|claim| claim.meta.deleting) {
        let name = &claim.meta.key.name;
        let message = format!("{why}; that cannot be: the claim {name} is being deleted");
        return NextStep::stuck(SampleDBReason::ClaimTerminating, message);
    }
    let taken = observed.snapshots.iter().find(|snapshot| is_being_taken(&snapshot.status));
    if let Some(snapshot) = taken.filter(|_| observed.is_ready()) {
        let name = &snapshot.meta.key.name;
        let message = format!("{why}; that waits until the snapshot {name} has been taken");
        return NextStep::wait(SampleDBReason::ServerRestarting, message);
    }
    // Its controller would make the next pod as it last read how.
    if observed.server.owned().is_some_and(|server| server.status.observed_generation < server.meta.generation) {
        return NextStep::wait(
            SampleDBReason::ServerRestarting,
            format!("{why}; waiting for the StatefulSet controller to observe the new template"),
        );
    }
    // One that serves is not deleted for one that could not be created.
    match &observed.replacement {
        DryRun::Accepted => {}
        DryRun::Rejected(said) => {
            let message = format!(
                "{why}, but the API server rejects the new pod, so the present one stays: {said}; correct the spec, or the \
                 quota or policy that rejects it"
            );
            return NextStep::stuck(SampleDBReason::PodRefused, message);
        }
        DryRun::Unknown(said) => {
            let message = format!("{why}; waiting for the API server to say whether it takes the new pod: {said}");
            return NextStep::wait(SampleDBReason::ServerRestarting, message);
        }
    }
    let delete = Delete::of(Pod::KIND, &pod.meta);
    NextStep::take(
        Effect::Delete(delete),
        SampleDBReason::ServerRestarting,
        &format!("starting the server again: {why}"),
    )
}
