//! Pure: what the pod of a server says about why the server does not run.

use agent_protocol::FailureReason;
use api::sample_db::SampleDBReason;
use runtime::projections::{Container, Pod, PodDiagnosis, Running};

use super::objects::{self, TEMPLATE};
use super::observed::Observed;
use super::pinned::Pinned;
use crate::operand::job_result::Words;
use crate::operand::names::{self, SERVER};

/// Why the pod that is as wished has ended at least once, if it has.
pub(crate) fn ended(observed: &Observed, pinned: &Pinned) -> Option<String> {
    let pod = observed.pod().filter(|pod| !pod.meta.deleting)?;
    let made = pod.running.as_deref()?.annotations.get(TEMPLATE)?;
    let current = *made == objects::template(observed, pinned);
    failure(pod).filter(|_| current).map(|(_, why)| format!("the server does not start: {why}"))
}

/// Why the server does not run, in words: what killed it, before what it said last.
pub(crate) fn cause(pod: &Pod, trouble: &PodDiagnosis) -> String {
    if trouble.message.contains("OOMKilled") {
        return "it used more memory than resources.limits.memory and was killed (OOMKilled): raise that".to_owned();
    }
    failure(pod).map_or_else(|| trouble.message.clone(), |(_, said)| said)
}

/// Why the server ended the last time, if it has been started again since.
pub(crate) fn said_last(pod: &Pod) -> Option<String> {
    let server = pod.running.as_ref()?.container(names::SERVER)?;
    Words::of_container(server)?.failure()
}

/// What the init step, or the server, last failed with; it may be trying again. What it has come up after is past.
pub(super) fn failure(pod: &Pod) -> Option<(Option<FailureReason>, String)> {
    let running = pod.running.as_deref()?;
    let has_failed = |of: &&Container| of.ended.as_ref().is_some_and(|ended| ended.code != 0);
    let failed = running.containers.iter().filter(has_failed).find(|of| !has_come_up(running, of))?;
    let words = Words::of_container(failed)?;
    words.failure().map(|message| (words.reason(), message))
}

/// What only a person can mend of the data.
pub(super) fn lost(pod: &Pod) -> Option<(SampleDBReason, String)> {
    let (reason, message) = failure(pod)?;
    let reason = match reason? {
        FailureReason::DataMissing => SampleDBReason::DataMissing,
        FailureReason::ForeignData => SampleDBReason::ForeignData,
        FailureReason::WrongMajor => SampleDBReason::WrongMajor,
        FailureReason::DataCorrupt => SampleDBReason::DataCorrupt,
        _ => return None,
    };
    Some((reason, format!("{message}; nothing is made anew over it")))
}

/// Whether the server that runs has been ready before, and is not now.
pub(super) fn was_ready(pod: &Pod) -> bool {
    let Some(running) = pod.running.as_deref().filter(|running| !running.ready) else { return false };
    running.container(SERVER).is_some_and(|server| has_come_up(running, server))
}

/// Whether a container runs that was started before its pod was ready, be it that it is or was: how it ended before that is past.
pub(crate) fn has_come_up(pod: &Running, container: &Container) -> bool {
    let turned_since = || pod.ready_since.zip(container.since).is_some_and(|(turned, begun)| turned > begun);
    container.running && (pod.ready || turned_since())
}

/// What keeps a pod from being ready, if anything does: nothing that it has come up after.
pub(crate) fn trouble(pod: &Pod) -> Option<&PodDiagnosis> {
    let is_over = |running: &Running| {
        let ended_well = |of: &Container| !of.backs_off && of.ended.as_ref().is_some_and(|ended| ended.code == 0);
        let all = running.containers.iter().all(|of| has_come_up(running, of) || ended_well(of));
        running.container(SERVER).is_some_and(|server| server.running) && all
    };
    pod.diagnosis.as_ref().filter(|_| !pod.running.as_deref().is_some_and(is_over))
}
