//! Pure: the server's pod.

use agent_protocol::PgPrepareResult;
use api::ReconcileReason;
use api::sample_db::SampleDBReason;
use runtime::projections::Pod;

use super::restart::restart;
use super::silence;
use crate::database::objects::{self, PARAMETERS, TEMPLATE};
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::server_state::{self, cause, data_failure, failure};
use crate::database::step::NextStep;
use crate::database::{placement, storage, unlabeled};
use crate::operand::names;
use runtime::job::outcome::AgentOutcome;

/// The server's pod: replaced if it is not as desired, else waited for.
pub(in crate::database) fn server(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let name = names::pod(&observed.db);
    let Some(pod) = observed.pod() else {
        return Some(match observed.taken_names.contains(&name) {
            true => NextStep::blocked(ReconcileReason::NameTaken, unlabeled::name_taken(&name)),
            false => NextStep::wait(SampleDBReason::ServerStarting, format!("waiting for the pod {name}")),
        });
    };
    if pod.meta.deleting {
        let message = format!("waiting for the pod {name} to be replaced");
        return Some(NextStep::wait(SampleDBReason::ServerStarting, message));
    }
    let running = pod.details.as_deref()?;
    let has = |annotation: &str, wanted: &str| running.annotations.get(annotation).map(String::as_str) == Some(wanted);
    if !has(TEMPLATE, &objects::template(observed, pinned)) {
        let step = restart(observed, "the pod template changed");
        let first = placement::check_before_restart(observed, pinned).filter(|_| matches!(step, NextStep::Do(..)));
        // A replacement that cannot be had does not prevent the recovery of the present pod.
        let recovered = first.as_ref().and_then(|_| recovered(observed, pod)).filter(|_| !running.ready);
        return Some(recovered.or(first).unwrap_or(step));
    }
    if running.ready {
        return None;
    }
    if let Some(step) = failed(observed) {
        return Some(step);
    }
    // The cause may be its parameters. A server that recovers from a crash is left alone.
    let diagnosis = server_state::diagnosis(pod);
    if diagnosis.is_some() && !has(PARAMETERS, &objects::parameters(&observed.db)) {
        return Some(restart(observed, "the parameters changed"));
    }
    if let Some((reason, message)) = data_failure(pod) {
        return Some(NextStep::blocked(reason, message));
    }
    if let Some(step) = silence::unready(observed, pod) {
        return Some(step);
    }
    Some(match diagnosis {
        // A manager that renders the pod differently may have fixed what it fails with.
        Some(diagnosis) if diagnosis.permanent && is_outdated(observed, pod) => restart(
            observed,
            &format!("the pod fails to start ({}); restarting it with the updated pod template", diagnosis.message),
        ),
        Some(diagnosis) if diagnosis.permanent && storage::has_grown(observed, pinned) => {
            restart(observed, &format!("its volume was full, and has grown ({})", diagnosis.message))
        }
        Some(diagnosis) if diagnosis.permanent => NextStep::blocked(
            SampleDBReason::ServerFails,
            format!("the server does not start: {}", cause(pod, diagnosis)),
        ),
        Some(diagnosis) => {
            NextStep::wait(SampleDBReason::ServerStarting, format!("the server does not start: {}", diagnosis.message))
        }
        None => {
            NextStep::wait(SampleDBReason::ServerStarting, "waiting for the server to accept connections".to_owned())
        }
    })
}

/// Replaces a pod that failed for good.
fn failed(observed: &Observed) -> Option<NextStep> {
    let why = observed.pod_failure.as_ref()?;
    Some(restart(observed, &format!("its pod has failed, and the kubelet does not restart it ({why})")))
}

/// Replaces a pod that failed, or no longer answers, by an equal one.
fn recovered(observed: &Observed, pod: &Pod) -> Option<NextStep> {
    failed(observed).or_else(|| silence::unready(observed, pod)).filter(|step| matches!(step, NextStep::Do(..)))
}

/// Whether the StatefulSet would create another pod now.
fn is_outdated(observed: &Observed, pod: &Pod) -> bool {
    let revision = pod.details.as_ref().and_then(|running| running.labels.get("controller-revision-hash"));
    let Some((server, revision)) = observed.server.owned().zip(revision) else { return false };
    let status = &server.status;
    let current = status.observed_generation >= server.meta.generation && !status.update_revision.is_empty();
    current && status.update_revision != *revision
}

/// The state of the server that an upgrade leads to.
pub(in crate::database) enum TargetServerState {
    /// It accepts connections.
    Ready {
        /// Its pod's address.
        address: String,
        /// The free bytes of its volume, if known.
        room: Option<i64>,
    },
    /// It may start yet: why it has not.
    Starting(String),
    /// It does not start: why.
    Failing(String),
}

/// The state of the server that an upgrade leads to.
pub(in crate::database) fn target_server_state(observed: &Observed, pinned: &Pinned) -> TargetServerState {
    let name = names::pod_of(&names::upgrade_server(&observed.db, pinned.major));
    let starting = |why: &str| TargetServerState::Starting(format!("the pod {name} of the new version {why}"));
    let Some(pod) = observed.pod_named(&name).filter(|pod| !pod.meta.deleting) else {
        return match observed.taken_names.contains(&name) {
            true => TargetServerState::Starting(unlabeled::name_taken(&name)),
            false => starting("has yet to be created"),
        };
    };
    let Some(running) = pod.details.as_deref() else { return starting("has yet to start") };
    if running.annotations.get(TEMPLATE) != Some(&objects::template(observed, pinned)) {
        return TargetServerState::Failing("the pod template changed during the upgrade".to_owned());
    }
    if let (true, Some(address)) = (running.ready, &running.ip) {
        let outcome = running.container("prepare").and_then(AgentOutcome::of_container);
        return TargetServerState::Ready {
            address: address.to_string(),
            room: outcome.and_then(|outcome| outcome.result::<PgPrepareResult>().free_bytes),
        };
    }
    match (failure(pod), server_state::diagnosis(pod)) {
        (outcome, Some(diagnosis)) if diagnosis.permanent => {
            let why = outcome.map_or_else(|| diagnosis.message.clone(), |(_, why)| why);
            TargetServerState::Failing(format!("the server of the new version does not start: {why}"))
        }
        (Some((_, why)), _) => starting(&format!("does not start: {why}")),
        (None, Some(diagnosis)) => starting(&format!("does not start: {}", diagnosis.message)),
        (None, None) => starting("is starting"),
    }
}
