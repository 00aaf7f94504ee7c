//! Pure: a server that runs and does not answer, such as one that was stopped by a signal, or whose disk hangs.

use api::sample_db::SampleDBReason;
use runtime::projections::{Job, Pod};

use super::restart::restart;
use crate::database::observed::Observed;
use crate::database::server_state::was_ready;
use crate::database::step::NextStep;

/// For how many seconds the server has not answered, if that is longer than the spec lets it.
pub(super) fn too_long(observed: &Observed) -> Option<u64> {
    let longest = u64::try_from(observed.db.spec.engine.max_silence_seconds()).unwrap_or(0);
    observed.silent_for.map(|silent| silent.as_secs()).filter(|silent| *silent > longest)
}

/// What to do about a server that is not ready, and does not answer either. One that recovers says so, and is left to it.
pub(super) fn unready(observed: &Observed, pod: &Pod) -> Option<NextStep> {
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
    Some(NextStep::stuck(SampleDBReason::ServerSilent, message))
}

/// The Job that restores or configures a new database, if one is at work. A restart would cut it off, so that is left to a
/// person.
fn filling(observed: &Observed) -> Option<&Job> {
    let configured = observed.db.status.initialization.completed_at.is_some();
    observed.jobs.iter().map(|job| &**job).find(|job| !configured && job.end.is_none())
}

/// What to say of a server that is ready, and does not answer the operator. Its own probe says that it serves, so it is left
/// alone.
pub(in crate::database) fn ready(observed: &Observed, why: &str) -> NextStep {
    match too_long(observed) {
        None => NextStep::wait(SampleDBReason::ServerSilent, format!("the server was asked in vain: {why}")),
        Some(silent) => {
            let message = format!(
                "the server is ready, and has not answered the manager for {silent} s: {why}; network policies must let the \
                 manager through to port 5432 of the pod"
            );
            NextStep::stuck(SampleDBReason::ServerSilent, message)
        }
    }
}
