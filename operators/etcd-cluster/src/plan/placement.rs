//! Pure: checks whether a pod of the current spec starts: a trial pod does so next to the present pod, before a healthy member
//! gives that up.
//!
//! Only the scheduler and kubelets know whether there is a node with such labels and enough capacity, or whether the objects
//! exist to which variables refer.

use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};
use runtime::plan::Create;
use runtime::pod::trial_pod;
use runtime::projections::{Pod, PodDetails};
use serde_json::Value;

use super::desired::Desired;
use super::member_set::{MemberSet, MemberView};
use super::membership::{EtcdStep, outdated};
use super::objects::{self, ETCD, MEMBER, PLACEMENT};
use super::{Observed, names, trial_outcome};

pub use super::observed::TrialFeasibility;
use crate::EtcdCluster;

/// After how long a check is repeated whose pod a kubelet rejected or ended.
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// The result of the check.
#[derive(Debug, PartialEq, Eq)]
enum PlacementCheck {
    /// A trial pod has started; or none can be created.
    Passed,
    /// There is no trial pod yet.
    Due {
        /// Whether it has to request all resources that the member does.
        full: bool,
    },
    /// The trial pod is of another spec, or its result is outdated.
    Outdated,
    /// The trial pod has not started yet: why.
    Running(String),
    /// The trial pod does not start: why.
    Failed(String),
    /// One of the images cannot be used: the step that reports it.
    ImageUnusable(EtcdStep),
    /// A terminating trial pod is not removed by its node: the message.
    Stuck(String),
}

/// Removes the trial pods from those of the members.
#[must_use]
pub fn take(cluster: &EtcdCluster, pods: &mut Vec<Arc<Pod>>) -> Vec<Arc<Pod>> {
    let names = [false, true].map(|full| names::trial(cluster, full));
    let (trials, members) =
        std::mem::take(pods).into_iter().partition(|pod| names.iter().any(|name| **name == *pod.meta.key.name));
    *pods = members;
    trials
}

/// Whether a trial pod has to start before a member gives up its pod: the placement of that pod differs, and no other member
/// serves with the desired placement, or the others have no quorum meanwhile.
pub(super) fn is_check_needed(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    desired: &Desired,
) -> bool {
    let placement = objects::placement(&observed.cluster);
    let has_placement = |member: &MemberView<'_>| member.annotation(PLACEMENT) == Some(placement.as_str());
    if !outdated::is_to_be_recreated(member, desired) || has_placement(member) {
        return false;
    }
    let serving = || members.others(member).filter(|other| other.stays_healthy());
    let holds = serving().count() > members.voters().count() / 2;
    !holds || !serving().any(has_placement)
}

/// The step before `member` gives up its pod.
pub(super) fn step(
    observed: &Observed,
    member: &MemberView<'_>,
    desired: &Desired,
    now: Timestamp,
) -> Option<EtcdStep> {
    const WAITS: &str = "before a member gets a pod of the current spec";
    match check(observed, member, desired, now) {
        PlacementCheck::Passed => None,
        PlacementCheck::Due { full } => Some(EtcdStep::CheckPlacement { member: member.name.clone(), full }),
        PlacementCheck::Outdated => Some(EtcdStep::DeletePlacementChecks),
        PlacementCheck::Running(why) => {
            Some(EtcdStep::wait(EtcdClusterReason::RestartingMember, format!("{WAITS}, {why}")))
        }
        PlacementCheck::ImageUnusable(step) => Some(step),
        PlacementCheck::Stuck(why) => Some(EtcdStep::stuck(EtcdClusterReason::PodRefused, why)),
        PlacementCheck::Failed(why) => {
            let message = format!(
                "member {} keeps its pod: a pod of the current spec does not start: {why}; correct or revert spec.pod, or \
                 provide what the pod needs",
                member.name
            );
            Some(EtcdStep::stuck(EtcdClusterReason::PodRefused, message))
        }
    }
}

/// Deletes trial pods that are not needed.
pub(super) fn clear(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<EtcdStep> {
    let is_needed = |trial: &Pod| {
        let mut voters = members.voters();
        voters.any(|member| {
            is_of(observed, trial, member, desired) && is_check_needed(observed, members, member, desired)
        })
    };
    live_trials(observed).any(|trial| !is_needed(trial)).then_some(EtcdStep::DeletePlacementChecks)
}

/// Deletes all trial pods.
pub(super) fn delete(observed: &Observed) -> Option<EtcdStep> {
    live_trials(observed).next().map(|_| EtcdStep::DeletePlacementChecks)
}

/// Deletes trial pods that keep the volume of a member without a pod on their node: an attached volume stays there as long as a
/// pod of that node refers to it, started or not.
pub(super) fn release(observed: &Observed, member: &str) -> Option<EtcdStep> {
    live_trials(observed)
        .any(|trial| annotation(trial, MEMBER) == Some(member))
        .then_some(EtcdStep::DeletePlacementChecks)
}

/// The trial pods that are not terminating.
pub(super) fn live_trials(observed: &Observed) -> impl Iterator<Item = &Pod> {
    observed.trials.iter().map(|trial| &**trial).filter(|trial| !trial.meta.deleting)
}

/// Whether a trial pod can run next to a member's present pod, as it was read; none if it does not decode.
#[must_use]
pub fn trial_feasibility(cluster: &EtcdCluster, pod: &Value) -> Option<TrialFeasibility> {
    let present = trial_pod::PresentPod::of(pod, ETCD)?;
    let is_repelled = present.repels(&objects::trial_labels(cluster));
    Some(if is_repelled { TrialFeasibility::Impossible } else { TrialFeasibility::Possible(Box::new(present)) })
}

/// The trial pod, if the present pod is known.
pub(super) fn pod(observed: &Observed, desired: &Desired, member: &str, full: bool) -> Option<Create> {
    match &observed.trial_feasibility {
        Some(TrialFeasibility::Possible(present)) => Some(objects::trial(observed, desired, member, present, full)),
        _ => None,
    }
}

/// The result of the check for `member`.
fn check(observed: &Observed, member: &MemberView<'_>, desired: &Desired, now: Timestamp) -> PlacementCheck {
    match trial_result(observed, false, member, desired, now) {
        // On that node, the resources of the present pod are not available.
        PlacementCheck::Passed if is_on_other_node(observed, member) => {
            trial_result(observed, true, member, desired, now)
        }
        known => known,
    }
}

fn trial<'a>(observed: &'a Observed, name: &str) -> Option<&'a Pod> {
    observed.trials.iter().map(|trial| &**trial).find(|trial| *trial.meta.key.name == *name)
}

