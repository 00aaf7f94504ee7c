//! The server's pod. Pure.

use api::ReconcileReason;
use api::sample_db::SampleDBReason;
use runtime::cache::View;
use runtime::plan::{Delete, DryRun, Effect};
use runtime::views::{Container, Pod, Trouble};

use super::{Step, silence};
use crate::plan::objects::{self, PARAMETERS, TEMPLATE};
use crate::plan::wish::Wish;
use crate::plan::{Observed, Words, names, placement, storage, unlabeled};
use crate::snapshot::plan::is_being_taken;

/// The server's pod: replaced if it is not as wished, else waited for.
pub(in crate::plan) fn server(observed: &Observed, wish: &Wish) -> Option<Step> {
    let name = names::pod(&observed.db);
    let Some(pod) = observed.pod() else {
        return Some(match observed.taken.contains(&name) {
            true => Step::stuck(ReconcileReason::NameTaken, unlabeled::name_taken(&name)),
            false => Step::wait(SampleDBReason::ServerStarting, format!("waiting for the pod {name}")),
        });
    };
    if pod.meta.deleting {
        let message = format!("waiting until the pod {name} is gone, and another comes");
        return Some(Step::wait(SampleDBReason::ServerStarting, message));
    }
    let running = pod.running.as_deref()?;
    let has = |annotation: &str, wanted: &str| running.annotations.get(annotation).map(String::as_str) == Some(wanted);
    if !has(TEMPLATE, &objects::template(observed, wish)) {
        let step = restart(observed, "the spec says something else of its pod");
        let first = placement::before_restart(observed, wish).filter(|_| matches!(step, Step::Take(..)));
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
    let trouble = silence::trouble(pod);
    if trouble.is_some() && !has(PARAMETERS, &objects::parameters(&observed.db)) {
        return Some(restart(observed, "the spec has other parameters"));
    }
    if let Some((reason, message)) = lost(pod) {
        return Some(Step::stuck(reason, message));
    }
    if let Some(step) = silence::unready(observed, pod) {
        return Some(step);
    }
    Some(match trouble {
        // A manager that renders it otherwise may have mended what it does not start with.
        Some(trouble) if trouble.lasting && is_outdated(observed, pod) => {
            restart(observed, &format!("it does not start ({}), and there is another way to start it", trouble.message))
        }
        Some(trouble) if trouble.lasting && storage::has_grown(observed, wish) => {
            restart(observed, &format!("its volume was full, and has grown ({})", trouble.message))
        }
        Some(trouble) if trouble.lasting => {
            Step::stuck(SampleDBReason::ServerFails, format!("the server does not start: {}", cause(pod, trouble)))
        }
        Some(trouble) => {
            Step::wait(SampleDBReason::ServerStarting, format!("the server does not start: {}", trouble.message))
        }
        None => Step::wait(SampleDBReason::ServerStarting, "waiting for the server to accept connections".to_owned()),
    })
}

/// Another pod in place of one that has failed for good.
fn failed(observed: &Observed) -> Option<Step> {
    let why = observed.failed.as_ref()?;
    Some(restart(observed, &format!("its pod has failed, and is not started again by itself ({why})")))
}

/// Another pod, as the present one, in place of one that has failed, or does not answer any more.
fn recovered(observed: &Observed, pod: &Pod) -> Option<Step> {
    failed(observed).or_else(|| silence::unready(observed, pod)).filter(|step| matches!(step, Step::Take(..)))
}

/// Whether the StatefulSet would make another pod now.
fn is_outdated(observed: &Observed, pod: &Pod) -> bool {
    let revision = pod.running.as_ref().and_then(|running| running.labels.get("controller-revision-hash"));
    let Some((server, revision)) = observed.server.ours().zip(revision) else { return false };
    let status = &server.status;
    let current = status.observed_generation >= server.meta.generation && !status.update_revision.is_empty();
    current && status.update_revision != *revision
}

/// The server is started again: not while a backup is taken of it, unless it does not serve anyway.
pub(in crate::plan) fn restart(observed: &Observed, why: &str) -> Step {
    let Some(pod) = observed.pod() else {
        return Step::wait(SampleDBReason::ServerStarting, "waiting for the pod".to_owned());
    };
    // No other pod could use the claim.
    let claim = observed.db.status.storage.claim.as_deref().and_then(|name| observed.claim(name));
    if let Some(claim) = claim.filter(|claim| claim.meta.deleting) {
        let name = &claim.meta.key.name;
        let message = format!("{why}; that cannot be: the claim {name} is being deleted");
        return Step::stuck(SampleDBReason::ClaimTerminating, message);
    }
    let taken = observed.snapshots.iter().find(|snapshot| is_being_taken(&snapshot.status));
    if let Some(snapshot) = taken.filter(|_| observed.is_ready()) {
        let name = &snapshot.meta.key.name;
        let message = format!("{why}; that waits until the snapshot {name} has been taken");
        return Step::wait(SampleDBReason::ServerRestarting, message);
    }
    // Its controller would make the next pod as it last read how.
    if observed.server.ours().is_some_and(|server| server.status.observed_generation < server.meta.generation) {
        return Step::wait(SampleDBReason::ServerRestarting, format!("{why}; its controller has yet to read how"));
    }
    // One that serves is not deleted for one that could not be created.
    match &observed.replacement {
        DryRun::Accepted => {}
        DryRun::Rejected(said) => {
            let message = format!(
                "{why}, but the API server rejects the new pod, so the present one stays: {said}; correct the spec, or the \
                 quota or policy that rejects it"
            );
            return Step::stuck(SampleDBReason::PodRefused, message);
        }
        DryRun::Unknown(said) => {
            let message = format!("{why}; waiting for the API server to say whether it takes the new pod: {said}");
            return Step::wait(SampleDBReason::ServerRestarting, message);
        }
    }
    let delete = Delete::of(Pod::KIND, &pod.meta);
    Step::take(Effect::Delete(delete), SampleDBReason::ServerRestarting, &format!("starting the server again: {why}"))
}

/// Why the pod that is as wished has ended at least once, if it has.
pub(in crate::plan) fn ended(observed: &Observed, wish: &Wish) -> Option<String> {
    let pod = observed.pod().filter(|pod| !pod.meta.deleting)?;
    let made = pod.running.as_deref()?.annotations.get(TEMPLATE)?;
    let current = *made == objects::template(observed, wish);
    failure(pod).filter(|_| current).map(|(_, why)| format!("the server does not start: {why}"))
}

/// How the server fares that is to follow.
pub(in crate::plan) enum Follows {
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
pub(in crate::plan) fn follows(observed: &Observed, wish: &Wish) -> Follows {
    let name = names::pod_of(&names::upgrade_server(&observed.db, wish.major));
    let starting = |why: &str| Follows::Starting(format!("the pod {name} of the new version {why}"));
    let Some(pod) = observed.pod_named(&name).filter(|pod| !pod.meta.deleting) else {
        return match observed.taken.contains(&name) {
            true => Follows::Starting(unlabeled::name_taken(&name)),
            false => starting("is yet to come"),
        };
    };
    let Some(running) = pod.running.as_deref() else { return starting("is yet to start") };
    if running.annotations.get(TEMPLATE) != Some(&objects::template(observed, wish)) {
        return Follows::Failing("the spec says something else of the server's pod than when it began".to_owned());
    }
    if let (true, Some(address)) = (running.ready, &running.ip) {
        let said = running.container("prepare").and_then(Words::of_container);
        return Follows::Ready { address: address.to_string(), room: said.and_then(|words| words.said.free_bytes) };
    }
    match (failure(pod), silence::trouble(pod)) {
        (said, Some(trouble)) if trouble.lasting => {
            let why = said.map_or_else(|| trouble.message.clone(), |(_, why)| why);
            Follows::Failing(format!("the server of the new version does not start: {why}"))
        }
        (Some((_, why)), _) => starting(&format!("does not start: {why}")),
        (None, Some(trouble)) => starting(&format!("does not start: {}", trouble.message)),
        (None, None) => starting("is starting"),
    }
}

/// Why the server does not run, in words: what killed it, before what it said last.
pub(in crate::plan) fn cause(pod: &Pod, trouble: &Trouble) -> String {
    if trouble.message.contains("OOMKilled") {
        return "it used more memory than resources.limits.memory and was killed (OOMKilled): raise that".to_owned();
    }
    failure(pod).map_or_else(|| trouble.message.clone(), |(_, said)| said)
}

/// Why the server ended the last time, if it has been started again since.
pub(in crate::plan) fn said_last(pod: &Pod) -> Option<String> {
    let server = pod.running.as_ref()?.container(objects::SERVER)?;
    Words::of_container(server)?.failure().map(|(_, why)| why)
}

/// What the init step, or the server, last failed with; it may be trying again. What it has come up after is past.
fn failure(pod: &Pod) -> Option<(String, String)> {
    let running = pod.running.as_deref()?;
    let has_failed = |of: &&Container| of.ended.as_ref().is_some_and(|ended| ended.code != 0);
    let failed = running.containers.iter().filter(has_failed).find(|of| !silence::has_come_up(running, of))?;
    let words = Words::of_container(failed)?;
    words.failure().map(|(reason, message)| (reason.to_owned(), message))
}

/// What only a person can mend of the data.
fn lost(pod: &Pod) -> Option<(SampleDBReason, String)> {
    const OF_DATA: [SampleDBReason; 4] = [
        SampleDBReason::DataMissing,
        SampleDBReason::ForeignData,
        SampleDBReason::WrongMajor,
        SampleDBReason::DataCorrupt,
    ];
    let (reason, message) = failure(pod)?;
    let reason = OF_DATA.into_iter().find(|of| of.as_str() == reason)?;
    Some((reason, format!("{message}; nothing is made anew over it")))
}
