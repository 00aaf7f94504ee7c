//! Pure: checks whether images can be pulled: a separate pod, on the node of a member, does so before the first healthy member
//! restarts with a new image of etcd, or gets a new pod with the agent of the manager's image.

use std::sync::Arc;

use api::condition_type::READY;
use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};
use runtime::plan::Create;
use runtime::projections::Pod;

use super::desired::Desired;
use super::member_set::{MemberSet, MemberView};
use super::membership::{EtcdStep, outdated};
use super::objects::{self, ETCD, WAIT};
use super::trial_outcome::{
    agent_has_failed, describe, ended, is_not_started, is_older_than, is_overdue, unavailable, verdict,
};
use super::{Observed, names, placement};
use crate::EtcdCluster;

/// After how long a check is repeated in which the agent failed, which no change of the spec can correct, or a container could
/// not be started.
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// The result of the check.
#[derive(Debug, PartialEq, Eq)]
enum ImageCheck {
    /// The images can be pulled, or that cannot be checked.
    Passed,
    /// The check has not started.
    Missing,
    /// The check is running.
    Running,
    /// One of the images cannot be used.
    Failed(EtcdStep),
    /// It could not be used, or not be started, some time ago, and may work by now.
    Outdated,
}

/// Removes the pod of the check from those of the members.
#[must_use]
pub fn take(cluster: &EtcdCluster, pods: &mut Vec<Arc<Pod>>) -> Option<Arc<Pod>> {
    let name = names::image_check(cluster);
    let place = pods.iter().position(|pod| *pod.meta.key.name == *name)?;
    Some(pods.swap_remove(place))
}

/// The step that has to precede the desired image of `member`.
pub(super) fn step(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    desired: &Desired,
    now: Timestamp,
) -> Option<EtcdStep> {
    if placement::is_check_needed(observed, members, member, desired) {
        let step = placement::step(observed, member, desired, now);
        // The pods of the placement check have that image.
        if step.is_some() || !observed.trials.is_empty() {
            return step;
        }
    }
    match check(observed, members, member, desired, now) {
        ImageCheck::Passed => None,
        ImageCheck::Missing => Some(EtcdStep::CheckImage { member: member.name.clone() }),
        ImageCheck::Running => {
            let of_another = observed.image_check.as_ref().is_some_and(|image_check| {
                !objects::checks(image_check, &observed.cluster, desired, agent(observed, member, desired))
            });
            let has_image = members.all.iter().any(|member| runs(member, &desired.image()));
            let image = if has_image { observed.agent_image.to_string() } else { desired.image() };
            let again = retry_suffix(&observed.cluster, desired);
            let message = format!("checking whether image {image} can be pulled{again}");
            let waits = || EtcdStep::wait(EtcdClusterReason::PullingImage, message);
            Some(delete(observed).filter(|_| of_another).unwrap_or_else(waits))
        }
        ImageCheck::Failed(step) => Some(step),
        ImageCheck::Outdated => Some(EtcdStep::DeleteImageCheck { retry: true }),
    }
}

/// The agent's image, if a member gets it: a new image in its present pod does not change the agent.
fn agent<'o>(observed: &'o Observed, member: &MemberView<'_>, desired: &Desired) -> Option<&'o str> {
    Some(&*observed.agent_image).filter(|_| !outdated::needs_only_new_image(member, desired))
}

/// Deletes the pod of a check that is not needed: it checks another image, or members run that image by now.
pub(super) fn clear(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<EtcdStep> {
    let waits = |member: &MemberView<'_>| {
        !runs(member, &desired.image()) || outdated::needs_change(observed, members, member, desired)
    };
    let is_of_these = |image_check: &Pod| {
        [None, Some(&*observed.agent_image)]
            .into_iter()
            .any(|agent| objects::checks(image_check, &observed.cluster, desired, agent))
    };
    let needed = members.voters().any(waits) && observed.image_check.as_deref().is_some_and(is_of_these);
    delete(observed).filter(|_| !needed)
}

