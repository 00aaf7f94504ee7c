//! Pure: the effects of a step.

use api::etcd_cluster::OnDelete;
use runtime::cache::Projection;
use runtime::plan::{Delete, Effect};
use runtime::projections::{Pod, Pvc};

use super::desired::Desired;
use super::known_good::{self, RestartConfig};
use super::member_set::{MemberSet, MemberView};
use super::membership::EtcdStep;
use super::objects::{InitialState, Retiring};
use super::{
    EtcdAct, EtcdChange, Observed, backups, hibernation, hold, image_check, leaving_3_6, names, objects, placement,
    recovery,
};

mod restore;

/// The effects of `step`, in order.
pub(super) fn of(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    step: &EtcdStep,
) -> Vec<Effect<EtcdAct>> {
    let cluster = &*observed.cluster;
    let claim_of = |name: &str| members.get(name).and_then(|member| member.claim);
    let pod_of = |name: &str| members.get(name).and_then(|member| member.pod);
    let prepare = |name: &str| prepare_for_next_version(observed, members, members.get(name)?, desired);
    match step {
        EtcdStep::Rest
        | EtcdStep::Hibernate
        | EtcdStep::Wait(_)
        | EtcdStep::Stuck(..)
        | EtcdStep::BeginRecovery { .. }
        | EtcdStep::CancelRecovery => Vec::new(),
        EtcdStep::RequestRestore { backup, entry } => vec![Effect::Create(backups::restore(cluster, backup, entry))],
        EtcdStep::Fence { name, .. } => members.get(name).map(fence).unwrap_or_default(),
        EtcdStep::Adopt { names } => {
            let claims = observed.claims.iter().filter(|claim| names.iter().any(|name| **name == *claim.meta.key.name));
            claims.map(|claim| Effect::Apply(objects::adopted(cluster, claim))).collect()
        }
        EtcdStep::Start { name, state } => {
            let pod = match (state, known_good::restart_config(observed, members, desired, name)) {
                (InitialState::Existing, _) => {
                    objects::pod(observed, cluster, &desired.for_new_member(members), name, *state)
                }
                (InitialState::Restart | InitialState::Recover, RestartConfig::LastKnownGood(then)) => {
                    objects::pod(observed, &then.0, &then.1, name, *state)
                }
                _ => objects::pod(observed, cluster, desired, name, *state),
            };
            let claim = (desired.durable && claim_of(name).is_none()).then(|| {
                let inputs = objects::ClaimInputs::for_new_claim(members, *state == InitialState::Existing);
                Effect::Apply(objects::claim(cluster, name, inputs))
            });
            // The PVC first: if it does not exist yet, the scheduler retries the pod only after a second or more.
            claim.into_iter().chain([Effect::Create(pod)]).collect()
        }
        EtcdStep::Add { name, learner } => {
            let change = EtcdChange::Add { peer_url: names::peer_url(cluster, name), learner: *learner };
            vec![through_quorum(members, None, change)]
        }
        EtcdStep::Nudge { .. } => vec![through_quorum(members, None, EtcdChange::Fill { entries: 1 })],
        EtcdStep::Promote { id, .. } => vec![through_quorum(members, None, EtcdChange::Promote { id: *id })],
        EtcdStep::Remove { name, id, keeps_claim, .. } => remove(observed, members, desired, name, *id, *keeps_claim),
        EtcdStep::MoveLeader { to, .. } => {
            let target = members.get(to).and_then(|member| member.listed);
            let leader = members.leader().and_then(address);
            let transfer =
                target.zip(leader).map(|(target, leader)| through(leader, EtcdChange::MoveLeader { to: target.id }));
            transfer.into_iter().collect()
        }
        EtcdStep::Upgrade { name } => {
            let image = pod_of(name).map(|pod| Effect::Apply(objects::next_image(pod, desired)));
            prepare(name).into_iter().chain(image).collect()
        }
        EtcdStep::Compact { revision } => {
            vec![through_quorum(members, None, EtcdChange::Compact { revision: *revision })]
        }
        EtcdStep::Defragment { name, revision } => {
            let endpoint = members.get(name).and_then(address);
            let change = EtcdChange::Defragment { revision: *revision };
            endpoint.map(|endpoint| through(endpoint, change)).into_iter().collect()
        }
        EtcdStep::Disarm { ids } => {
            ids.iter().map(|id| through_quorum(members, None, EtcdChange::Disarm { id: *id })).collect()
        }
        EtcdStep::SetAuthentication { on } => {
            vec![through_quorum(members, None, EtcdChange::SetAuthentication { on: *on })]
        }
        EtcdStep::Fill { name, entries, .. } => {
            let endpoint = members.get(name).and_then(address);
            endpoint.map(|endpoint| through(endpoint, EtcdChange::Fill { entries: *entries })).into_iter().collect()
        }
        EtcdStep::CheckImage { member } => vec![Effect::Create(image_check::pod(observed, members, desired, member))],
        EtcdStep::DeleteImageCheck { .. } => observed.image_check.as_deref().map(delete_pod).into_iter().collect(),
        EtcdStep::CheckPlacement { member, full } => {
            placement::pod(observed, desired, member, *full).map(Effect::Create).into_iter().collect()
        }
        EtcdStep::DeletePlacementChecks => placement::live_trials(observed).map(delete_pod).collect(),
        EtcdStep::DeletePod { name } => prepare(name).into_iter().chain(pod_of(name).map(delete_pod)).collect(),
        EtcdStep::RecreatePod { name } => {
            let next = known_good::fingerprint_of(desired);
            let claim = claim_of(name).filter(|claim| claim.labels.get(objects::NEXT) != Some(&next));
            let record = claim.map(|claim| Effect::Apply(objects::next(claim, Some(&next))));
            prepare(name).into_iter().chain(record).chain(pod_of(name).map(delete_pod)).collect()
        }
        EtcdStep::Stop => hibernation::pods(observed).filter(|pod| !pod.meta.deleting).map(delete_pod).collect(),
        EtcdStep::Restore(step) => restore::of(observed, members, step),
        EtcdStep::RemoveClaim { name } => {
            let Some(claim) = claim_of(name) else { return Vec::new() };
            let removal = (!claim.meta.deleting).then(|| delete_or_retain_claim(observed, claim));
            hold::release(claim).into_iter().chain(removal.into_iter().flatten()).collect()
        }
    }
}

