//! Pure: whether a pod as the spec asks starts: one of its own finds out, beside the present one, before a member that is well
//! gives that one up.
//!
//! Only the scheduler and kubelets can tell whether there is a node with such labels, with that much room, or whether what a
//! variable refers to is there.

use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};
use runtime::plan::Create;
use runtime::pod::beside;
use runtime::projections::{Pod, Running};
use serde_json::Value;

use super::membership::{Step, outdated};
use super::objects::{self, ETCD, MEMBER, PLACEMENT};
use super::roster::{Node, Roster};
use super::wish::Wish;
use super::{Observed, names, tried};

pub use super::observed::Beside;
use crate::EtcdCluster;

/// How old a pod has to be that a kubelet would not start, or has ended, before another one is made.
const ANEW: SignedDuration = SignedDuration::from_mins(10);

/// What is known of the pod that a member would get.
#[derive(Debug, PartialEq, Eq)]
enum Placement {
    /// One like that has started; or none can be made.
    Proven,
    /// None has been made yet.
    Due {
        /// Whether it is to ask for all that the member does.
        whole: bool,
    },
    /// One says nothing of this, or nothing any more.
    Useless,
    /// Not yet whether it would start: why.
    Trying(String),
    /// It would not start now: why.
    Refused(String),
    /// Nor would any other of these images: what is told of that.
    Unusable(Step),
    /// One is on its way out, and its node does not remove it: what is told of that.
    Stranded(String),
}

/// Takes the pods of trials from among the members'.
#[must_use]
pub fn take(cluster: &EtcdCluster, pods: &mut Vec<Arc<Pod>>) -> Vec<Arc<Pod>> {
    let names = [false, true].map(|whole| names::trial(cluster, whole));
    let (trials, members) =
        std::mem::take(pods).into_iter().partition(|pod| names.iter().any(|name| **name == *pod.meta.key.name));
    *pods = members;
    trials
}

/// Whether a member's pod must not be given up before another one like the wished has started: its own was made otherwise; and nobody
/// else's with that placement serves, or the others have no quorum meanwhile.
pub(super) fn is_asked(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, wish: &Wish) -> bool {
    let placement = objects::placement(&observed.cluster);
    let has = |node: &Node<'_>| node.annotation(PLACEMENT) == Some(placement.as_str());
    if !outdated::takes_other_pod(node, wish) || has(node) {
        return false;
    }
    let serving = || roster.others(node).filter(|other| other.serves_on());
    let holds = serving().count() > roster.voters().count() / 2;
    !holds || !serving().any(has)
}

/// What comes before `node` gives up its pod.
pub(super) fn step(observed: &Observed, node: &Node<'_>, wish: &Wish, now: Timestamp) -> Option<Step> {
    const WAITS: &str = "before a member gives up its pod for one as the spec asks";
    match placement(observed, node, wish, now) {
        Placement::Proven => None,
        Placement::Due { whole } => Some(Step::Try { member: node.name.clone(), whole }),
        Placement::Useless => Some(Step::DropTrials),
        Placement::Trying(how) => Some(Step::wait(EtcdClusterReason::RestartingMember, format!("{WAITS}, {how}"))),
        Placement::Unusable(told) => Some(told),
        Placement::Stranded(why) => Some(Step::stuck(EtcdClusterReason::PodRefused, why)),
        Placement::Refused(why) => {
            let message = format!(
                "a pod as the spec asks does not start, so member {} keeps the one that it has: {why}; correct spec.pod, or \
                 set it back, or make the cluster such that it starts",
                node.name
            );
            Some(Step::stuck(EtcdClusterReason::PodRefused, message))
        }
    }
}

/// Removes the pods of trials that nothing waits for.
pub(super) fn clear(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let is_needed = |trial: &Pod| {
        let mut voters = roster.voters();
        voters.any(|node| is_of(observed, trial, node, wish) && is_asked(observed, roster, node, wish))
    };
    left(observed).any(|trial| !is_needed(trial)).then_some(Step::DropTrials)
}

/// Removes all of them.
pub(super) fn drop(observed: &Observed) -> Option<Step> {
    left(observed).next().map(|_| Step::DropTrials)
}

/// Removes those that keep the volume of a member without a pod on their node: one that is attached to a node stays there as long as
/// a pod of that node names it, started or not.
pub(super) fn release(observed: &Observed, member: &str) -> Option<Step> {
    left(observed).any(|trial| annotation(trial, MEMBER) == Some(member)).then_some(Step::DropTrials)
}

/// Those that are not about to go.
pub(super) fn left(observed: &Observed) -> impl Iterator<Item = &Pod> {
    observed.trials.iter().map(|trial| &**trial).filter(|trial| !trial.meta.deleting)
}

/// What follows from a member's present pod, as it was read, for a trial that is yet to begin; nothing if it cannot be understood.
#[must_use]
pub fn beside(cluster: &EtcdCluster, pod: &Value) -> Option<Beside> {
    let present = beside::Present::of(pod, ETCD)?;
    let repelled = present.repels(&objects::trial_labels(cluster));
    Some(if repelled { Beside::Impossible } else { Beside::Possible(Box::new(present)) })
}