/// Whether the first trial pod has run on another node than the member does.
fn is_on_other_node(observed: &Observed, member: &MemberView<'_>) -> bool {
    let node = |details: &PodDetails| details.node.clone();
    let tried = trial(observed, &names::trial(&observed.cluster, false))
        .and_then(|trial| trial.details.as_deref())
        .and_then(node);
    tried.zip(member.pod_details().and_then(node)).is_some_and(|(tried, present)| tried != present)
}

/// The result of one trial pod: of the first, or of the one that requests all resources that the member does.
fn trial_result(
    observed: &Observed,
    full: bool,
    member: &MemberView<'_>,
    desired: &Desired,
    now: Timestamp,
) -> PlacementCheck {
    let name = names::trial(&observed.cluster, full);
    let Some(trial) = trial(observed, &name) else {
        let impossible = observed.trial_feasibility == Some(TrialFeasibility::Impossible);
        return if impossible { PlacementCheck::Passed } else { PlacementCheck::Due { full } };
    };
    if trial.meta.deleting && trial_outcome::is_overdue(trial, now) {
        return PlacementCheck::Stuck(stuck_message(observed, trial, member));
    }
    if trial.meta.deleting {
        return PlacementCheck::Running(format!("waiting for the earlier pod {name} to be deleted"));
    }
    if !is_of(observed, trial, member, desired) {
        return PlacementCheck::Outdated;
    }
    let details = trial.details.as_deref();
    let ended = details.and_then(trial_outcome::ended);
    let failure = details.filter(|details| details.terminal).map(|details| match (&details.failure, ended) {
        (Some(failure), _) => failure.to_string(),
        (None, Some((program, ended))) => trial_outcome::describe(program, ended),
        (None, None) => "it has ended".to_owned(),
    });
    let says_nothing = ended.is_none_or(|(program, ended)| trial_outcome::is_inconclusive(program, ended));
    let unusable = |why: &str| PlacementCheck::ImageUnusable(trial_outcome::unavailable(observed, trial, desired, why));
    // Not clock::elapsed: where this clock is behind, each trial would be repeated as soon as its pod has failed.
    let old =
        || details.and_then(|details| details.created).is_none_or(|since| now.duration_since(since) >= RETRY_AFTER);
    match (ended, &trial.diagnosis) {
        (Some((_, ended)), _) if ended.code == 0 => PlacementCheck::Passed,
        // Why the kubelet ended or rejected it may have changed by now; so may a failure of the agent, which no spec corrects.
        _ if failure.is_some() && (says_nothing || trial_outcome::agent_has_failed(trial)) && old() => {
            PlacementCheck::Outdated
        }
        (Some((program, ended)), _) if !says_nothing => unusable(&trial_outcome::describe(program, ended)),
        (_, Some(diagnosis)) if diagnosis.is_image_failure() => unusable(&diagnosis.message),
        (_, Some(diagnosis)) if diagnosis.permanent || diagnosis.is_unschedulable() => {
            PlacementCheck::Failed(diagnosis.message.clone())
        }
        _ if let Some(failure) = failure => PlacementCheck::Failed(failure),
        (_, Some(diagnosis)) => {
            PlacementCheck::Running(format!("waiting for pod {name} to show whether one starts: {}", diagnosis.message))
        }
        (_, None) => PlacementCheck::Running(format!("waiting for pod {name} to show whether one starts")),
    }
}

/// What to do about a terminating trial pod that its node does not remove. Its name is taken as long as it exists. Nothing in it
/// is needed, so it may be deleted by force.
fn stuck_message(observed: &Observed, trial: &Pod, member: &MemberView<'_>) -> String {
    let (namespace, name) = (&observed.cluster.meta.key.namespace, &trial.meta.key.name);
    let node = trial.details.as_ref().and_then(|details| details.node.as_deref()).unwrap_or("of the pod");
    format!(
        "member {} keeps its pod: node {node} does not remove the terminating pod {name}, which checks whether a pod of the \
         current spec starts; remove it: kubectl delete pod -n {namespace} {name} --force",
        member.name
    )
}

/// Whether a trial pod is for `member` and the desired state.
fn is_of(observed: &Observed, trial: &Pod, member: &MemberView<'_>, desired: &Desired) -> bool {
    annotation(trial, MEMBER) == Some(&member.name)
        && objects::checks(trial, &observed.cluster, desired, Some(&observed.agent_image))
}

fn annotation<'t>(trial: &'t Pod, key: &str) -> Option<&'t str> {
    trial.details.as_ref()?.annotations.get(key).map(String::as_str)
}
