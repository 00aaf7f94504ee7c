//! Pure: plans for a cluster that continues to run.

use api::ReconcileReason;
use api::condition_type::STALLED;
use api::etcd_cluster::EtcdClusterReason;
use jiff::Timestamp;
use runtime::plan::{Apply, ChildState, Effect, Plan, Requeue};
use runtime::projections::AppliedChild;

use super::desired::Desired;
use super::member_set::{MemberSet, MemberView};
use super::membership::EtcdStep;
use super::{
    EtcdAct, EtcdPlan, Observed, authentication, backups, desired, effective_tls, effects, hold, known_good,
    list_of_one, membership, objects, options, quorum, requeue, retired, status, takeover, unlabeled,
};
use crate::EtcdCluster;

/// The plan for a cluster that continues to run, at least for now.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    let members = MemberSet::of(observed, now);
    let Some(durable) = desired::durable(observed) else {
        let status = status::undecided(observed, now);
        return Plan { status: Some(status), next: Requeue::After(requeue::RETRY), ..Plan::nothing() };
    };
    let desired = Desired::of(observed, &members, durable);
    let (step, mut effects, independent) = decide(observed, &members, &desired, now);
    let latched = cluster.status.cluster_id.is_some();
    // Repair comes before the finalizer, but no client writes data before the finalizer is there. A step that waits, or that the
    // API server rejects again and again, repairs nothing.
    let waits = matches!(step, EtcdStep::Rest | EtcdStep::Hibernate | EtcdStep::Wait(_) | EtcdStep::Stuck(..));
    let idle = cluster.status.cluster_id.is_none() || waits || cluster.status.contract.is_true(STALLED);
    if let Some(hold) = hold::cluster(cluster, desired.durable).filter(|_| idle && !cluster.spec.paused) {
        return Plan { effects: vec![hold], next: Requeue::After(requeue::AFTER_STEP), ..Plan::nothing() };
    }
    let rests = step == EtcdStep::Rest && effects.is_empty() && !cluster.spec.paused;
    let excess = retired::excess(observed, &members, &desired).filter(|_| rests);
    effects.extend(excess.map(|claim| Effect::Delete(retired::delete(claim))));
    effects.extend(backups::withdrawals(observed, !membership::from_backup::is_unwanted(observed, &members)));
    let status = status::of(observed, &members, &desired, &step, now);
    let repeats = status::is_ready_unchanged(&cluster.status, &status);
    let mut next = Requeue::After(requeue::after(observed, &members, &step, &effects, repeats, now));
    if effects.iter().any(|effect| matches!(effect, Effect::Act(EtcdAct::IssueCertificates { .. }))) {
        next = next.no_later_than(if latched { requeue::AFTER_NUDGE } else { requeue::AFTER_STEP });
    }
    if status.leader_moving_from.is_some() && cluster.status.leader_moving_from.is_none() {
        next = next.no_later_than(requeue::AFTER_STEP);
    }
    if status::is_quorum_unconfirmed(&status) {
        next = next.no_later_than(quorum::requeue_after(cluster, now));
    }
    let (events, mut done) = (status::events(cluster, &status), status::step_events(&step));
    done.extend(excess.map(|claim| retired::deleted(claim, desired.size)));
    // Which members are earlier ones is only known from a list, if the status was lost. One without them would lose them for good.
    let forgets = takeover::is_under_way(cluster) && cluster.status.earlier_members.is_empty() && !members.list_known;
    let status = Some(status).filter(|_| !forgets);
    Plan { effects, independent, events_after_status: events, events_after_effects: done, status, next }
}

/// The step, its effects, and the independent ones.
fn decide(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    now: Timestamp,
) -> (EtcdStep, Vec<Effect<EtcdAct>>, Vec<Apply>) {
    let cluster = &*observed.cluster;
    let latched = cluster.status.storage.is_some();
    if cluster.spec.paused || !latched {
        // The status records the decision about storage before the first member relies on it.
        return (EtcdStep::Rest, Vec::new(), Vec::new());
    }
    let issuance = effective_tls::issuance(observed, members).map(Effect::Act);
    if let (Some(issuance), None) = (&issuance, &cluster.status.cluster_id) {
        // Members cannot start before.
        let message = "issuing the certificates of the cluster (spec.TLS.issued)";
        return (EtcdStep::wait(EtcdClusterReason::MemberStarting, message), vec![issuance.clone()], Vec::new());
    }
    // A cluster that is to have users does not begin without them.
    let unsupported = || desired::unsupported(observed).or_else(|| authentication::refusal(observed));
    if let (Some((reason, message)), None) = (unsupported(), &cluster.status.cluster_id) {
        return (EtcdStep::stuck(reason, message), Vec::new(), Vec::new());
    }
    if let Some((reason, message)) = options::bootstrap_refusal(observed, members) {
        return (EtcdStep::stuck(reason, message), Vec::new(), Vec::new());
    }
    if let Some((reason, message)) = observed.peers.blocking_reason("headless Service") {
        // A terminating Service is deleted without help; an unreadable one needs an administrator.
        let step = if reason == ReconcileReason::Unreadable { EtcdStep::stuck } else { EtcdStep::wait };
        return (step(reason, message), Vec::new(), Vec::new());
    }
    let step = membership::next(observed, members, desired, now);
    if matches!(&step, EtcdStep::Stuck(reason, _) if *reason == EtcdClusterReason::ForeignPods) {
        // They may be the members of an earlier operator's cluster, which find each other by that Service.
        return (step, Vec::new(), Vec::new());
    }
    let peers =
        select_own(&observed.peers, cluster, members, |own_only| objects::peers(cluster, own_only)).map(Effect::Apply);
    let effects = issuance.into_iter().chain(peers).chain(effects::of(observed, members, desired, &step)).collect();
    let independent = independent(observed, members, desired, &step);
    (step, effects, independent)
}

