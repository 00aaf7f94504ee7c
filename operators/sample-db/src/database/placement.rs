//! Pure: whether the pod that is to replace the server's would start: the scheduler and the kubelets say so of a Job's pod with
//! the same placement, before the present one is deleted.

use std::sync::Arc;

use api::sample_db::SampleDBReason;
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;
use runtime::job;
use runtime::plan::{Delete, Effect};
use runtime::pod::beside;
use runtime::projections::{Job, JobEnd, Pod, Running};
use serde_json::Value;

use super::objects::{self, TEMPLATE};
use super::observed::{Observed, Placement, Present};
use super::pinned::Pinned;
use super::step::NextStep;
use crate::operand::job_result::Words;
use crate::operand::scheduling::{self, PLACEMENT};
use crate::operand::{database_state, names};

/// For how long the trial's pod is waited for. A quota that has no room for it beside the present one may have it once that is gone.
const NO_POD: SignedDuration = SignedDuration::from_secs(60);

/// What is known of the pod that is to replace the server's; nothing if a trial's pod has yet to be made, for which the present pod is
/// to be read.
#[must_use]
pub fn placement(observed: &Observed, now: Timestamp) -> Option<Placement> {
    let Some(wanted) = wanted(observed) else { return Some(Placement::Proven) };
    let [first, whole] = names::trial_jobs(&observed.db);
    match tried(observed, &first, &wanted, now)? {
        // There nothing is free of what the present pod has.
        Placement::Proven if is_elsewhere(observed, &first, &wanted) => tried(observed, &whole, &wanted, now),
        known => Some(known),
    }
}

/// What has come of one trial; nothing if it has yet to begin.
fn tried(observed: &Observed, name: &str, wanted: &str, now: Timestamp) -> Option<Placement> {
    let job = observed.job(name)?;
    if job.meta.deleting || !is_of(job, wanted) {
        return Some(Placement::Trying(format!("waiting for an earlier Job {name} to be deleted")));
    }
    let pods = pods_of(observed, wanted);
    Some(match (&job.end, job::last_end(&pods, name)) {
        (Some(JobEnd::Complete), _) => Placement::Proven,
        (None, Some(ended)) if ended.code == 0 => Placement::Proven,
        (Some(JobEnd::Failed { message, .. }), ended) => {
            Placement::Refused(Words::why(ended.map(Words::of).as_ref(), message))
        }
        (None, _) => match job::diagnosis(&pods, name) {
            Some(trouble) if trouble.permanent || trouble.is_homeless() => Placement::Refused(trouble.message.clone()),
            Some(trouble) => Placement::Trying(format!("the Job {name} tries how: {}", trouble.message)),
            None if !job::has_pod(&pods, name) && is_late(job, now) => Placement::Proven,
            None => Placement::Trying(format!("the Job {name} tries whether such a pod starts")),
        },
    })
}

/// The pods of trials of that placement: those of an earlier one may be there for as long as it takes to remove them.
fn pods_of(observed: &Observed, placement: &str) -> Vec<Arc<Pod>> {
    let mark = scheduling::mark(placement);
    let has = |pod: &Pod| pod.running.as_ref().is_some_and(|running| running.labels.get(PLACEMENT) == Some(&mark));
    observed.pods.iter().filter(|pod| has(pod)).cloned().collect()
}

/// Whether a trial's pod has run on another node than the present pod's, as far as that can be told.
fn is_elsewhere(observed: &Observed, job: &str, placement: &str) -> bool {
    let node = |pod: &Pod| pod.running.as_deref().and_then(|running| running.node.clone());
    let present = observed.pod().and_then(node);
    let tried = pods_of(observed, placement).iter().filter(|pod| job::is_of(pod, job)).find_map(|pod| node(pod));
    present.zip(tried).is_some_and(|(present, tried)| present != tried)
}