/// The pod of a trial, if the present one is known.
pub(super) fn pod(observed: &Observed, wish: &Wish, member: &str, whole: bool) -> Option<Create> {
    match &observed.beside {
        Some(Beside::Possible(present)) => Some(objects::trial(observed, wish, member, present, whole)),
        _ => None,
    }
}

/// What is known of the pod that `node` would get.
fn placement(observed: &Observed, node: &Node<'_>, wish: &Wish, now: Timestamp) -> Placement {
    match tried(observed, false, node, wish, now) {
        // There nothing is free of what the present pod has.
        Placement::Proven if is_elsewhere(observed, node) => tried(observed, true, node, wish, now),
        known => known,
    }
}

fn trial<'a>(observed: &'a Observed, name: &str) -> Option<&'a Pod> {
    observed.trials.iter().map(|trial| &**trial).find(|trial| *trial.meta.key.name == *name)
}

/// Whether the first trial's pod has run on another node than the member does.
fn is_elsewhere(observed: &Observed, member: &Node<'_>) -> bool {
    let place = |running: &Running| running.node.clone();
    let tried = trial(observed, &names::trial(&observed.cluster, false))
        .and_then(|trial| trial.running.as_deref())
        .and_then(place);
    tried.zip(member.running().and_then(place)).is_some_and(|(tried, present)| tried != present)
}

/// What has come of one trial: of that which asks for all that the member does, or of the first.
fn tried(observed: &Observed, whole: bool, node: &Node<'_>, wish: &Wish, now: Timestamp) -> Placement {
    let name = names::trial(&observed.cluster, whole);
    let Some(trial) = trial(observed, &name) else {
        let impossible = observed.beside == Some(Beside::Impossible);
        return if impossible { Placement::Proven } else { Placement::Due { whole } };
    };
    if trial.meta.deleting && tried::is_overdue(trial, now) {
        return Placement::Stranded(stranded(observed, trial, node));
    }
    if trial.meta.deleting {
        return Placement::Trying(format!("waiting for the earlier pod {name} to be deleted"));
    }
    if !is_of(observed, trial, node, wish) {
        return Placement::Useless;
    }
    let running = trial.running.as_deref();
    let ended = running.and_then(tried::ended);
    let failure = running.filter(|running| running.over).map(|running| match (&running.failure, ended) {
        (Some(failure), _) => failure.to_string(),
        (None, Some((program, ended))) => tried::how(program, ended),
        (None, None) => "it has ended".to_owned(),
    });
    let is_killed = ended.is_none_or(|(program, ended)| tried::is_of_no_account(program, ended));
    let unusable = |why: &str| Placement::Unusable(tried::unavailable(observed, trial, wish, why));
    // Not clock::lasted: where this clock is behind, each trial would be repeated as soon as its pod has failed.
    let old = || running.and_then(|running| running.created).is_none_or(|since| now.duration_since(since) >= ANEW);
    match (ended, &trial.diagnosis) {
        (Some((_, ended)), _) if ended.code == 0 => Placement::Proven,
        // What the kubelet has ended it for, or would not start it for, may be otherwise by now; so may what the agent has ended with,
        // which no spec corrects.
        _ if failure.is_some() && (is_killed || tried::is_of_agent(trial)) && old() => Placement::Useless,
        (Some((program, ended)), _) if !is_killed => unusable(&tried::how(program, ended)),
        (_, Some(trouble)) if trouble.is_of_image() => unusable(&trouble.message),
        (_, Some(trouble)) if trouble.permanent || trouble.is_homeless() => Placement::Refused(trouble.message.clone()),
        _ if let Some(failure) = failure => Placement::Refused(failure),
        (_, Some(trouble)) => Placement::Trying(format!("the pod {name} tries how: {}", trouble.message)),
        (_, None) => Placement::Trying(format!("the pod {name} tries whether one starts")),
    }
}

/// What to do about a trial whose pod its node does not remove. Its name is taken for as long as it is there, and nothing that it has is
/// needed, so that it may be removed by force.
fn stranded(observed: &Observed, trial: &Pod, node: &Node<'_>) -> String {
    let (namespace, name) = (&observed.cluster.meta.key.namespace, &trial.meta.key.name);
    let place = trial.running.as_ref().and_then(|running| running.node.as_deref()).unwrap_or("that it is on");
    format!(
        "pod {name}, which is to try whether a pod as the spec asks starts, is not removed by node {place}, so member {} keeps the pod \
         that it has: kubectl delete pod -n {namespace} {name} --force",
        node.name
    )
}

/// Whether a trial is of the pod that `node` would get.
fn is_of(observed: &Observed, trial: &Pod, node: &Node<'_>, wish: &Wish) -> bool {
    annotation(trial, MEMBER) == Some(&node.name)
        && objects::tries(trial, &observed.cluster, wish, Some(&observed.agent_image))
}

fn annotation<'t>(trial: &'t Pod, key: &str) -> Option<&'t str> {
    trial.running.as_ref()?.annotations.get(key).map(String::as_str)
}
