//! A server that runs and does not answer, such as one that was stopped by a signal, or whose disk hangs. Pure.

use api::sample_db::SampleDBReason;
use runtime::views::{Container, Job, Pod, Running, Trouble};

use super::Step;
use super::server::restart;
use crate::plan::Observed;
use crate::plan::objects::SERVER;

/// For how many seconds the server has not answered, if that is longer than the spec lets it.
pub(super) fn too_long(observed: &Observed) -> Option<u64> {
    let longest = u64::try_from(observed.db.spec.engine.max_silence_seconds()).unwrap_or(0);
    observed.silent_for.map(|silent| silent.as_secs()).filter(|silent| *silent > longest)
}

/// What to do about a server that is not ready, and does not answer either. One that recovers says so, and is left to it.
pub(super) fn unready(observed: &Observed, pod: &Pod) -> Option<Step> {
    let silent = too_long(observed)?;
    let name = &pod.meta.key.name;
    let meanwhile = match filling(observed) {
        None if was_ready(pod) => {
            return Some(restart(observed, &format!("the server runs, and has not answered for {silent} s")));
        }
        None => "since it was started".to_owned(),
        Some(job) => format!("while the Job {} works on it", job.meta.key.name),
    };
    let message = format!(
        "the server runs, and has not answered for {silent} s {meanwhile}: see the log of the pod {name}; delete the pod to \
         have it started again"
    );
    Some(Step::stuck(SampleDBReason::ServerSilent, message))
}

/// The Job that restores or configures a new database, if one is at work. A restart would cut it off, so that is left to a
/// person.
fn filling(observed: &Observed) -> Option<&Job> {
    let configured = observed.db.status.initialization.completed_at.is_some();
    observed.jobs.iter().map(|job| &**job).find(|job| !configured && job.end.is_none())
}

/// What to say of a server that is ready, and does not answer the operator. Its own probe says that it serves, so it is left
/// alone.
pub(in crate::plan) fn ready(observed: &Observed, why: &str) -> Step {
    match too_long(observed) {
        None => Step::wait(SampleDBReason::ServerSilent, format!("the server was asked in vain: {why}")),
        Some(silent) => {
            let message = format!(
                "the server is ready, and has not answered the manager for {silent} s: {why}; network policies must let the \
                 manager through to port 5432 of the pod"
            );
            Step::stuck(SampleDBReason::ServerSilent, message)
        }
    }
}

/// Whether the server that runs has been ready before, and is not now.
fn was_ready(pod: &Pod) -> bool {
    let Some(running) = pod.running.as_deref().filter(|running| !running.ready) else { return false };
    running.container(SERVER).is_some_and(|server| has_come_up(running, server))
}

/// Whether a container runs that was started before its pod was ready, be it that it is or was: how it ended before that is past.
pub(super) fn has_come_up(pod: &Running, container: &Container) -> bool {
    let turned_since = || pod.ready_since.zip(container.since).is_some_and(|(turned, begun)| turned > begun);
    container.running && (pod.ready || turned_since())
}

/// What keeps a pod from being ready, if anything does: nothing that it has come up after.
pub(in crate::plan) fn trouble(pod: &Pod) -> Option<&Trouble> {
    let is_over = |running: &Running| {
        let ended_well = |of: &Container| !of.backs_off && of.ended.as_ref().is_some_and(|ended| ended.code == 0);
        let all = running.containers.iter().all(|of| has_come_up(running, of) || ended_well(of));
        running.container(SERVER).is_some_and(|server| server.running) && all
    };
    pod.trouble.as_ref().filter(|_| !pod.running.as_deref().is_some_and(is_over))
}