/// The effects that do not depend on the step. Their failure does not keep members from being repaired.
fn independent(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, step: &EtcdStep) -> Vec<Apply> {
    let cluster = &*observed.cluster;
    let mut applies = unlabeled::label_repairs(cluster, members);
    if cluster.status.cluster_id.is_some() {
        // The first member must not bootstrap the cluster again, whatever it loses; nor may one that was alone drop other members again.
        let begun =
            |member: &&MemberView<'_>| member.has_bootstrap_pod() || members.list_known && member.has_recovering_pod();
        let first = members.all.iter().filter(|member| begun(member) && !member.is_terminating());
        applies.extend(first.filter_map(|member| member.pod).map(objects::begun));
    }
    // Clients can write only once the cluster id is latched and finalizers protect the data.
    let protected = || observed.clients.owned().is_some() || hold::unheld(observed, members, desired).is_none();
    if cluster.status.cluster_id.is_some() && protected() {
        applies.extend(select_own(&observed.clients, cluster, members, |own_only| objects::clients(cluster, own_only)));
    }
    // The members of a cluster that is taken over have their own, or none.
    let voters = members.own_voters().count().max(desired.size);
    let budget = |own_only| objects::budget(cluster, voters, own_only);
    applies.extend(select_own(&observed.budget, cluster, members, budget));
    let claims = members.all.iter().filter(|member| desired.durable && member.pod_details().is_some());
    for member in claims {
        let live = member.claim.map(|claim| (&claim.meta, claim.fingerprint));
        let votes = member.listed.is_some() && !member.is_learner() && member.has_started();
        let joining = member.claim.is_some_and(objects::has_yet_to_vote) && !votes;
        // PVCs record the cluster only after the status does: the status alone decides whether clients may connect.
        let facts = member.facts().filter(|_| cluster.status.cluster_id.is_some());
        let known = objects::ClaimInputs { live: member.claim, facts, joining, peer: None };
        // A terminating PVC keeps its labels, too: by them it is released once its member has been replaced.
        applies.extend(objects::claim(cluster, &member.name, known).if_changed(live));
    }
    if desired.durable {
        applies.extend(grown_claims(cluster, members, step));
        applies.extend(list_of_one::unmark_claims(members, step));
        applies.extend(known_good::update_records(cluster, members, desired));
        applies.extend(hold::claims(observed, members));
    }
    applies
}

/// Raises the sizes of PVCs: of members with pods, and of all while the cluster hibernates. Some drivers expand only volumes that no pod
/// uses.
fn grown_claims<'m>(
    cluster: &'m EtcdCluster,
    members: &'m MemberSet<'_>,
    step: &'m EtcdStep,
) -> impl Iterator<Item = Apply> + 'm {
    let grows = |member: &&MemberView<'_>| member.pod_details().is_some() || *step == EtcdStep::Hibernate;
    let claims = members.all.iter().filter(grows).filter_map(|member| member.claim);
    claims.filter(|claim| !claim.meta.deleting).filter_map(|claim| objects::grown(cluster, claim))
}

/// Applies a child that selects pods. Once all members' pods have the label that foreign pods lack, the child selects by it: a
/// pod that loses its labels is not selected until it gets them back, but no foreign pod is selected either.
fn select_own<V: AppliedChild>(
    seen: &ChildState<V>,
    cluster: &EtcdCluster,
    members: &MemberSet<'_>,
    wanted: impl Fn(bool) -> Apply,
) -> Option<Apply> {
    // It needs an administrator. An apply may not correct it, and would be repeated in each reconcile.
    if matches!(seen, ChildState::Undecodable(_)) {
        return None;
    }
    let narrow = wanted(true);
    let is_narrow = seen.owned().is_some_and(|child| narrow.matches(child.fingerprint, child.additions()));
    let own_only = is_narrow || unlabeled::all_have_owner_uid(cluster, members);
    seen.apply_if_drifted(if own_only { narrow } else { wanted(false) })
}
