//! Pure: whether the pod that is to replace the server's would start. The scheduler and the kubelets show it for a Job's pod with
//! the same placement, before the operator deletes the present one.

use std::sync::Arc;

use api::sample_db::SampleDBReason;
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;
use runtime::job;
use runtime::plan::{Delete, Effect};
use runtime::pod::trial_pod;
use runtime::projections::{Job, JobEnd, Pod, PodDetails};
use serde_json::Value;

use super::objects::{self, TEMPLATE};
use super::observed::{Observed, PlacementCheck, TrialInputs};
use super::pinned::Pinned;
use super::step::NextStep;
use crate::operand::scheduling::{self, PLACEMENT};
use crate::operand::{database_state, names};
use runtime::job::outcome::AgentOutcome;

/// How long to wait for the trial's pod. A quota without room for it next to the present one may have room once that is deleted.
const POD_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);

/// What is known about the pod that is to replace the server's; `None` if a trial has yet to start, for which the present pod
/// must be read.
#[must_use]
pub fn check_placement(observed: &Observed, now: Timestamp) -> Option<PlacementCheck> {
    let Some(wanted) = wanted(observed) else { return Some(PlacementCheck::Verified) };
    let [first, second] = names::trial_jobs(&observed.db);
    match tried(observed, &first, &wanted, now)? {
        // On another node, nothing of the present pod's resources becomes free.
        PlacementCheck::Verified if is_elsewhere(observed, &first, &wanted) => tried(observed, &second, &wanted, now),
        known => Some(known),
    }
}

/// The outcome of one trial; `None` if it has yet to start.
fn tried(observed: &Observed, name: &str, wanted: &str, now: Timestamp) -> Option<PlacementCheck> {
    let job = observed.job(name)?;
    if job.meta.deleting || !is_of(job, wanted) {
        return Some(PlacementCheck::Pending(format!("waiting for an earlier Job {name} to be deleted")));
    }
    let pods = pods_of(observed, wanted);
    Some(match (&job.end, job::last_end(&pods, name)) {
        (Some(JobEnd::Complete), _) => PlacementCheck::Verified,
        (None, Some(ended)) if ended.code == 0 => PlacementCheck::Verified,
        (Some(JobEnd::Failed { message, .. }), ended) => {
            PlacementCheck::Refused(AgentOutcome::failure_or(ended.map(AgentOutcome::of).as_ref(), message))
        }
        (None, _) => match job::diagnosis(&pods, name) {
            Some(diagnosis) if diagnosis.permanent || diagnosis.is_unschedulable() => {
                PlacementCheck::Refused(diagnosis.message.clone())
            }
            Some(diagnosis) => {
                PlacementCheck::Pending(format!("the Job {name} is testing such a pod: {}", diagnosis.message))
            }
            None if !job::has_pod(&pods, name) && is_late(job, now) => PlacementCheck::Verified,
            None => PlacementCheck::Pending(format!("the Job {name} is testing whether such a pod starts")),
        },
    })
}

/// The pods of trials of that placement: those of an earlier one may still be terminating.
fn pods_of(observed: &Observed, placement: &str) -> Vec<Arc<Pod>> {
    let mark = scheduling::placement_label(placement);
    let has = |pod: &Pod| pod.details.as_ref().is_some_and(|running| running.labels.get(PLACEMENT) == Some(&mark));
    observed.pods.iter().filter(|pod| has(pod)).cloned().collect()
}

/// Whether a trial's pod ran on another node than the present pod, as far as is known.
fn is_elsewhere(observed: &Observed, job: &str, placement: &str) -> bool {
    let node = |pod: &Pod| pod.details.as_deref().and_then(|running| running.node.clone());
    let present = observed.pod().and_then(node);
    let tried = pods_of(observed, placement).iter().filter(|pod| job::is_of(pod, job)).find_map(|pod| node(pod));
    present.zip(tried).is_some_and(|(present, tried)| present != tried)
}