/// Marks a member's pod and PVC for the removal, and removes the member.
fn remove(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    name: &str,
    id: u64,
    keeps_claim: bool,
) -> Vec<Effect<EtcdAct>> {
    let member = members.get(name);
    let (pod, claim) = (member.and_then(|member| member.pod), member.and_then(|member| member.claim));
    let mark_pod = pod.filter(|pod| !members.is_retiring(name) && !pod.meta.deleting).map(objects::retiring);
    // The pod may be deleted before the status reports that, and a list of one member is not trusted then.
    let unmarked = claim.filter(|claim| !objects::is_retiring(claim));
    let mark = if keeps_claim { Retiring::Retain } else { Retiring::ByPolicy };
    let mark_claim = unmarked.map(|claim| objects::marked_as_retiring(claim, mark));
    let key = |name: &str| observed.cluster.meta.key.sibling(name);
    let earlier = member.is_some_and(|member| member.earlier);
    let no_pod = (pod.is_none() && !earlier).then(|| (Pod::KIND, key(name)));
    let no_claim = (desired.durable && !earlier && pod.is_none() && claim.is_none()).then(|| (Pvc::KIND, key(name)));
    let learner = member.is_some_and(MemberView::is_learner);
    // The plan may also rely on a member that its kubelet reports as ready, though it does not answer the manager.
    let relied_on = |other: &&MemberView<'_>| !other.earlier && (other.is_healthy() || other.ready);
    let others = members.voters().filter(|other| !learner && other.name != *name).filter(relied_on);
    let staying = others.map(|other| key(&other.name)).collect();
    let change = EtcdChange::Remove { id, absent: no_pod.into_iter().chain(no_claim).collect(), staying };
    let removal = through_quorum(members, Some(name), change);
    mark_pod.into_iter().chain(mark_claim).map(Effect::Apply).chain([removal]).collect()
}

