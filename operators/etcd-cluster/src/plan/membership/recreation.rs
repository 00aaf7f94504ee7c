//! Pure: recreates the pods of members that do not work, if the spec of pods has changed.

use api::ConditionStatus;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use jiff::{SignedDuration, Timestamp};

use super::failure::failure_message;
use super::step::EtcdStep;
use super::unreachable::{self, UNREACHABLE_AFTER};
use super::{corruption, outdated, replacement};
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::objects::{self, ETCD};
use crate::plan::version::may_follow;
use crate::plan::{Observed, known_good};

/// How long there is no quorum before a pod in which etcd runs is recreated. Starts and elections take less.
const QUORUM_TIMEOUT: SignedDuration = SignedDuration::from_mins(1);

/// Parts of etcd's errors when the cluster version is later than its own: those of 3.2 to 3.5, and of 3.6 on data of 3.7
/// (`version "3.7.0" is not supported`, in a line of JSON).
const DOWNGRADE_MESSAGES: [&str; 2] = ["lower than determined cluster version", ".0\\\" is not supported"];

/// Recreates a pod in which etcd does not run. If its configuration has never been seen to run, it is one with which a rolling
/// update began and failed, and the pod gets the desired configuration. So does any such pod once the desired configuration is
/// known to be good: after a user reverts a bad spec, all members return. A configuration that has run may fail later, so a
/// member whose configuration is known to be good may try the desired one, but only one member at a time. A member that has
/// `never_started` loses nothing with its pod.
pub(super) fn failing(
    members: &MemberSet<'_>,
    desired: &Desired,
    member: &MemberView<'_>,
    never_started: bool,
) -> Option<EtcdStep> {
    if !member.is_down() || failure_message(member).is_none() {
        return None;
    }
    let may_change = || known_good::is_known_good(members, desired) || known_good::may_try(members, desired, member);
    if !(known_good::is_untested(member) || is_older_than_its_data(member, desired) || may_change()) {
        return None;
    }
    let keeps_data = never_started || desired.durable && !member.has_unusable_claim();
    if outdated::needs_new_pod(member, desired) && keeps_data {
        return Some(EtcdStep::RecreatePod { name: member.name.clone() });
    }
    // Without a volume, a new pod is a new member. A member that has never voted has nothing to lose.
    let new = member.is_learner() || !member.has_started();
    if outdated::needs_new_pod(member, desired) && new && members.list_known && members.keeps_quorum_without(member) {
        return Some(replacement::replace(members, member, "its pod fails, and the spec has changed since".to_owned()));
    }
    outdated::needs_new_image(member, desired).then(|| EtcdStep::Upgrade { name: member.name.clone() })
}

/// Whether a member does not start because its data is of a later version than its pod, and the desired version may be that one:
/// an object from a backup of before an upgrade has the earlier version.
fn is_older_than_its_data(member: &MemberView<'_>, desired: &Desired) -> bool {
    let follows = member
        .pod_version()
        .is_some_and(|of| !of.same_minor(&desired.version) && may_follow(&[of], &desired.version).is_ok());
    let ended = member.container(ETCD).and_then(|etcd| etcd.terminated.as_ref());
    follows && ended.is_some_and(|ended| DOWNGRADE_MESSAGES.iter().any(|part| ended.message.contains(part)))
}

/// Recreates a pod in which etcd runs without becoming healthy, and whose configuration has never been seen to work: labels that
/// a network policy selects, a proxy, hardly any CPU. Its probes pass, so the kubelet never restarts it, and no rolling update
/// continues before it is healthy.
///
/// The preparations for another minor version need a member that answers. So if the desired minor version differs, the member
/// first restarts with its last known good configuration, and the rolling update continues from there. Without quorum it does so,
/// too, if the desired configuration has never been seen to run. A member without a known good configuration gets the desired
/// one, on its volume and with the minor version of its data, as a member does that lost its pod. If it has no volume to restart
/// on, another member replaces it, as in a rolling update.
///
/// For an only member that its kubelet reports as ready, see [`mod@unreachable`].
pub(super) fn isolated(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    member: &MemberView<'_>,
    never_started: bool,
    now: Timestamp,
) -> Option<EtcdStep> {
    let unhealthy = !member.is_learner() && !member.is_healthy() && member.runs_for_long();
    let replaceable = outdated::is_to_be_recreated(member, desired)
        || never_started && is_second(observed) && outdated::needs_new_pod(member, desired);
    if unhealthy && replaceable && unreachable::is_only_voter(observed, members, member, now) {
        return unreachable::another_pod(observed, members, desired, member, now);
    }
    if !(unhealthy && known_good::is_untested(member)) {
        return None;
    }
    if !replaceable {
        return replace_unreachable(observed, members, desired, member, now);
    }
    let ran = known_good::version_of_data(member);
    let keeps_minor =
        known_good::keeps_minor(member, desired) || ran.as_ref().is_some_and(|ran| ran.same_minor(&desired.version));
    let alone = observed.cluster.status.member_statuses.len() == 1;
    // Without quorum, the operator tries no configuration that has never been seen to run, unless there is no other member, or
    // the member has never started, or its PVC records no known good configuration.
    let may_differ = members.list_known || alone || never_started || !known_good::has_known_good(member);
    let as_desired = keeps_minor && (may_differ || known_good::is_known_good(members, desired));
    let as_known_good =
        never_started || known_good::has_known_good(member) || !keeps_minor && may_differ && ran.is_some();
    let harmless = match members.list_known {
        true => unreachable::hold_quorum_meanwhile(observed, members, member, now),
        false => is_useless(observed, member, now),
    };
    let name = member.name.clone();
    match harmless {
        true if as_desired => Some(EtcdStep::RecreatePod { name }),
        true if as_known_good => Some(EtcdStep::DeletePod { name }),
        _ => None,
    }
}

