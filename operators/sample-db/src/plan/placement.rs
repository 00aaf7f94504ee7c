//! Whether the pod that is to replace the server's would start: the scheduler and the kubelets say so of a Job's pod with the same
//! placement, before the present one is deleted. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::cache::View;
use runtime::plan::{Delete, Effect};
use runtime::views::{Job, JobEnd, Running};
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
    /// What its server asks for, by resource.
    pub requests: BTreeMap<String, Quantity>,
    /// Whom it runs as.
    pub user: Option<i64>,
}

/// What is known of the pod that is to replace the server's; nothing if the trial's pod has yet to be made, for which the present pod is
/// to be read.
#[must_use]
pub fn placement(observed: &Observed, now: Timestamp) -> Option<Placement> {
    let Some(wanted) = wanted(observed) else { return Some(Placement::Proven) };
    let name = names::trial_job(&observed.db);
    let job = observed.job(&name)?;
    if job.meta.deleting || !is_of(job, &wanted) {
        return Some(Placement::Trying(format!("waiting until an earlier Job {name} is gone")));
    }
    let trouble = words::trouble(&observed.pods, &name);
    Some(match (&job.end, observed.words(&name)) {
        (Some(JobEnd::Complete), _) => Placement::Proven,
        (None, Some(words)) if words.code == 0 => Placement::Proven,
        (Some(JobEnd::Failed { message, .. }), words) => {
            let said = words.as_ref().and_then(Words::failure).map(|(_, why)| why);
            Placement::Refused(said.unwrap_or_else(|| message.clone()))
        }
        (None, _) => match trouble {
            Some(trouble) if trouble.lasting || trouble.is_homeless() => Placement::Refused(trouble.message.clone()),
            Some(trouble) => Placement::Trying(format!("the Job {name} tries how: {}", trouble.message)),
            None if !words::has_pod(&observed.pods, &name) && is_late(job, now) => Placement::Proven,
            None => Placement::Trying(format!("the Job {name} tries whether such a pod starts")),
        },
    })
}

/// What follows from the present pod, as it was read, for a trial that is yet to begin.
///
/// A pod that keeps others off its node may keep the trial's from it, too, and then none is made.
#[must_use]
pub fn beside(pod: &Value) -> Placement {
    let Ok(spec) = serde_json::from_value::<core::PodSpec>(pod["spec"].clone()) else {
        return Placement::Trying("waiting for the server's pod".to_owned());
    };
    let apart = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    if apart.and_then(|apart| apart.required_during_scheduling_ignored_during_execution.as_ref()).is_some() {
        return Placement::Proven;
    }
    let server = spec.containers.into_iter().find(|container| container.name == objects::SERVER);
    let requests = server.and_then(|server| server.resources).and_then(|resources| resources.requests);
    let user = spec.security_context.and_then(|context| context.run_as_user);
    Placement::Due(Box::new(Present { requests: requests.unwrap_or_default(), user }))
}

/// What comes before a server's pod is replaced by one that the spec says something else of.
pub(super) fn before_restart(observed: &Observed, wish: &Wish) -> Option<Step> {
    const WHY: &str = "the spec says something else of the server's pod";
    match &observed.placement {
        Placement::Proven => None,
        Placement::Due(present) => {
            let create = Effect::Create(objects::trial(observed, wish, present));
            let message = format!("{WHY}: trying whether such a pod starts, before the present one is deleted");
            Some(Step::Take(vec![create], "ServerRestarting", message))
        }
        Placement::Trying(how) => Some(Step::Wait("ServerRestarting", format!("{WHY}; {how}"))),
        Placement::Refused(why) => {
            let message = format!(
                "{WHY}, but such a pod does not start, so the present one stays: {why}; correct the spec, or make the \
                 cluster such that it does"
            );
            Some(Step::Stuck("PodRefused", message))
        }
    }
}

/// The trial that is needed no longer, because the spec says something else by now, or the pod has it, is ended.
pub(super) fn end_of_trial(observed: &Observed) -> Option<Step> {
    let job = observed.job(&names::trial_job(&observed.db)).filter(|job| !job.meta.deleting)?;
    if wanted(observed).is_some_and(|wanted| is_of(job, &wanted)) {
        return None;
    }
    let delete = Effect::Delete(Delete::of(Job::KIND, &job.meta));
    Some(Step::Take(vec![delete], "ServerRestarting", format!("ending the Job {}", job.meta.key.name)))
}

/// The placement that is to be tried, if one is: it differs from that of a pod that serves, or has when the trial
/// began. While nobody may write, nothing is tried: the way back takes no longer.
fn wanted(observed: &Observed) -> Option<String> {
    let db = &*observed.db;
    observed.server.ours().filter(|_| db.status.initialization.data_created_at.is_some())?;
    if db.meta.deleting || upgrade::shuts_out(db) {
        return None;
    }
    let placement = objects::placement(db);
    let begun = observed.job(&names::trial_job(db)).is_some_and(|job| is_of(job, &placement));
    let running = observed.pod().and_then(|pod| pod.running.as_deref());
    let differs = |running: &Running| {
        let has = |key: &str, value: &str| running.annotations.get(key).is_some_and(|of| of == value);
        let same = Wish::of(observed).is_ok_and(|wish| has(TEMPLATE, &objects::template(observed, &wish)));
        !same && !has(PLACEMENT, &placement)
    };
    let needed = match running {
        Some(running) => differs(running) && (begun || observed.is_ready()),
        None => begun,
    };
    needed.then_some(placement)
}

fn is_of(job: &Job, placement: &str) -> bool {
    job.labels.get(PLACEMENT).is_some_and(|of| *of == objects::mark(placement))
}

fn is_late(job: &Job, now: Timestamp) -> bool {
    job.created.is_some_and(|created| now.duration_since(created) > NO_POD)
}