/// What follows from the present pod, as it was read, for a trial that is yet to begin.
///
/// None is made if its pod might be kept from the present one's node, by required anti-affinity.
#[must_use]
pub fn beside(observed: &Observed, pod: &Value) -> Placement {
    let Some(mut pod) = beside::Present::of(pod, names::SERVER) else {
        return Placement::Trying("waiting for the server's pod".to_owned());
    };
    if pod.repels(&objects::trial_labels(&observed.db)) {
        return Placement::Proven;
    }
    let [first, _] = names::trial_jobs(&observed.db);
    let whole = wanted(observed).is_some_and(|wanted| observed.job(&first).is_some_and(|job| is_of(job, &wanted)));
    if whole {
        pod.requests.clear();
    }
    Placement::Due(Box::new(Present { pod, whole }))
}

/// What comes before a server's pod is replaced by one that the spec says something else of.
pub(super) fn before_restart(observed: &Observed, pinned: &Pinned) -> Option<NextStep> {
    const WHY: &str = "the spec says something else of the server's pod";
    match &observed.placement {
        Placement::Proven => None,
        Placement::Due(present) => {
            let create = Effect::Create(objects::trial(observed, pinned, present));
            let message = format!("{WHY}: trying whether such a pod starts, before the present one is deleted");
            Some(NextStep::Do(vec![create], SampleDBReason::ServerRestarting, message))
        }
        Placement::Trying(how) => Some(NextStep::wait(SampleDBReason::ServerRestarting, format!("{WHY}; {how}"))),
        Placement::Refused(why) => {
            let message = format!(
                "{WHY}, but such a pod does not start, so the present one stays: {why}; correct the spec, or make the \
                 cluster such that it does"
            );
            Some(NextStep::stuck(SampleDBReason::PodRefused, message))
        }
    }
}

/// A trial that is needed no longer, because the spec says something else by now, or the pod has it, is ended.
pub(super) fn end_of_trial(observed: &Observed) -> Option<NextStep> {
    let mut jobs = trials(observed).filter(|job| !job.meta.deleting).peekable();
    // Most databases have none, and then nothing is rendered.
    jobs.peek()?;
    let wanted = wanted(observed);
    let job = jobs.find(|job| !wanted.as_ref().is_some_and(|wanted| is_of(job, wanted)))?;
    let delete = Effect::Delete(Delete::of(Job::KIND, &job.meta));
    Some(NextStep::Do(vec![delete], SampleDBReason::ServerRestarting, format!("ending the Job {}", job.meta.key.name)))
}

/// The placement that is to be tried, if one is: it differs from that of a pod that serves, or may yet, or did when the trial began.
/// While nobody may write, nothing is tried, and the placement stays that of the present pod.
fn wanted(observed: &Observed) -> Option<String> {
    let db = &*observed.db;
    observed.server.owned().filter(|_| db.status.initialization.data_created_at.is_some())?;
    if db.meta.deleting || database_state::shuts_out(db) {
        return None;
    }
    let placement = scheduling::placement(&db.spec.scheduling);
    let begun = trials(observed).any(|job| is_of(job, &placement));
    let differs = |running: &Running| {
        let has = |key: &str, value: &str| running.annotations.get(key).is_some_and(|of| of == value);
        let same = Pinned::of(observed).is_ok_and(|pinned| has(TEMPLATE, &objects::template(observed, &pinned)));
        !same && !has(PLACEMENT, &placement)
    };
    let needed = match observed.pod().and_then(|pod| Some((pod, pod.running.as_deref()?))) {
        Some((pod, running)) => differs(running) && (begun || pod.diagnosis.is_none()),
        None => begun,
    };
    needed.then_some(placement)
}

/// The Jobs of trials that there are, of whichever placement.
fn trials(observed: &Observed) -> impl Iterator<Item = &Job> {
    names::trial_jobs(&observed.db).into_iter().filter_map(|name| observed.job(&name))
}

fn is_of(job: &Job, placement: &str) -> bool {
    job.labels.get(PLACEMENT).is_some_and(|of| *of == scheduling::mark(placement))
}

fn is_late(job: &Job, now: Timestamp) -> bool {
    job.created.is_some_and(|created| now.duration_since(created) > NO_POD)
}