/// Replaces a member that has not answered for long, and that a new pod would not bring back, since its PVC is terminating or its
/// data is in its pod. Without volumes that takes three members.
fn replace_unreachable(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    member: &MemberView<'_>,
    now: Timestamp,
) -> Option<EtcdStep> {
    // Not clock::elapsed: a clock that is ahead must not make a member replaceable at once.
    let silent =
        unreachable::silent_since(observed, member).is_some_and(|since| now.duration_since(since) >= UNREACHABLE_AFTER);
    let dispensable = members.list_known && members.keeps_quorum_without(member) && silent;
    if !(dispensable && outdated::needs_new_pod(member, desired)) {
        return None;
    }
    if desired.durable {
        return Some(replacement::replace_without_volume(members, member));
    }
    let why = || "it cannot be reached, it keeps its data in its pod, and the spec has changed since".to_owned();
    (desired.size >= 3 && corruption::may_remove(observed, members, member))
        .then(|| replacement::replace(members, member, why()))
}

/// Whether only one other member votes. It has every committed entry, so a member that was added next and has never started loses
/// none of them with its pod, even if its data is there.
fn is_second(observed: &Observed) -> bool {
    observed.cluster.status.listed().count() == 1
}

/// Whether, without quorum, a member that does not answer is of no use to the others either: the kubelet has not reported it as
/// ready for long.
fn is_useless(observed: &Observed, member: &MemberView<'_>, now: Timestamp) -> bool {
    let lost = observed.cluster.status.contract.condition(QUORUM_HEALTHY);
    let lost = lost.filter(|lost| lost.status == ConditionStatus::False);
    // Not clock::elapsed: a clock that is ahead must not make a member replaceable at once.
    let long = lost.is_some_and(|lost| now.duration_since(lost.last_transition_time) >= QUORUM_TIMEOUT);
    long && member.endpoint.is_none() && member.pod_details().is_some_and(|details| !details.ready)
}

/// Recreates, once, a pod in which etcd hangs. The probes of early versions only connect to the port, which a stopped or stuck
/// process accepts, so the kubelet never restarts it. If the image of a pod was changed, its probes may be those of an early
/// version. A member that does not answer after that is unreachable, and another restart would not help.
pub(super) fn hung(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    member: &MemberView<'_>,
    now: Timestamp,
) -> Option<EtcdStep> {
    let version = member.pod_version()?;
    let started = member.container(ETCD).filter(|etcd| etcd.running)?.since?;
    let silent = unreachable::silent_since(observed, member).filter(|_| member.endpoint.is_none())?;
    // Not clock::elapsed: by a time that is yet to come, the member would be restarted again and again.
    let hangs = started <= silent && now.duration_since(silent) >= UNREACHABLE_AFTER && member.pod_details()?.ready;
    let keeps_data = desired.durable && !member.has_unusable_claim();
    // With two voters, the linearizable read that just succeeded needed both: neither hangs.
    let others_hold_quorum =
        members.voters().count() > 2 && unreachable::hold_quorum_meanwhile(observed, members, member, now);
    let harmless = keeps_data && !member.is_learner() && others_hold_quorum;
    // A pod keeps its probes if its image changes.
    let image_changed = member.annotation(objects::RESTARTS).is_some();
    let unnoticed = image_changed || !objects::has_health_probes(&version);
    (hangs && harmless && unnoticed).then(|| EtcdStep::DeletePod { name: member.name.clone() })
}