/// Deletes the pod of the check.
pub(super) fn delete(observed: &Observed) -> Option<EtcdStep> {
    observed
        .image_check
        .as_ref()
        .filter(|image_check| !image_check.meta.deleting)
        .map(|_| EtcdStep::DeleteImageCheck { retry: false })
}

fn check(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    desired: &Desired,
    now: Timestamp,
) -> ImageCheck {
    let agent = agent(observed, member, desired);
    let runs_agent = |agent| members.all.iter().any(|member| has_run_agent(member, agent));
    if members.all.iter().any(|member| runs(member, &desired.image())) && agent.is_none_or(runs_agent) {
        return ImageCheck::Passed;
    }
    let Some(image_check) = &observed.image_check else {
        return if observed.image_check_rejected { ImageCheck::Passed } else { ImageCheck::Missing };
    };
    let is_current = !image_check.meta.deleting && objects::checks(image_check, &observed.cluster, desired, agent);
    let failed = |why: &str| ImageCheck::Failed(unavailable(observed, image_check, desired, why));
    let details = image_check.details.as_deref().filter(|_| is_current);
    if let Some((program, ended)) = details.and_then(ended).filter(|(program, ended)| is_not_started(program, ended)) {
        return match is_older_than(image_check, RETRY_AFTER, now) {
            true => ImageCheck::Outdated,
            // A container runtime that was too slow once has been tried again by then.
            false if !retry_suffix(&observed.cluster, desired).is_empty() => {
                failed(&format!("{}; {}", describe(program, ended), retry_message(desired)))
            }
            false => ImageCheck::Running,
        };
    }
    // A result stays valid.
    match details.and_then(verdict) {
        Some(Ok(())) => return ImageCheck::Passed,
        Some(Err(_)) if agent_has_failed(image_check) && is_older_than(image_check, RETRY_AFTER, now) => {
            return ImageCheck::Outdated;
        }
        Some(Err(why)) => return failed(&why),
        None => {}
    }
    match &image_check.diagnosis {
        _ if is_overdue(image_check, now) => ImageCheck::Passed,
        _ if !is_current => ImageCheck::Running,
        Some(diagnosis) => failed(&diagnosis.message),
        None => ImageCheck::Running,
    }
}

/// The message after a first check without a result.
pub(super) fn retry_message(desired: &Desired) -> String {
    format!("the check of image {} is repeated every {} minutes", desired.image(), RETRY_AFTER.as_mins())
}

/// That message, after a semicolon, if Ready has it. Only by that the operator knows of earlier checks.
pub(super) fn retry_suffix(cluster: &EtcdCluster, desired: &Desired) -> String {
    let message = retry_message(desired);
    let is_retry = cluster.status.contract.condition(READY).is_some_and(|ready| ready.message.contains(&message));
    if is_retry { format!("; {message}") } else { String::new() }
}

/// Whether the kubelet reports that a member's etcd runs that image.
fn runs(member: &MemberView<'_>, image: &str) -> bool {
    member.container(ETCD).is_some_and(|etcd| etcd.running && *etcd.image == *image)
}

/// Whether a member's pod has run the agent of an image. If the container runtime reports another name, a check is needed.
fn has_run_agent(member: &MemberView<'_>, agent: &str) -> bool {
    member.container(WAIT).is_some_and(|wait| *wait.image == *agent && (wait.running || wait.terminated.is_some()))
}

/// The pod of the check, on the node of the first member that gets the image.
pub(super) fn pod(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, member: &str) -> Create {
    let member = members.get(member);
    let node = member.and_then(MemberView::pod_details).and_then(|details| details.node.as_deref());
    let agent = member.and_then(|member| agent(observed, member, desired));
    objects::image_check(&observed.cluster, desired, agent, node, observed.namespace_assigns_uids)
}
