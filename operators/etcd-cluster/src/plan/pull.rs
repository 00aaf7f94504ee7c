//! Pure: whether the images that members are to run can be had: a pod of its own finds out, beside a member, before the first
//! healthy member gives its process up for etcd's image, or its pod for one with the agent's, which is that of the manager by
//! now.

use std::sync::Arc;

use api::condition_type::READY;
use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};
use runtime::plan::Create;
use runtime::projections::Pod;

use super::membership::{Step, outdated};
use super::objects::{self, ETCD, WAIT};
use super::roster::{Node, Roster};
use super::tried::{ended, has_lasted, how, is_not_started, is_of_agent, is_overdue, unavailable, verdict};
use super::wish::Wish;
use super::{Observed, names, placement};
use crate::EtcdCluster;

/// How long what the agent ended with is held against its image, which nobody can correct by the spec, before it is tried anew; and how
/// long after a container that could not be started.
const ANEW: SignedDuration = SignedDuration::from_mins(10);

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
    /// That it was of no use, or could not be started, some time ago, which may be otherwise by now.
    Old,
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
            let again = again(&observed.cluster, wish);
            let told = format!("checking whether image {image} can be pulled{again}");
            let waits = || Step::wait(EtcdClusterReason::PullingImage, told);
            Some(drop(observed).filter(|_| of_another).unwrap_or_else(waits))
        }
        Check::Failed(told) => Some(told),
        Check::Old => Some(Step::DropPull { again: true }),
    }
}

/// The agent's image, if a member is to get it: not with another image in the pod that it has.
fn agent<'o>(observed: &'o Observed, node: &Node<'_>, wish: &Wish) -> Option<&'o str> {
    Some(&*observed.agent_image).filter(|_| !outdated::keeps_its_pod(node, wish))
}

/// Removes the pod of a check that nothing waits for: it was of another image, or members run that image by now.
pub(super) fn clear(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let waits = |node: &Node<'_>| !runs(node, &wish.image()) || outdated::is_to_change(observed, roster, node, wish);
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
    observed.pull.as_ref().filter(|pull| !pull.meta.deleting).map(|_| Step::DropPull { again: false })
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
    let running = pull.running.as_deref().filter(|_| is_current);
    if let Some((program, ended)) = running.and_then(ended).filter(|(program, ended)| is_not_started(program, ended)) {
        return match has_lasted(pull, ANEW, now) {
            true => Check::Old,
            // A runtime that was too slow once has had another try by then.
            false if !again(&observed.cluster, wish).is_empty() => {
                failed(&format!("{}; {}", how(program, ended), is_tried_again(wish)))
            }
            false => Check::Runs,
        };
    }
    // What has been found out holds however long ago that was.
    match running.and_then(verdict) {
        Some(Ok(())) => return Check::Passed,
        Some(Err(_)) if is_of_agent(pull) && has_lasted(pull, ANEW, now) => return Check::Old,
        Some(Err(why)) => return failed(&why),
        None => {}
    }
    match &pull.diagnosis {
        _ if is_overdue(pull, now) => Check::Passed,
        _ if !is_current => Check::Runs,
        Some(trouble) => failed(&trouble.message),
        None => Check::Runs,
    }
}

/// What is told from the end of a first try on that has found out nothing.
pub(super) fn is_tried_again(wish: &Wish) -> String {
    format!("the pod that tries image {} is made anew every {} minutes", wish.image(), ANEW.as_mins())
}

/// That, after a semicolon, if Ready tells of it: of no earlier pod of the check is anything known but by that.
pub(super) fn again(cluster: &EtcdCluster, wish: &Wish) -> String {
    let told = is_tried_again(wish);
    let is_told = cluster.status.contract.condition(READY).is_some_and(|ready| ready.message.contains(&told));
    if is_told { format!("; {told}") } else { String::new() }
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
    objects::pull(&observed.cluster, wish, agent, node, observed.namespace_assigns_uids)
}
