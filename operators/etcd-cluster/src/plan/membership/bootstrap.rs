//! Pure: creates the first member, and the pod of the second. As long as no cluster id is latched, etcd has acknowledged nothing
//! to clients: the operator creates the client Service after that.

use std::collections::BTreeMap;

use api::condition_type::READY;
use api::etcd_cluster::EtcdClusterReason;
use api::{ConditionStatus, ReconcileReason};
use jiff::{SignedDuration, Timestamp};
use runtime::plan::ChildState;
use runtime::plan::meta::selector_text;
use runtime::projections::ContainerStatus;

use super::failure::{failure_message, waiting_message};
use super::outdated;
use super::restart::restart;
use super::step::EtcdStep;
use super::takeover;
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::objects::{CLUSTER_ID, ETCD, InitialState, OWNER_UID, RETIRED, START, selector};
use crate::plan::{Observed, clock, names, objects, recovered};

/// The start of messages about a cluster of which only PVCs and pods are left.
const STATUS_LOST: &str = "the status of this cluster was lost";
/// How long members may take to answer after the status was lost, before a user has to act.
const ANSWER_TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

/// The next step of the bootstrap.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, now: Timestamp) -> EtcdStep {
    let clusters = recovered::clusters(observed);
    if clusters.len() > 1 {
        return EtcdStep::stuck(EtcdClusterReason::VolumesAmbiguous, ambiguous_message(observed, &clusters));
    }
    if was_bootstrapped(observed, members) {
        return recover_status(observed, members, desired, now);
    }
    if observed.cluster.spec.takeover.is_some() {
        return foreign_pods(observed).unwrap_or_else(|| takeover::begin(observed, members));
    }
    let Some(seed) = members.all.iter().find(|member| member.pod.is_some() && !member.has_joining_pod()) else {
        return foreign_pods(observed).unwrap_or_else(|| start_first(observed, members));
    };
    if seed.is_terminating() {
        return EtcdStep::wait(
            ReconcileReason::WaitingForDeletion,
            format!("waiting for pod {} to be deleted", seed.name),
        );
    }
    // Once it answers, it is the cluster.
    let useless = || seed.has_unusable_claim() || needs_corrected_pod(seed, desired) || is_unreachable(seed, desired);
    if seed.endpoint.is_none() && useless() && may_lose_pod(observed, seed, desired) {
        return EtcdStep::DeletePod { name: seed.name.clone() };
    }
    start_second(observed, members, desired, seed)
        .unwrap_or_else(|| EtcdStep::poll(EtcdClusterReason::Creating, creating_message(observed, seed)))
}

/// What a new cluster waits for.
fn creating_message(observed: &Observed, seed: &MemberView<'_>) -> String {
    let waiting = waiting_message(seed);
    match &observed.cluster.spec.restore {
        Some(source) => format!("restoring the snapshot {}: {waiting}", objects::restore_source(source)),
        None => waiting,
    }
}

/// Recovers the lost status of a cluster that exists. As soon as a member answers, the cluster is latched again. Until then the
/// operator restarts members on their volumes and creates nothing new.
fn recover_status(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, now: Timestamp) -> EtcdStep {
    if let Some(member) = members.all.iter().find(|member| member.endpoint.is_some()) {
        return EtcdStep::poll(
            EtcdClusterReason::StatusLost,
            format!("{STATUS_LOST}; restoring it from member {}", member.name),
        );
    }
    let with_volume = || members.all.iter().filter(|member| member.usable_claim().is_some());
    if let Some(member) = with_volume().find(|member| member.pod.is_none()) {
        return restart(observed, members, desired, &member.name);
    }
    if let Some(member) = with_volume().find(|member| !member.is_terminating() && needs_corrected_pod(member, desired))
    {
        return EtcdStep::DeletePod { name: member.name.clone() };
    }
    let waiting = members.all.iter().find(|member| member.pod.is_some()).map(waiting_message).unwrap_or_default();
    let ready = observed.cluster.status.contract.condition(READY);
    let waits = ready.filter(|ready| ready.status != ConditionStatus::True).map(|ready| ready.last_transition_time);
    if waits.is_some_and(|since| clock::elapsed(since, now) >= ANSWER_TIMEOUT) {
        return EtcdStep::stuck(EtcdClusterReason::StatusLost, no_answer_message(observed, &waiting));
    }
    EtcdStep::poll(
        EtcdClusterReason::StatusLost,
        format!("{STATUS_LOST}, and no member that could restore it answers yet: {waiting}"),
    )
}

/// What to do if no member answers that could restore the status.
fn no_answer_message(observed: &Observed, waiting: &str) -> String {
    let cluster = &observed.cluster;
    let (namespace, name, uid) = (&cluster.meta.key.namespace, &cluster.meta.key.name, &cluster.meta.uid);
    let pods = selector_text(&selector(cluster));
    format!(
        "{STATUS_LOST}, and no member has answered for {} minutes: {waiting}; find out why the members do not start, and correct \
         that; or, to give their data up and create a new cluster, retire the volumes and delete the pods: kubectl label \
         pvc -n {namespace} -l etcd_cluster={name},{OWNER_UID}={uid} {RETIRED}=true && kubectl delete pod -n {namespace} -l \
         {pods}",
        ANSWER_TIMEOUT.as_mins()
    )
}

/// Which clusters the PVCs belong to, and how to retire those of the others.
fn ambiguous_message(observed: &Observed, clusters: &BTreeMap<String, Vec<&str>>) -> String {
    let (namespace, name) = (&observed.cluster.meta.key.namespace, &observed.cluster.meta.key.name);
    let each = clusters.iter().map(|(id, claims)| {
        let claims = claims.join(", ");
        format!("{claims}: kubectl label pvc -n {namespace} -l etcd_cluster={name},{CLUSTER_ID}={id} {RETIRED}=true")
    });
    format!(
        "{STATUS_LOST}, and its PVCs belong to several clusters (label {CLUSTER_ID}): retire the PVCs of all but one; {}",
        each.collect::<Vec<_>>().join("; ")
    )
}

