//! Pure: plans for an EtcdCluster that is being deleted. The operator releases its PVCs, which no controller would do later. If
//! their data is to be retained and they are terminating, the operator first replaces their members by others on new volumes.

use std::time::Duration;

use api::condition_type::{READY, STALLED};
use api::etcd_cluster::condition_type::TERMINATING;
use api::etcd_cluster::{ETCD_VOLUMES, EtcdClusterReason, EtcdClusterStatus, OnDelete};
use api::{Condition, ConditionStatus};
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection as _;
use runtime::namespaces::Termination;
use runtime::plan::{Apply, ChildState, Delete, Effect, EventDraft, Plan, Requeue};
use runtime::projections::Pvc;
use runtime::status::conditions::condition;

use super::backups::{self, LastBackup};
use super::requeue::RETRY;
use super::{
    EtcdAct, EtcdPlan, Observed, adoption, claim_copies, clock, hold, leaving, names, objects, takeover, upkeep,
};
use crate::EtcdCluster;

/// How long PVCs keep their finalizers after the object was deleted. A user who deletes both with one command deletes the object
/// first, and PVCs that were released by then would be deleted, retained or not.
const RELEASE_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// The finalizer of a foreground deletion, in which pods are deleted before the object.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of a deletion that orphans what the object owns (`--cascade=orphan`). Garbage collection removes it after the
/// owner references.
const ORPHAN: &str = "orphan";

/// The plan for a cluster that is being deleted.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    if !cluster.meta.has_finalizer(ETCD_VOLUMES) {
        return Plan::nothing();
    }
    if let Some((plan, reason, message)) = leaving::plan(observed, now).filter(|_| observed.termination.is_none()) {
        return with_condition(observed, plan, reason, message, now);
    }
    // The data of a cluster that was joined stays with its earlier members.
    let left = takeover::is_under_way(cluster);
    if let Some(last) = backups::last(observed).filter(|_| may_be_backed_up(observed) && !left) {
        return take_last_backup(observed, last, now);
    }
    if observed.termination.is_some()
        || objects::policy(cluster) == OnDelete::Delete
        || !hold::anything_to_keep(observed)
    {
        return release(observed);
    }
    let terminating = hold::held_claims(observed)
        .filter(|claim| claim.meta.deleting && !claim_copies::is_unused_copy(observed, claim));
    let terminating: Vec<&str> = terminating.map(|claim| &*claim.meta.key.name).collect();
    if !terminating.is_empty() && !left {
        return replace_members(observed, &terminating, now);
    }
    match since(&cluster.status) {
        Some(since) if clock::elapsed(since, now) >= RELEASE_AFTER => release(observed),
        since => {
            let left = since.map_or(RELEASE_AFTER, |since| RELEASE_AFTER - now.duration_since(since));
            let message = format!(
                "releasing the PVCs of the members {} s after the deletion: spec.storage.onDelete is Retain, and until then \
                 the operator protects PVCs that are deleted as well",
                RELEASE_AFTER.as_secs()
            );
            let next = Duration::try_from(left).unwrap_or(RETRY);
            with_condition(
                observed,
                Plan { next: Requeue::After(next), ..Plan::nothing() },
                EtcdClusterReason::WaitingForClaims,
                message,
                now,
            )
        }
    }
}

/// Whether there is something to back up, and a Job could do it: nothing is created in a namespace that is terminating.
fn may_be_backed_up(observed: &Observed) -> bool {
    observed.termination.is_none() && hold::anything_to_keep(observed)
}

/// Continues the cluster until its last backup is complete.
fn take_last_backup(observed: &Observed, last: LastBackup, now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    let way_out = format!(
        "to delete the cluster without it: kubectl patch etcd -n {} {} --type merge -p '{{\"spec\":{{\"onDelete\":null}}}}'",
        cluster.meta.key.namespace, cluster.meta.key.name
    );
    if cluster.meta.has_finalizer(FOREGROUND) {
        let message = format!(
            "no last backup can be taken (spec.onDelete.backup), since the foreground deletion has deleted the pods of the members; {way_out}"
        );
        let waits = Plan { next: Requeue::After(RETRY), ..Plan::nothing() };
        return with_condition(observed, waits, EtcdClusterReason::DeletionBlocked, message, now);
    }
    let mut plan = upkeep::plan(observed, now);
    plan.effects.extend(last.request);
    let message =
        format!("the cluster is deleted after its last backup (spec.onDelete.backup): {}; {way_out}", last.message);
    let reason = if last.stalled { EtcdClusterReason::DeletionBlocked } else { EtcdClusterReason::TakingLastBackup };
    plan.next = plan.next.no_later_than(RETRY);
    with_condition(observed, plan, reason, message, now)
}

