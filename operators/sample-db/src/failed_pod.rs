//! Whether a server's pod has failed for good, for example because its node evicted it or was shut down gracefully: the kubelet
//! does not restart its containers.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{self, PodStatus};
use runtime::cache::Projection;
use runtime::projections::Pod;

use crate::queries::{ApiQueries, get_object};

/// How long no container of a pod must have run before the API server is asked for the pod's phase.
const IDLE_BEFORE_READ: SignedDuration = SignedDuration::from_secs(10);

/// Whether no container of a pod that is not ready has run for a while.
pub(crate) fn is_idle(pod: &Pod, now: Timestamp) -> bool {
    let Some(running) = pod.details.as_deref().filter(|running| !running.ready && !pod.meta.deleting) else {
        return false;
    };
    let idle = !running.containers.iter().any(|of| of.running);
    idle && running.ready_since.is_some_and(|since| now.duration_since(since) > IDLE_BEFORE_READ)
}

/// Why that pod has failed, if it has.
pub(crate) async fn failure_reason(api: &impl ApiQueries, pod: &Pod) -> Option<String> {
    match get_object::<v1::Pod>(api, Pod::KIND, &pod.meta.key).await {
        Ok(found) => {
            let same = found.filter(|found| found.metadata.uid.as_deref() == Some(&*pod.meta.uid));
            same.and_then(|found| failure_of(&found.status?))
        }
        Err(error) => {
            tracing::debug!(%error, "the pod cannot be read");
            None
        }
    }
}

/// Why a pod of that status has failed, if it has.
fn failure_of(status: &PodStatus) -> Option<String> {
    status.phase.as_deref().filter(|phase| *phase == "Failed")?;
    let reported = [status.reason.as_deref(), status.message.as_deref()].into_iter().flatten().map(str::trim);
    let reported: Vec<&str> = reported.filter(|reported| !reported.is_empty()).collect();
    Some(if reported.is_empty() { "its containers have ended".to_owned() } else { reported.join(": ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_failed_pod_is_reported() {
        let status = |phase: &str, reason: Option<&str>, message: Option<&str>| PodStatus {
            phase: Some(phase.to_owned()),
            reason: reason.map(str::to_owned),
            message: message.map(str::to_owned),
            ..PodStatus::default()
        };
        let evicted = status("Failed", Some("Evicted"), Some("The node was low on resource: memory. "));
        assert_eq!(failure_of(&evicted).as_deref(), Some("Evicted: The node was low on resource: memory."));
        assert_eq!(failure_of(&status("Failed", None, None)).as_deref(), Some("its containers have ended"));
        for phase in ["Pending", "Running", "Unknown"] {
            assert_eq!(failure_of(&status(phase, Some("NodeLost"), None)), None);
        }
    }
}
