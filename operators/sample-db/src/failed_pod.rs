//! Whether a server's pod has failed for good: its node has evicted it, or has gone down in an orderly way, for instance. The
//! kubelet starts nothing of it again.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{self, PodStatus};
use runtime::cache::Projection;
use runtime::projections::Pod;

use crate::queries::{ApiQueries, whole};

/// After how long nothing of a pod that is not ready runs, the API server is asked whether anything will.
const STILL: SignedDuration = SignedDuration::from_secs(10);

/// Whether nothing of a pod has run for a while.
pub(crate) fn stands_still(pod: &Pod, now: Timestamp) -> bool {
    let Some(running) = pod.running.as_deref().filter(|running| !running.ready && !pod.meta.deleting) else {
        return false;
    };
    let rests = !running.containers.iter().any(|of| of.running);
    rests && running.ready_since.is_some_and(|since| now.duration_since(since) > STILL)
}

/// Why that pod has failed, if it has.
pub(crate) async fn why(api: &impl ApiQueries, pod: &Pod) -> Option<String> {
    match whole::<v1::Pod>(api, Pod::KIND, &pod.meta.key).await {
        Ok(found) => {
            let same = found.filter(|found| found.metadata.uid.as_deref() == Some(&*pod.meta.uid));
            same.and_then(|found| end_of(&found.status?))
        }
        Err(error) => {
            tracing::debug!(%error, "the pod cannot be read");
            None
        }
    }
}

/// Why a pod of that status has failed, if it has.
fn end_of(status: &PodStatus) -> Option<String> {
    status.phase.as_deref().filter(|phase| *phase == "Failed")?;
    let reported = [status.reason.as_deref(), status.message.as_deref()].into_iter().flatten().map(str::trim);
    let reported: Vec<&str> = reported.filter(|reported| !reported.is_empty()).collect();
    Some(if reported.is_empty() { "its containers have ended".to_owned() } else { reported.join(": ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_has_failed_says_why() {
        let status = |phase: &str, reason: Option<&str>, message: Option<&str>| PodStatus {
            phase: Some(phase.to_owned()),
            reason: reason.map(str::to_owned),
            message: message.map(str::to_owned),
            ..PodStatus::default()
        };
        let evicted = status("Failed", Some("Evicted"), Some("The node was low on resource: memory. "));
        assert_eq!(end_of(&evicted).as_deref(), Some("Evicted: The node was low on resource: memory."));
        assert_eq!(end_of(&status("Failed", None, None)).as_deref(), Some("its containers have ended"));
        for phase in ["Pending", "Running", "Unknown"] {
            assert_eq!(end_of(&status(phase, Some("NodeLost"), None)), None);
        }
    }
}
