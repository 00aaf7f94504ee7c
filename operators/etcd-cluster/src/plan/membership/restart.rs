//! Pure: restarts a member that has lost its pod.

use api::ReconcileReason;
use api::etcd_cluster::EtcdClusterReason;

use super::step::EtcdStep;
use crate::plan::desired::Desired;
use crate::plan::known_good::{self, RestartConfig};
use crate::plan::member_set::MemberSet;
use crate::plan::objects::InitialState;
use crate::plan::{Observed, placement};

/// Restarts a member without a pod on its volume.
pub(super) fn restart(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, name: &str) -> EtcdStep {
    if let Some(step) = placement::release(observed, name) {
        return step;
    }
    if observed.names_taken.contains(name) {
        let message =
            format!("Pod {name} exists and does not belong to this EtcdCluster: delete it; it is left untouched");
        return EtcdStep::stuck(ReconcileReason::NameTaken, message);
    }
    if observed.names_terminating.contains(name) {
        let message = format!("waiting for the earlier pod {name} to be deleted");
        return EtcdStep::wait(ReconcileReason::WaitingForDeletion, message);
    }
    match known_good::restart_config(observed, members, desired, name) {
        RestartConfig::Unknown => EtcdStep::wait(
            EtcdClusterReason::SpecUnknown,
            format!(
                "member {name} is not restarted yet: its PVC, which records its last known good configuration, cannot be read"
            ),
        ),
        _ => EtcdStep::Start { name: name.into(), state: InitialState::Restart },
    }
}
