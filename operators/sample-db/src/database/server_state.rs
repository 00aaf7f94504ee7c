//! Pure: why the server does not run, by its pod.

use agent_protocol::FailureReason;
use api::sample_db::SampleDBReason;
use runtime::projections::{ContainerStatus, Pod, PodDetails, PodDiagnosis};

use super::objects::{self, TEMPLATE};
use super::observed::Observed;
use super::pinned::Pinned;
use crate::operand::names::{self, SERVER};
use runtime::job::outcome::AgentOutcome;

/// Why the pod with the desired template ended at least once, if it did.
pub(crate) fn start_failure(observed: &Observed, pinned: &Pinned) -> Option<String> {
    let pod = observed.pod().filter(|pod| !pod.meta.deleting)?;
    let template = pod.details.as_deref()?.annotations.get(TEMPLATE)?;
    let current = *template == objects::template(observed, pinned);
    failure(pod).filter(|_| current).map(|(_, why)| format!("the server does not start: {why}"))
}

/// Why the server does not run: what killed it, before what it reported last.
pub(crate) fn cause(pod: &Pod, diagnosis: &PodDiagnosis) -> String {
    if diagnosis.message.contains("OOMKilled") {
        return "it used more memory than resources.limits.memory (OOMKilled): raise that".to_owned();
    }
    failure(pod).map_or_else(|| diagnosis.message.clone(), |(_, message)| message)
}

/// Why the server ended the last time, if it was restarted since.
pub(crate) fn last_failure(pod: &Pod) -> Option<String> {
    let server = pod.details.as_ref()?.container(names::SERVER)?;
    AgentOutcome::of_container(server)?.failure()
}

/// The last failure of the init container or the server, which may be retrying. A failure that a container came up after is past.
pub(super) fn failure(pod: &Pod) -> Option<(Option<FailureReason>, String)> {
    let running = pod.details.as_deref()?;
    let has_failed = |of: &&ContainerStatus| of.terminated.as_ref().is_some_and(|ended| ended.code != 0);
    let failed = running.containers.iter().filter(has_failed).find(|of| !has_come_up(running, of))?;
    let outcome = AgentOutcome::of_container(failed)?;
    outcome.failure().map(|message| (outcome.reason(), message))
}

/// A failure of the data that only the user can repair.
pub(super) fn data_failure(pod: &Pod) -> Option<(SampleDBReason, String)> {
    let (reason, message) = failure(pod)?;
    let reason = match reason? {
        FailureReason::DataMissing => SampleDBReason::DataMissing,
        FailureReason::ForeignData => SampleDBReason::ForeignData,
        FailureReason::WrongMajor => SampleDBReason::WrongMajor,
        FailureReason::DataCorrupt => SampleDBReason::DataCorrupt,
        _ => return None,
    };
    Some((reason, format!("{message}; the operator does not recreate the data")))
}

/// Whether the running server was ready before, and is not now.
pub(super) fn was_ready(pod: &Pod) -> bool {
    let Some(running) = pod.details.as_deref().filter(|running| !running.ready) else { return false };
    running.container(SERVER).is_some_and(|server| has_come_up(running, server))
}

/// Whether a container runs that was started before its pod is or was ready: an earlier end of it is past.
pub(crate) fn has_come_up(pod: &PodDetails, container: &ContainerStatus) -> bool {
    let turned_since = || pod.ready_since.zip(container.since).is_some_and(|(turned, begun)| turned > begun);
    container.running && (pod.ready || turned_since())
}

/// Why a pod is not ready, if it is not, without failures that it came up after.
pub(crate) fn diagnosis(pod: &Pod) -> Option<&PodDiagnosis> {
    let is_over = |running: &PodDetails| {
        let ended_well =
            |of: &ContainerStatus| !of.in_backoff && of.terminated.as_ref().is_some_and(|ended| ended.code == 0);
        let all = running.containers.iter().all(|of| has_come_up(running, of) || ended_well(of));
        running.container(SERVER).is_some_and(|server| server.running) && all
    };
    pod.diagnosis.as_ref().filter(|_| !pod.details.as_deref().is_some_and(is_over))
}
