//! Pure: the init step that makes a member the only one of its cluster.

use agent_protocol::{AgentCommand, EtcdRecover, START_VARIABLE};
use k8s_openapi::api::core::v1::Container;
use runtime::pod::restricted_container;

use super::container::{AGENT_DIR, INSTALLED_AGENT, agent_variables, member_args, mounts, resources};
use super::initial_state::InitialState;
use super::programs::RECOVER;
use crate::EtcdCluster;
use crate::plan::desired::Desired;

/// The init step. It does nothing once the annotation of the pod has changed: members may have been added by then.
pub(super) fn container(cluster: &EtcdCluster, desired: &Desired, member: &str) -> Container {
    let state = InitialState::Recover;
    let command = EtcdRecover {
        state: AGENT_DIR.into(),
        start: format!("$({START_VARIABLE})"),
        member: member_args(cluster, member, state),
    };
    Container {
        name: RECOVER.to_owned(),
        image: Some(desired.image()),
        command: Some(command.command(INSTALLED_AGENT)),
        env: Some(agent_variables(state)),
        resources: resources(cluster),
        security_context: Some(restricted_container()),
        volume_mounts: Some(mounts()),
        ..Container::default()
    }
}
