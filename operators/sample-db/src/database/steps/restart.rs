//! Pure: restarts the server, unless something has to happen first.

use api::sample_db::SampleDBReason;
use runtime::cache::Projection;
use runtime::plan::{Delete, DryRun, Effect};
use runtime::projections::Pod;

use crate::database::observed::Observed;
use crate::database::step::NextStep;
use crate::operand::snapshot_state::is_being_taken;

/// Restarts the server; not while a snapshot is taken of it, unless it does not serve anyway.
pub(crate) fn restart(observed: &Observed, why: &str) -> NextStep {
    let Some(pod) = observed.pod() else {
        return NextStep::wait(SampleDBReason::ServerStarting, "waiting for the server's pod".to_owned());
    };
    // No other pod could use the PVC.
    let claim = observed.db.status.storage.claim.as_deref().and_then(|name| observed.claim(name));
    if let Some(claim) = claim.filter(|claim| claim.meta.deleting) {
        let name = &claim.meta.key.name;
        let message = format!("{why}, but the pod cannot be replaced: the PVC {name} is being deleted");
        return NextStep::blocked(SampleDBReason::ClaimTerminating, message);
    }
    let taken = observed.snapshots.iter().find(|snapshot| is_being_taken(&snapshot.status));
    if let Some(snapshot) = taken.filter(|_| observed.is_ready()) {
        let name = &snapshot.meta.key.name;
        let message = format!("{why}; waiting until the snapshot {name} has been taken");
        return NextStep::wait(SampleDBReason::ServerRestarting, message);
    }
    // The controller would create the next pod from an earlier template.
    if observed.server.owned().is_some_and(|server| server.status.observed_generation < server.meta.generation) {
        return NextStep::wait(
            SampleDBReason::ServerRestarting,
            format!("{why}; waiting for the StatefulSet controller to observe the new template"),
        );
    }
    // A pod that serves is not deleted for one that could not be created.
    match &observed.replacement {
        DryRun::Accepted => {}
        DryRun::Rejected(answer) => {
            let message = format!(
                "{why}, but the API server rejects the new pod, so the present one is kept: {answer}; correct the spec, or the \
                 quota or policy that rejects it"
            );
            return NextStep::blocked(SampleDBReason::PodRefused, message);
        }
        DryRun::Unknown(answer) => {
            let message = format!("{why}; waiting for the API server to say whether it accepts the new pod: {answer}");
            return NextStep::wait(SampleDBReason::ServerRestarting, message);
        }
    }
    let delete = Delete::of(Pod::KIND, &pod.meta);
    NextStep::act(Effect::Delete(delete), SampleDBReason::ServerRestarting, &format!("restarting the server: {why}"))
}
