//! Whether the pod that is to replace the server's would start: the scheduler and the kubelets say so of a Job's pod with the same
//! placement, before the present one is deleted. Pure.

use std::sync::Arc;

use api::sample_db::SampleDBReason;
use jiff::{SignedDuration, Timestamp};
use runtime::cache::View;
use runtime::plan::{Delete, Effect, beside};
use runtime::views::{Job, JobEnd, Pod, Running};
use serde_json::Value;

use super::objects::{self, PLACEMENT, TEMPLATE};
use super::steps::Step;
use super::wish::Wish;
use super::{Observed, Words, names, upgrade, words};

/// For how long the trial's pod is waited for. A quota that has no room for it beside the present one may have it once that is gone.
const NO_POD: SignedDuration = SignedDuration::from_secs(60);

/// What is known of the pod that is to replace the server's.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Placement {
    /// It has the placement of the present one, or a trial's pod has run with its own; or none can be made.
    #[default]
    Proven,
    /// The trial is yet to begin, beside this pod.
    Due(Box<Present>),
    /// Not yet whether it would start: why.
    Trying(String),
    /// It would not start now: why.
    Refused(String),
}

/// What is to be known of the present pod, for another one beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Present {
    /// Of the pod; without its requests, where another one has to ask for all that the spec does.
    pub pod: beside::Present,
    /// Whether a trial has run on another node, so that another one asks for all that the spec does.
    pub whole: bool,
}

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
        return Some(Placement::Trying(format!("waiting until an earlier Job {name} is gone")));
    }
    let pods = pods_of(observed, wanted);
    Some(match (&job.end, Words::of_job(&pods, name)) {
        (Some(JobEnd::Complete), _) => Placement::Proven,
        (None, Some(words)) if words.code == 0 => Placement::Proven,
        (Some(JobEnd::Failed { message, .. }), words) => {
            let said = words.as_ref().and_then(Words::failure).map(|(_, why)| why);
            Placement::Refused(said.unwrap_or_else(|| message.clone()))
        }
        (None, _) => match words::trouble(&pods, name) {
            Some(trouble) if trouble.lasting || trouble.is_homeless() => Placement::Refused(trouble.message.clone()),
            Some(trouble) => Placement::Trying(format!("the Job {name} tries how: {}", trouble.message)),
            None if !words::has_pod(&pods, name) && is_late(job, now) => Placement::Proven,
            None => Placement::Trying(format!("the Job {name} tries whether such a pod starts")),
        },
    })
}

/// The pods of trials of that placement: those of an earlier one may be there for as long as it takes to remove them.
fn pods_of(observed: &Observed, placement: &str) -> Vec<Arc<Pod>> {
    let mark = objects::mark(placement);
    let has = |pod: &Pod| pod.running.as_ref().is_some_and(|running| running.labels.get(PLACEMENT) == Some(&mark));
    observed.pods.iter().filter(|pod| has(pod)).cloned().collect()
}

/// Whether a trial's pod has run on another node than the present pod's, as far as that can be told.
fn is_elsewhere(observed: &Observed, job: &str, placement: &str) -> bool {
    let node = |pod: &Pod| pod.running.as_deref().and_then(|running| running.node.clone());
    let present = observed.pod().and_then(node);
    let tried = pods_of(observed, placement).iter().filter(|pod| words::is_of(pod, job)).find_map(|pod| node(pod));
    present.zip(tried).is_some_and(|(present, tried)| present != tried)
}

/// What follows from the present pod, as it was read, for a trial that is yet to begin.
///
/// None is made if its pod might be kept from the present one's node, by required anti-affinity.
#[must_use]
pub fn beside(observed: &Observed, pod: &Value) -> Placement {
    let Some(mut pod) = beside::Present::of(pod, objects::SERVER) else {
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
pub(super) fn before_restart(observed: &Observed, wish: &Wish) -> Option<Step> {
    const WHY: &str = "the spec says something else of the server's pod";
    match &observed.placement {
        Placement::Proven => None,
        Placement::Due(present) => {
            let create = Effect::Create(objects::trial(observed, wish, present));
            let message = format!("{WHY}: trying whether such a pod starts, before the present one is deleted");
            Some(Step::Take(vec![create], SampleDBReason::ServerRestarting, message))
        }
        Placement::Trying(how) => Some(Step::wait(SampleDBReason::ServerRestarting, format!("{WHY}; {how}"))),
        Placement::Refused(why) => {
            let message = format!(
                "{WHY}, but such a pod does not start, so the present one stays: {why}; correct the spec, or make the \
                 cluster such that it does"
            );
            Some(Step::stuck(SampleDBReason::PodRefused, message))
        }
    }
}

/// A trial that is needed no longer, because the spec says something else by now, or the pod has it, is ended.
pub(super) fn end_of_trial(observed: &Observed) -> Option<Step> {
    let mut jobs = trials(observed).filter(|job| !job.meta.deleting).peekable();
    // Most databases have none, and then nothing is rendered.
    jobs.peek()?;
    let wanted = wanted(observed);
    let job = jobs.find(|job| !wanted.as_ref().is_some_and(|wanted| is_of(job, wanted)))?;
    let delete = Effect::Delete(Delete::of(Job::KIND, &job.meta));
    Some(Step::Take(vec![delete], SampleDBReason::ServerRestarting, format!("ending the Job {}", job.meta.key.name)))
}

/// The placement that is to be tried, if one is: it differs from that of a pod that serves, or may yet, or did when the trial began.
/// While nobody may write, nothing is tried, and the placement stays that of the present pod.
fn wanted(observed: &Observed) -> Option<String> {
    let db = &*observed.db;
    observed.server.ours().filter(|_| db.status.initialization.data_created_at.is_some())?;
    if db.meta.deleting || upgrade::shuts_out(db) {
        return None;
    }
    let placement = objects::placement(&db.spec.scheduling);
    let begun = trials(observed).any(|job| is_of(job, &placement));
    let differs = |running: &Running| {
        let has = |key: &str, value: &str| running.annotations.get(key).is_some_and(|of| of == value);
        let same = Wish::of(observed).is_ok_and(|wish| has(TEMPLATE, &objects::template(observed, &wish)));
        !same && !has(PLACEMENT, &placement)
    };
    let needed = match observed.pod().and_then(|pod| Some((pod, pod.running.as_deref()?))) {
        Some((pod, running)) => differs(running) && (begun || pod.trouble.is_none()),
        None => begun,
    };
    needed.then_some(placement)
}

/// The Jobs of trials that there are, of whichever placement.
fn trials(observed: &Observed) -> impl Iterator<Item = &Job> {
    names::trial_jobs(&observed.db).into_iter().filter_map(|name| observed.job(&name))
}

fn is_of(job: &Job, placement: &str) -> bool {
    job.labels.get(PLACEMENT).is_some_and(|of| *of == objects::mark(placement))
}

fn is_late(job: &Job, now: Timestamp) -> bool {
    job.created.is_some_and(|created| now.duration_since(created) > NO_POD)
}
