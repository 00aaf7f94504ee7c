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
use crate::database::server_state::{self, cause, failure, lost};
use crate::database::step::NextStep;
use crate::database::{placement, storage, unlabeled};
use crate::operand::job_result::Words;
use crate::operand::names;

/// The server's pod: replaced if it is not as wished, else waited for.
pub(in crate::database) fn server(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    let name = names::pod(&observed.db);
    let Some(pod) = observed.pod() else {
        return Some(match observed.taken.contains(&name) {
            true => NextStep::stuck(ReconcileReason::NameTaken, unlabeled::name_taken(&name)),
            false => NextStep::wait(SampleDBReason::ServerStarting, format!("waiting for the pod {name}")),
        });
    };
    if pod.meta.deleting {
        let message = format!("waiting for the pod {name} to be deleted, and another comes");
        return Some(NextStep::wait(SampleDBReason::ServerStarting, message));
    }
    let running = pod.running.as_deref()?;
    let has = |annotation: &str, wanted: &str| running.annotations.get(annotation).map(String::as_str) == Some(wanted);
    if !has(TEMPLATE, &objects::template(observed, pinned)) {
        let step = restart(observed, "the spec says something else of its pod");
        let first = placement::before_restart(observed, pinned).filter(|_| matches!(step, NextStep::Do(..)));
        // One that cannot be had keeps the present one from nothing.
        let recovered = first.as_ref().and_then(|_| recovered(observed, pod)).filter(|_| !running.ready);
        return Some(recovered.or(first).unwrap_or(step));
    }
    if running.ready {
        return None;
    }
    if let Some(step) = failed(observed) {
        return Some(step);
    }
    // It may be its parameters that it does not start with. A server that recovers from a crash is left to it.
    let trouble = server_state::trouble(pod);
    if trouble.is_some() && !has(PARAMETERS, &objects::parameters(&observed.db)) {
        return Some(restart(observed, "the spec has other parameters"));
    }
    if let Some((reason, message)) = lost(pod) {
        return Some(NextStep::stuck(reason, message));
    }
    if let Some(step) = silence::unready(observed, pod) {
        return Some(step);
    }
    Some(match trouble {
        // A manager that renders it otherwise may have mended what it does not start with.
        Some(trouble) if trouble.permanent && is_outdated(observed, pod) => restart(
            observed,
            &format!("the pod fails to start ({}); restarting it with the updated pod template", trouble.message),
        ),
        Some(trouble) if trouble.permanent && storage::has_grown(observed, pinned) => {
            restart(observed, &format!("its volume was full, and has grown ({})", trouble.message))
        }
        Some(trouble) if trouble.permanent => {
            NextStep::stuck(SampleDBReason::ServerFails, format!("the server does not start: {}", cause(pod, trouble)))
        }
        Some(trouble) => {
            NextStep::wait(SampleDBReason::ServerStarting, format!("the server does not start: {}", trouble.message))
        }
        None => {
            NextStep::wait(SampleDBReason::ServerStarting, "waiting for the server to accept connections".to_owned())
        }
    })
}

/// Another pod in place of one that has failed for good.
fn failed(observed: &Observed) -> Option<NextStep> {
    let why = observed.failed.as_ref()?;
    Some(restart(observed, &format!("its pod has failed, and is not started again by itself ({why})")))
}

/// Another pod, as the present one, in place of one that has failed, or does not answer any more.
fn recovered(observed: &Observed, pod: &Pod) -> Option<NextStep> {
    failed(observed).or_else(|| silence::unready(observed, pod)).filter(|step| matches!(step, NextStep::Do(..)))
}

/// Whether the StatefulSet would make another pod now.
fn is_outdated(observed: &Observed, pod: &Pod) -> bool {
    let revision = pod.running.as_ref().and_then(|running| running.labels.get("controller-revision-hash"));
    let Some((server, revision)) = observed.server.owned().zip(revision) else { return false };
    let status = &server.status;
    let current = status.observed_generation >= server.meta.generation && !status.update_revision.is_empty();
    current && status.update_revision != *revision
}

/// How the server fares that is to follow.
pub(in crate::database) enum Follows {
    /// It takes connections there; how much room its volume has, if that is known.
    Ready {
        /// Its pod's.
        address: String,
        /// In bytes.
        room: Option<i64>,
    },
    /// It may yet.
    Starting(String),
    /// It does not start: why.
    Failing(String),
}

/// Looks at the server that is to follow.
pub(in crate::database) fn follows(observed: &Observed, pinned: &Pinned) -> Follows {
    let name = names::pod_of(&names::upgrade_server(&observed.db, pinned.major));
    let starting = |why: &str| Follows::Starting(format!("the pod {name} of the new version {why}"));
    let Some(pod) = observed.pod_named(&name).filter(|pod| !pod.meta.deleting) else {
        return match observed.taken.contains(&name) {
            true => Follows::Starting(unlabeled::name_taken(&name)),
            false => starting("is yet to come"),
        };
    };
    let Some(running) = pod.running.as_deref() else { return starting("is yet to start") };
    if running.annotations.get(TEMPLATE) != Some(&objects::template(observed, pinned)) {
        return Follows::Failing("the spec says something else of the server's pod than when it began".to_owned());
    }
    if let (true, Some(address)) = (running.ready, &running.ip) {
        let said = running.container("prepare").and_then(Words::of_container);
        return Follows::Ready {
            address: address.to_string(),
            room: said.and_then(|words| words.result::<PgPrepareResult>().free_bytes),
        };
    }
    match (failure(pod), server_state::trouble(pod)) {
        (said, Some(trouble)) if trouble.permanent => {
            let why = said.map_or_else(|| trouble.message.clone(), |(_, why)| why);
            Follows::Failing(format!("the server of the new version does not start: {why}"))
        }
        (Some((_, why)), _) => starting(&format!("does not start: {why}")),
        (None, Some(trouble)) => starting(&format!("does not start: {}", trouble.message)),
        (None, None) => starting("is starting"),
    }
}