/// What has to be done before a member leaves a version; see [`EtcdChange::Touch`] and [`EtcdChange::Fill`].
fn prepare_for_next_version(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    desired: &Desired,
) -> Option<Effect<EtcdAct>> {
    if !member.is_healthy() {
        return None;
    }
    let change = match leaving_3_6::entries_to_fill(observed, members, member, &desired.version) {
        _ if leaving_3_6::crosses(member, &desired.version, 5) => EtcdChange::Touch,
        // Otherwise earlier steps have appended the entries.
        Ok(Some(entries)) if observed.cluster.status.filling_from.is_none() => EtcdChange::Fill { entries },
        _ => return None,
    };
    Some(through(address(member)?, change))
}

/// Marks a member's PVC as one that does not come back, and stops the member.
fn fence(member: &MemberView<'_>) -> Vec<Effect<EtcdAct>> {
    let unmarked = member.claim.filter(|claim| !objects::is_retiring(claim));
    let mark = unmarked.map(|claim| Effect::Apply(objects::marked_as_retiring(claim, Retiring::ByPolicy)));
    mark.into_iter().chain(member.pod.filter(|pod| !pod.meta.deleting).map(delete_pod)).collect()
}

fn delete_pod(pod: &Pod) -> Effect<EtcdAct> {
    Effect::Delete(Delete::of(Pod::KIND, &pod.meta))
}

/// Deletes or retires the PVC of a removed member, as the policy says; not while a pod uses it.
///
/// The operator never retains a PVC without data of its own: one without a volume, or of a member that never voted. Otherwise
/// they would accumulate while members fail to join. The label of a PVC says that its member never voted, and is removed once it
/// is seen to vote. The quorum that removed the member has every acknowledged entry, and the member only copies of them. If the
/// PVC has changed meanwhile, it is not deleted.
fn delete_or_retain_claim(observed: &Observed, claim: &Pvc) -> Vec<Effect<EtcdAct>> {
    let cluster = &*observed.cluster;
    let used_by = Some((Pod::KIND, claim.meta.key.clone()));
    let delete = Delete { only_if_absent: used_by, ..Delete::of(Pvc::KIND, &claim.meta) };
    let policy = if objects::is_to_be_retained(claim) || recovery::was_given_up(cluster, &claim.meta.key.name) {
        // It may hold writes that no other volume has, or its node may be gone, so that it cannot be deleted.
        OnDelete::Retain
    } else {
        objects::policy(cluster)
    };
    match policy {
        OnDelete::Delete => vec![Effect::Delete(delete)],
        OnDelete::Retain if (claim.bound || claim.lost) && !objects::has_yet_to_vote(claim) => {
            let disowned = objects::has_unwanted_owner(cluster, claim).then(|| objects::adopted(cluster, claim));
            disowned.into_iter().chain([objects::retired(claim)]).map(Effect::Apply).collect()
        }
        OnDelete::Retain => vec![Effect::Delete(Delete { version: Some(claim.meta.resource_version), ..delete })],
    }
}

/// A change through the healthy members, the leader first; not through the member `without`.
fn through_quorum(members: &MemberSet<'_>, without: Option<&str>, change: EtcdChange) -> Effect<EtcdAct> {
    let leader = members.leader().map(|leader| leader.name.as_str());
    let mut healthy: Vec<&MemberView<'_>> =
        members.voters().filter(|member| member.is_healthy() && Some(member.name.as_str()) != without).collect();
    healthy.sort_by_key(|member| Some(member.name.as_str()) != leader);
    Effect::Act(EtcdAct::Change { endpoints: healthy.into_iter().filter_map(address).collect(), change })
}

/// A change through one member.
fn through(endpoint: Box<str>, change: EtcdChange) -> Effect<EtcdAct> {
    Effect::Act(EtcdAct::Change { endpoints: vec![endpoint], change })
}

fn address(member: &MemberView<'_>) -> Option<Box<str>> {
    member.address.map(Into::into)
}