/// Whether members have joined, which they do only after the cluster of the first one has been latched.
fn was_bootstrapped(observed: &Observed, members: &MemberSet<'_>) -> bool {
    let joined = |member: &MemberView<'_>| member.has_joining_pod() && member.has_run();
    let has_restarted =
        |member: &MemberView<'_>| member.annotation(START) == Some(InitialState::Restart.annotation_value());
    if members.all.iter().any(|member| joined(member) || has_restarted(member)) {
        return true;
    }
    // Until then there are the PVC of a first member and those of members that have yet to vote.
    let first = names::first(&observed.cluster);
    let voted = |member: &&MemberView<'_>| member.claim.is_some_and(|claim| !objects::has_yet_to_vote(claim));
    members.all.iter().filter(voted).filter(|member| member.name != first).count() > 1
}

/// Why the operator must not create a first member: foreign pods, perhaps of an earlier operator, have the labels by which the
/// client Service selects members. They would get requests of this cluster's clients, and its members those of theirs.
fn foreign_pods(observed: &Observed) -> Option<EtcdStep> {
    let foreign_pods = match &observed.foreign_pods {
        Some(foreign_pods) => foreign_pods,
        None if !observed.pods.is_empty() => return None,
        None => {
            let why = "waiting to learn whether other pods have this cluster's labels: pods cannot be listed";
            return Some(EtcdStep::wait(EtcdClusterReason::PodsUnknown, why));
        }
    };
    let names = |terminating| {
        let names = foreign_pods.iter().filter(|pod| pod.terminating == terminating).map(|pod| &*pod.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let labels = selector_text(&selector(&observed.cluster));
    match (names(false), names(true)) {
        (stay, _) if !stay.is_empty() => Some(EtcdStep::stuck(
            EtcdClusterReason::ForeignPods,
            format!(
                "foreign pods have this cluster's labels ({labels}), so clients would reach them as well: {stay}; \
                 if they are an earlier operator's cluster, take it over by an EtcdCluster of another name (spec.takeover); \
                 else delete them"
            ),
        )),
        (_, leave) if !leave.is_empty() => Some(EtcdStep::wait(
            ReconcileReason::WaitingForDeletion,
            format!("waiting for earlier pods to be deleted: {leave}"),
        )),
        _ => None,
    }
}

/// Starts the first member, on the volume that it may have already; not on a retired one, even that of an earlier first member.
fn start_first(observed: &Observed, members: &MemberSet<'_>) -> EtcdStep {
    let name = names::first(&observed.cluster);
    let mut claims = members.all.iter().filter(|member| member.claim.is_some() && member.pod.is_none());
    // If it is not that of the first member, the only PVC is that of the second, which has never been listed.
    let seed = claims.clone().find(|member| member.name == name).or_else(|| claims.next());
    let is_claim = |name: &str| observed.claims.iter().any(|claim| *claim.meta.key.name == *name);
    let name = match seed {
        Some(seed) => seed.name.as_str().into(),
        None => names::first_but(&observed.cluster, is_claim).into(),
    };
    EtcdStep::Start { name, state: InitialState::New }
}

/// Whether a first member cannot start, and the spec has been corrected since. One that ran and was killed restarts by itself.
fn needs_corrected_pod(seed: &MemberView<'_>, desired: &Desired) -> bool {
    const KILLED: [i32; 3] = [0, 137, 143];
    let was_killed_once = |etcd: &ContainerStatus| {
        !etcd.in_backoff && etcd.terminated.as_ref().is_some_and(|ended| KILLED.contains(&ended.code))
    };
    let restarts = seed.runs_etcd() || seed.container(ETCD).is_some_and(was_killed_once);
    outdated::is_outdated(seed, desired) && failure_message(seed).is_some() && !restarts
}

/// Whether the etcd of a first member runs and cannot be reached, and the spec has been corrected since.
fn is_unreachable(seed: &MemberView<'_>, desired: &Desired) -> bool {
    seed.endpoint.is_none() && seed.runs_for_long() && outdated::needs_new_pod(seed, desired)
}

/// Whether a first member keeps its data without its pod, or has none. If the pod holds the data, no client may have written any:
/// there must never have been a client Service.
fn may_lose_pod(observed: &Observed, seed: &MemberView<'_>, desired: &Desired) -> bool {
    desired.durable || !seed.has_run() || matches!(observed.clients, ChildState::Absent)
}

/// Creates the pod of the second member, which starts while the first does. It waits until it is listed.
fn start_second(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    seed: &MemberView<'_>,
) -> Option<EtcdStep> {
    // Its pod is as those of a cluster that exists.
    if desired.size < 2 || failure_message(seed).is_some() || observed.cluster.spec.restore.is_some() {
        return None;
    }
    let start = |name| Some(EtcdStep::Start { name, state: InitialState::Existing });
    let others = || members.all.iter().filter(|member| member.name != seed.name);
    if let Some(member) = others().find(|member| member.pod.is_some()) {
        let useless =
            member.has_unusable_claim() || outdated::is_outdated(member, desired) && failure_message(member).is_some();
        return (useless && !member.is_terminating()).then(|| EtcdStep::DeletePod { name: member.name.clone() });
    }
    match others().find_map(|member| Some((member, member.claim?))) {
        Some((_, claim)) if claim.meta.deleting || claim.lost => None,
        Some((member, _)) => start(member.name.as_str().into()),
        None => start(observed.new_member_name.clone()),
    }
}
