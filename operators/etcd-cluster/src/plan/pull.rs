//! Whether the images that members are to run can be had: a pod of its own finds out, beside a member, before the first healthy
//! member gives its process up for etcd's image, or its pod for one with the agent's, which is that of the manager by now. Pure.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use runtime::plan::Create;
use runtime::views::{Ended, Pod, Running};

use super::membership::{Step, rolling};
use super::objects::{self, AGENT, ETCD, WAIT};
use super::roster::{Node, Roster};
use super::wish::Wish;
use super::{Observed, names, placement};
use crate::EtcdCluster;

/// How long a kubelet takes at most to have an image pulled and etcd tell its version, unless it says what is wrong.
const START: SignedDuration = SignedDuration::from_mins(10);
/// The same to remove a pod, after the time that the pod has been given for that.
const REMOVAL: SignedDuration = SignedDuration::from_mins(1);

/// Exit codes of a process that was killed, as those of an evicted pod are: SIGKILL, and SIGTERM.
pub(super) const KILLED: [i32; 2] = [137, 143];

/// What the check has come to.
#[derive(Debug, PartialEq, Eq)]
enum Check {
    /// The images can be had, or that cannot be known.
    Passed,
    /// The check has yet to begin.
    Missing,
    /// The check is under way.
    Runs,
    /// That one of them is of no use.
    Failed(Step),
}

/// Takes the pod of the check from among the members'.
#[must_use]
pub fn take(cluster: &EtcdCluster, pods: &mut Vec<Arc<Pod>>) -> Option<Arc<Pod>> {
    let name = names::pull(cluster);
    let place = pods.iter().position(|pod| *pod.meta.key.name == *name)?;
    Some(pods.swap_remove(place))
}

/// What comes before `node` may get the wished image.
pub(super) fn step(
    observed: &Observed,
    roster: &Roster<'_>,
    node: &Node<'_>,
    wish: &Wish,
    now: Timestamp,
) -> Option<Step> {
    if placement::is_asked(observed, roster, node, wish) {
        let step = placement::step(observed, node, wish, now);
        // The pod that tries the placement is of that image.
        if step.is_some() || !observed.trials.is_empty() {
            return step;
        }
    }
    match check(observed, roster, node, wish, now) {
        Check::Passed => None,
        Check::Missing => Some(Step::Pull { beside: node.name.clone() }),
        Check::Runs => {
            let of_another = observed
                .pull
                .as_ref()
                .is_some_and(|pull| !objects::tries(pull, &observed.cluster, wish, agent(observed, node, wish)));
            let agents = roster.nodes.iter().any(|node| runs(node, &wish.image()));
            let image = if agents { observed.agent_image.to_string() } else { wish.image() };
            let waits = || Step::wait("PullingImage", format!("waiting to learn whether image {image} can be pulled"));
            Some(drop(observed).filter(|_| of_another).unwrap_or_else(waits))
        }
        Check::Failed(told) => Some(told),
    }
}

/// The agent's image, if a member is to get it: not with another image in the pod that it has.
fn agent<'o>(observed: &'o Observed, node: &Node<'_>, wish: &Wish) -> Option<&'o str> {
    Some(&*observed.agent_image).filter(|_| !rolling::keeps_its_pod(node, wish))
}

/// What is told of an image that is of no use, by the pod that has tried it.
pub(super) fn unavailable(observed: &Observed, tried: &Pod, wish: &Wish, why: &str) -> Step {
    let agent = tried.running.as_ref().and_then(|running| running.container(AGENT));
    let message = match agent.is_some_and(|agent| agent.ended.as_ref().is_none_or(|ended| ended.code != 0)) {
        true => format!(
            "image {} cannot be used, so no member has been changed: {why}; it is the manager's own image, from which every new \
             pod takes its agent: make it available to the nodes, with spec.pod.imagePullSecrets if the registry asks for a Secret",
            observed.agent_image
        ),
        false => format!(
            "image {} cannot be used, so no member has been changed: {why}; correct spec.version or spec.repository, or set it \
             back",
            wish.image()
        ),
    };
    Step::Stuck("ImageUnavailable", message)
}