/// Prepares a trial that has yet to start, from the present pod as it was read.
///
/// There is none if required anti-affinity might keep its pod off the present one's node.
#[must_use]
pub fn prepare_trial(observed: &Observed, pod: &Value) -> PlacementCheck {
    let Some(mut pod) = trial_pod::PresentPod::of(pod, names::SERVER) else {
        return PlacementCheck::Pending("waiting for the server's pod".to_owned());
    };
    if pod.repels(&objects::trial_labels(&observed.db)) {
        return PlacementCheck::Verified;
    }
    let [first, _] = names::trial_jobs(&observed.db);
    let requests_all =
        wanted(observed).is_some_and(|wanted| observed.job(&first).is_some_and(|job| is_of(job, &wanted)));
    if requests_all {
        pod.requests.clear();
    }
    PlacementCheck::Due(Box::new(TrialInputs { pod, requests_all }))
}

/// What must happen before a server's pod is replaced by one with a changed spec.
pub(super) fn check_before_restart(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    const WHY: &str = "the pod template changed";
    match &observed.placement {
        PlacementCheck::Verified => None,
        PlacementCheck::Due(present) => {
            let create = Effect::Create(objects::trial(observed, pinned, present));
            let message = format!("{WHY}: testing whether such a pod starts, before the present one is deleted");
            Some(NextStep::Do(vec![create], SampleDBReason::ServerRestarting, message))
        }
        PlacementCheck::Pending(how) => Some(NextStep::wait(SampleDBReason::ServerRestarting, format!("{WHY}; {how}"))),
        PlacementCheck::Refused(why) => {
            let message = format!(
                "{WHY}, but such a pod does not start, so the present one is kept: {why}; correct the spec, or the cluster"
            );
            Some(NextStep::blocked(SampleDBReason::PodRefused, message))
        }
    }
}

/// Deletes a trial that is obsolete, because the spec changed again or the pod has the placement.
pub(super) fn stop_obsolete_trial(observed: &Observed) -> Option<NextStep> {
    let mut jobs = trials(observed).filter(|job| !job.meta.deleting).peekable();
    // Most databases have no trial, and then nothing is rendered.
    jobs.peek()?;
    let wanted = wanted(observed);
    let job = jobs.find(|job| !wanted.as_ref().is_some_and(|wanted| is_of(job, wanted)))?;
    let delete = Effect::Delete(Delete::of(Job::KIND, &job.meta));
    Some(NextStep::Do(
        vec![delete],
        SampleDBReason::ServerRestarting,
        format!("deleting the Job {}", job.meta.key.name),
    ))
}

/// The placement to test, if there is one: it differs from that of a pod that serves, or may yet serve, or did when the trial
/// started. While clients are blocked, nothing is tested, and the placement stays that of the present pod.
fn wanted(observed: &Observed) -> Option<String> {
    let db = &*observed.db;
    observed.server.owned().filter(|_| db.status.initialization.data_created_at.is_some())?;
    if db.meta.deleting || database_state::blocks_clients(db) {
        return None;
    }
    let placement = scheduling::placement(&db.spec.scheduling);
    let begun = trials(observed).any(|job| is_of(job, &placement));
    let differs = |running: &PodDetails| {
        let has = |key: &str, value: &str| running.annotations.get(key).is_some_and(|of| of == value);
        let same = Pinned::of(observed).is_ok_and(|pinned| has(TEMPLATE, &objects::template(observed, &pinned)));
        !same && !has(PLACEMENT, &placement)
    };
    let needed = match observed.pod().and_then(|pod| Some((pod, pod.details.as_deref()?))) {
        Some((pod, running)) => differs(running) && (begun || pod.diagnosis.is_none()),
        None => begun,
    };
    needed.then_some(placement)
}

/// The Jobs of trials, of any placement.
fn trials(observed: &Observed) -> impl Iterator<Item = &Job> {
    names::trial_jobs(&observed.db).into_iter().filter_map(|name| observed.job(&name))
}

fn is_of(job: &Job, placement: &str) -> bool {
    job.labels.get(PLACEMENT).is_some_and(|of| *of == scheduling::placement_label(placement))
}

fn is_late(job: &Job, now: Timestamp) -> bool {
    job.created.is_some_and(|created| now.duration_since(created) > POD_TIMEOUT)
}
