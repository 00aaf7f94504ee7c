//! Pure: a server that runs and does not answer, for example because a signal stopped it, or its disk hangs.

use api::sample_db::SampleDBReason;
use runtime::projections::{Job, Pod};

use super::restart::restart;
use crate::database::observed::Observed;
use crate::database::server_state::was_ready;
use crate::database::step::NextStep;

/// For how many seconds the server has not answered, if that is longer than the spec allows.
pub(super) fn silent_too_long(observed: &Observed) -> Option<u64> {
    let longest = u64::try_from(observed.db.spec.engine.max_silence_seconds()).unwrap_or(0);
    observed.silent_for.map(|silent| silent.as_secs()).filter(|silent| *silent > longest)
}

/// What to do about a server that is neither ready nor answers. One that recovers answers that it does, and is left alone.
pub(super) fn unready(observed: &Observed, pod: &Pod) -> Option<NextStep> {
    let silent = silent_too_long(observed)?;
    let name = &pod.meta.key.name;
    let meanwhile = match bootstrap_job(observed) {
        None if was_ready(pod) => {
            return Some(restart(observed, &format!("the server runs, and has not answered for {silent} s")));
        }
        None => "since it was started".to_owned(),
        Some(job) => format!("while the Job {} is running", job.meta.key.name),
    };
    let message = format!(
        "the server runs, and has not answered for {silent} s {meanwhile}: see the log of the pod {name}; delete the pod to \
         have it restarted"
    );
    Some(NextStep::blocked(SampleDBReason::ServerSilent, message))
}

/// The Job that restores or configures a new database, if one is active. A restart would abort it, so that is left to the user.
fn bootstrap_job(observed: &Observed) -> Option<&Job> {
    let configured = observed.db.status.initialization.completed_at.is_some();
    observed.jobs.iter().map(|job| &**job).find(|job| !configured && job.end.is_none())
}

/// What to do about a server that is ready, and does not answer the operator. Its own probe says that it serves, so it is left
/// alone.
pub(in crate::database) fn ready(observed: &Observed, why: &str) -> NextStep {
    match silent_too_long(observed) {
        None => NextStep::wait(SampleDBReason::ServerSilent, format!("querying the server failed: {why}")),
        Some(silent) => {
            let message = format!(
                "the server is ready, and has not answered the manager for {silent} s: {why}; network policies must allow the \
                 manager to connect to port 5432 of the pod"
            );
            NextStep::blocked(SampleDBReason::ServerSilent, message)
        }
    }
}
