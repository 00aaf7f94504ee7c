//! Whether the image that members are to run can be had: a pod of its own finds out, beside a member, before the first healthy
//! member gives its process up for that image. Pure.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use runtime::plan::Create;
use runtime::views::{Pod, Running};

use super::membership::Step;
use super::objects::{self, ETCD};
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
    /// The image can be had, or that cannot be known.
    Passed,
    /// The check has yet to begin.
    Missing,
    /// The check is under way.
    Runs,
    /// Why the image is of no use.
    Failed(String),
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
    let image = wish.image();
    match check(observed, roster, wish, now) {
        Check::Passed => None,
        Check::Missing => Some(Step::Pull { beside: node.name.clone() }),
        Check::Runs => {
            let of_another = observed.pull.as_ref().is_some_and(|pull| !is_of(pull, wish));
            let waits = || Step::wait("PullingImage", format!("waiting to learn whether image {image} can be pulled"));
            Some(drop(observed).filter(|_| of_another).unwrap_or_else(waits))
        }
        Check::Failed(why) => Some(unavailable(&image, &why)),
    }
}

/// What is told of an image that is of no use.
pub(super) fn unavailable(image: &str, why: &str) -> Step {
    let message = format!(
        "image {image} cannot be used, so no member has been changed: {why}; correct spec.version or spec.repository, or set \
         it back"
    );
    Step::Stuck("ImageUnavailable", message)
}

/// Removes the pod of a check that nothing waits for: it was of another image, or members run that image by now.
pub(super) fn clear(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let needed = roster.voters().any(|node| !runs(node, &wish.image()));
    let of_another = observed.pull.as_ref().is_some_and(|pull| !is_of(pull, wish));
    drop(observed).filter(|_| !needed || of_another)
}

/// Removes the pod of the check.
pub(super) fn drop(observed: &Observed) -> Option<Step> {
    observed.pull.as_ref().filter(|pull| !pull.meta.deleting).map(|_| Step::DropPull)
}

fn check(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: Timestamp) -> Check {
    if roster.nodes.iter().any(|node| runs(node, &wish.image())) {
        return Check::Passed;
    }
    let Some(pull) = &observed.pull else {
        return if observed.pull_refused { Check::Passed } else { Check::Missing };
    };
    let is_current = !pull.meta.deleting && is_of(pull, wish);
    // What has been found out holds however long ago that was.
    if let Some(verdict) = pull.running.as_deref().filter(|_| is_current).and_then(verdict) {
        return verdict;
    }
    match &pull.trouble {
        _ if is_overdue(pull, now) => Check::Passed,
        _ if !is_current => Check::Runs,
        Some(trouble) => Check::Failed(trouble.message.clone()),
        None => Check::Runs,
    }
}

/// What the check has come to in a pod in which etcd has ended, or that has ended itself.
fn verdict(running: &Running) -> Option<Check> {
    let ended = running.container(ETCD).and_then(|etcd| etcd.ended.as_ref());
    match ended.map(|ended| ended.code) {
        Some(0) => Some(Check::Passed),
        // Evicted, or without room from the start: nothing has been found out.
        None if running.over => Some(Check::Passed),
        Some(code) if running.over && KILLED.contains(&code) => Some(Check::Passed),
        Some(code) => Some(Check::Failed(format!("etcd --version ends with exit code {code}"))),
        None => None,
    }
}

/// Whether nothing will come of the check: its node is gone, so that its kubelet neither starts nor removes the pod.
fn is_overdue(pull: &Pod, now: Timestamp) -> bool {
    let Some(running) = &pull.running else { return false };
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

fn is_of(pull: &Pod, wish: &Wish) -> bool {
    let image = pull.running.as_ref().and_then(|running| running.annotations.get(objects::IMAGE));
    image.is_some_and(|image| *image == wish.image())
}

/// The pod of the check, on the node of the member that is the first to get the image.
pub(super) fn pod(observed: &Observed, roster: &Roster<'_>, wish: &Wish, beside: &str) -> Create {
    let member = roster.nodes.iter().find(|node| node.name == beside);
    let node = member.and_then(Node::running).and_then(|running| running.node.as_deref());
    objects::pull(&observed.cluster, wish, node, observed.dictated_users)
}