/// Releases all PVCs, and deletes those that are to be deleted and have no owner reference.
fn release(observed: &Observed) -> EtcdPlan {
    let cluster = &*observed.cluster;
    let deleted =
        objects::policy(cluster) == OnDelete::Delete && observed.termination.is_none() && !is_orphaning(observed);
    let unowned = |claim: &&Pvc| {
        deleted
            && !claim.meta.deleting
            && claim.meta.controller.is_none()
            && !claim_copies::has_copied_labels(cluster, claim)
    };
    let delete = |claim| Effect::Delete(Delete::of(Pvc::KIND, claim));
    // PVCs that were created with another policy may still have the owner reference: the operator does not change them while the
    // cluster is paused, or its members have no pods.
    let stays = observed.termination != Some(Termination::Namespace);
    let disowned = hold::own_claims(observed).filter(|claim| stays && objects::has_unwanted_owner(cluster, claim));
    let mut effects: Vec<Effect<EtcdAct>> =
        disowned.map(|claim| Effect::Apply(objects::adopted(cluster, claim))).collect();
    effects.extend(hold::held_claims(observed).chain(hold::held_claims_of_earlier(observed)).filter_map(hold::release));
    effects.extend(hold::held_claims(observed).filter(unowned).map(|claim| delete(&claim.meta)));
    effects.extend(unused_claims(observed).map(|claim| {
        Effect::Delete(Delete { version: Some(claim.meta.resource_version), ..Delete::of(Pvc::KIND, &claim.meta) })
    }));
    effects.push(Effect::Apply(Apply::finalizers(EtcdCluster::KIND, &cluster.meta, &[])));
    Plan { effects, next: Requeue::After(RETRY), ..Plan::nothing() }
}

/// The PVCs of a cluster that has never begun, for example because the snapshot of `spec.restore` does not exist. Retained, they would
/// only keep the next cluster of the name from beginning.
fn unused_claims(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    let cluster = &*observed.cluster;
    let begun = hold::anything_to_keep(observed) || observed.termination.is_some() || is_orphaning(observed);
    // Adopted PVCs may have data and no record of it. Of those of this object, none has another name than these: the first member's
    // name follows from its UID.
    let adopts = adoption::is_annotated(cluster);
    let first = names::first(cluster);
    hold::own_claims(observed).filter(move |claim| {
        let empty = !objects::has_any_record(claim) && !hold::is_held(claim);
        let own = *claim.meta.key.name == *first || objects::has_yet_to_vote(claim);
        !begun && !adopts && empty && own && !claim.meta.deleting && !claim_copies::has_copied_labels(cluster, claim)
    })
}

/// Whether PVCs lost their owner references because the deletion orphans what the cluster owned. Garbage collection may already
/// have removed its finalizer. Then other objects without owner references show it: members' pods, or the other children, which a
/// background deletion deletes only after the object.
fn is_orphaning(observed: &Observed) -> bool {
    let cluster = &*observed.cluster;
    let foreign = || observed.foreign_selected.iter().any(|pod| names::is_generated(cluster, pod));
    let owns_none = || {
        let absent = matches!((&observed.peers, &observed.clients), (ChildState::Absent, ChildState::Absent));
        absent && matches!(observed.budget, ChildState::Absent) && !cluster.meta.has_finalizer(FOREGROUND)
    };
    cluster.meta.has_finalizer(ORPHAN) || foreign() || cluster.status.cluster_id.is_some() && owns_none()
}

/// Continues the cluster while PVCs with data are terminating, to replace their members.
fn replace_members(observed: &Observed, terminating: &[&str], now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    let claims = terminating.join(", ");
    let way_out = "to give the data up, set spec.storage.onDelete to Delete";
    if cluster.meta.has_finalizer(FOREGROUND) {
        let message = format!(
            "the PVCs {claims} are terminating, spec.storage.onDelete is Retain, and their members cannot be replaced, since the \
             foreground deletion has deleted their pods: the finalizer {} keeps the volumes; {way_out}; to keep it, first set \
             the reclaim policy of the PersistentVolumes to Retain",
            api::UNSAVED_DATA
        );
        let waits = Plan { next: Requeue::After(RETRY), ..Plan::nothing() };
        return with_condition(observed, waits, EtcdClusterReason::DeletionBlocked, message, now);
    }
    let plan = upkeep::plan(observed, now);
    let contract = &plan.status.as_ref().unwrap_or(&cluster.status).contract;
    let ready = contract.condition(READY).map_or("", |ready| ready.message.as_str());
    let stuck = contract.is_true(STALLED) || cluster.spec.paused;
    let reason = if stuck { EtcdClusterReason::DeletionBlocked } else { EtcdClusterReason::SavingVolumes };
    let message = format!(
        "the PVCs {claims} are terminating as well, and spec.storage.onDelete is Retain, so the operator replaces their \
         members by \
         others on new volumes before it releases the cluster; {way_out}; {ready}"
    );
    with_condition(observed, plan, reason, message, now)
}

/// When the deletion was first seen.
fn since(status: &EtcdClusterStatus) -> Option<Timestamp> {
    status.contract.condition(TERMINATING).map(|condition| condition.last_transition_time)
}

/// The same plan, with the condition that reports what the deletion waits for.
fn with_condition(
    observed: &Observed,
    plan: EtcdPlan,
    reason: EtcdClusterReason,
    message: String,
    now: Timestamp,
) -> EtcdPlan {
    let before = &observed.cluster.status;
    let mut status = plan.status.unwrap_or_else(|| before.clone());
    let conditions = &mut status.contract.conditions;
    conditions.retain(|condition| condition.type_ != TERMINATING);
    conditions.push(condition(TERMINATING, ConditionStatus::True, reason, message.clone(), now));
    let is_news = |was: &Condition| was.reason != reason;
    let mut events = plan.events_after_status;
    if reason != EtcdClusterReason::WaitingForClaims && before.contract.condition(TERMINATING).is_none_or(is_news) {
        events.push(EventDraft {
            warning: ![EtcdClusterReason::TakingLastBackup, EtcdClusterReason::LeavingCluster].contains(&reason),
            reason: reason.into(),
            message,
        });
    }
    Plan { events_after_status: events, status: Some(status), ..plan }
}
