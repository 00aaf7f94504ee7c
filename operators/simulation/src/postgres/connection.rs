//! How the agent's commands reach a server, and why they do not.

use agent_protocol::FailureReason;
use serde_json::Value;

use super::model::PostgresServers;
use crate::actors::pods::program::ContainerRun;
use crate::objects::has_ready;

/// Why a command is not done.
pub(super) enum Unfinished {
    /// What it waits for is not there; how it fails in the end.
    Waits(FailureReason, String),
    Failed(FailureReason, String),
    /// The model lacks something.
    Unmodelled(String),
}

impl Unfinished {
    pub(super) fn failed(reason: FailureReason, message: &str) -> Self {
        Self::Failed(reason, message.to_owned())
    }
}

/// The release in an image's tag.
pub(super) fn version(run: &ContainerRun<'_>) -> Option<String> {
    run.image.rsplit_once(':').map(|(_, tag)| tag.to_owned())
}

/// The name of the pod that the Service of a database selects.
pub(super) fn selected_pod(service: &Value) -> Option<&str> {
    service["spec"]["selector"]["statefulset.kubernetes.io/pod-name"].as_str()
}

/// The uid of the PVC of the server that a command connects to as the superuser.
pub(super) fn connect(servers: &PostgresServers, run: &ContainerRun<'_>) -> Result<String, Unfinished> {
    let host = run.variable("PGHOST").unwrap_or_default();
    let found = host.split('.').next().and_then(|service| {
        let service = (run.object)("services", service)?;
        let pod = (run.object)("pods", selected_pod(&service)?).filter(|pod| has_ready(pod))?;
        let state = servers.lock();
        let volume = &state.servers.get(pod["metadata"]["uid"].as_str()?)?.server.volume;
        Some((volume.clone(), state.data.get(volume)?.superuser_password.clone()))
    });
    let Some((volume, password)) = found else {
        return Err(Unfinished::Waits(FailureReason::ConnectionFailed, format!("{host} does not answer")));
    };
    if run.variable("PGPASSWORD").as_ref() != Some(&password) {
        return Err(Unfinished::failed(FailureReason::AuthenticationFailed, "the server rejects the password"));
    }
    Ok(volume)
}