/// Removes the pod of a check that nothing waits for: it was of another image, or members run that image by now.
pub(super) fn clear(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let waits = |node: &Node<'_>| !runs(node, &wish.image()) || rolling::is_to_change(observed, roster, node, wish);
    let is_of_these = |pull: &Pod| {
        [None, Some(&*observed.agent_image)]
            .into_iter()
            .any(|agent| objects::tries(pull, &observed.cluster, wish, agent))
    };
    let needed = roster.voters().any(waits) && observed.pull.as_deref().is_some_and(is_of_these);
    drop(observed).filter(|_| !needed)
}

/// Removes the pod of the check.
pub(super) fn drop(observed: &Observed) -> Option<Step> {
    observed.pull.as_ref().filter(|pull| !pull.meta.deleting).map(|_| Step::DropPull)
}

fn check(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, wish: &Wish, now: Timestamp) -> Check {
    let agent = agent(observed, node, wish);
    let is_there = |agent| roster.nodes.iter().any(|node| has_run(node, agent));
    if roster.nodes.iter().any(|node| runs(node, &wish.image())) && agent.is_none_or(is_there) {
        return Check::Passed;
    }
    let Some(pull) = &observed.pull else {
        return if observed.pull_refused { Check::Passed } else { Check::Missing };
    };
    let is_current = !pull.meta.deleting && objects::tries(pull, &observed.cluster, wish, agent);
    let failed = |why: &str| Check::Failed(unavailable(observed, pull, wish, why));
    // What has been found out holds however long ago that was.
    match pull.running.as_deref().filter(|_| is_current).and_then(verdict) {
        Some(Ok(())) => return Check::Passed,
        Some(Err(why)) => return failed(&why),
        None => {}
    }
    match &pull.trouble {
        _ if is_overdue(pull, now) => Check::Passed,
        _ if !is_current => Check::Runs,
        Some(trouble) => failed(&trouble.message),
        None => Check::Runs,
    }
}

/// What the check has come to in a pod in which etcd has ended, or that has ended itself: why an image is of no use, if one is.
fn verdict(running: &Running) -> Option<Result<(), String>> {
    match ended(running).map(|(program, ended)| (program, ended.code)) {
        Some((_, 0)) => Some(Ok(())),
        // Evicted, or without room from the start: nothing has been found out.
        None if running.over => Some(Ok(())),
        Some((_, code)) if running.over && KILLED.contains(&code) => Some(Ok(())),
        Some((program, code)) => Some(Err(format!("{program} --version ends with exit code {code}"))),
        None => None,
    }
}

/// How etcd has ended in a pod that tries images, or the agent, after which etcd was not started.
pub(super) fn ended(running: &Running) -> Option<(&'static str, &Ended)> {
    let of = |program| Some((program, running.container(program)?.ended.as_ref()?));
    of(ETCD).or_else(|| of(AGENT).filter(|(_, ended)| ended.code != 0))
}

/// Whether nothing will come of the check: its node is gone, so that its kubelet neither starts nor removes the pod.
fn is_overdue(pull: &Pod, now: Timestamp) -> bool {
    let Some(running) = &pull.running else { return false };
    // Not clock::lasted: where this clock is behind, no image would be tried; and the time of a deletion is that of its end.
    let for_longer = |since: Option<Timestamp>, than| since.is_some_and(|since| now.duration_since(since) >= than);
    if pull.meta.deleting {
        return for_longer(running.deleted, REMOVAL);
    }
    pull.trouble.is_none() && for_longer(running.created, START)
}

/// Whether the kubelet reports that a member's etcd runs that image.
fn runs(node: &Node<'_>, image: &str) -> bool {
    node.container(ETCD).is_some_and(|etcd| etcd.running && *etcd.image == *image)
}

/// Whether a member's pod has the agent of an image. A runtime may name images otherwise; then a pod of its own finds out.
fn has_run(node: &Node<'_>, agent: &str) -> bool {
    node.container(WAIT).is_some_and(|wait| *wait.image == *agent && (wait.running || wait.ended.is_some()))
}

/// The pod of the check, on the node of the member that is the first to get the image.
pub(super) fn pod(observed: &Observed, roster: &Roster<'_>, wish: &Wish, beside: &str) -> Create {
    let member = roster.nodes.iter().find(|node| node.name == beside);
    let node = member.and_then(Node::running).and_then(|running| running.node.as_deref());
    let agent = member.and_then(|member| agent(observed, member, wish));
    objects::pull(&observed.cluster, wish, agent, node, observed.dictated_users)
}
