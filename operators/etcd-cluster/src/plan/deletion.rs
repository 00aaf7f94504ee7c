//! Pure: what is done before an EtcdCluster goes: its claims are released, for nobody does that later. Those that are being
//! deleted, though their data is to be retained, are not: their members are replaced first by others, on volumes that stay.

use std::time::Duration;

use api::condition_type::{READY, STALLED};
use api::etcd_cluster::condition_type::TERMINATING;
use api::etcd_cluster::{ETCD_VOLUMES, EtcdClusterReason, EtcdClusterStatus, OnDelete};
use api::{Condition, ConditionStatus};
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection as _;
use runtime::namespaces::Termination;
use runtime::plan::{Apply, ChildState, Delete, Effect, EventDraft, Plan, Requeue};
use runtime::projections::Claim;
use runtime::status::conditions::condition;

use super::pause::LATER;
use super::{EtcdAct, EtcdPlan, Observed, claim_copies, clock, hold, living, names, objects};
use crate::EtcdCluster;

/// How long claims are kept after the object has been deleted: whoever deletes both by one command deletes the object first,
/// and claims that were released by then would go, retained or not.
const GRACE: SignedDuration = SignedDuration::from_secs(10);
/// The finalizer of a deletion in the foreground, which takes pods away before the object.
const FOREGROUND: &str = "foregroundDeletion";
/// That of a deletion which is to leave all that the object owns (`--cascade=orphan`). Garbage collection takes it off once it has taken
/// the owner references off.
const ORPHAN: &str = "orphan";

/// Decides.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    if !cluster.meta.is_held_by(ETCD_VOLUMES) {
        return Plan::nothing();
    }
    if observed.termination.is_some()
        || objects::policy(cluster) == OnDelete::Delete
        || !hold::anything_to_keep(observed)
    {
        return go(observed);
    }
    let dying =
        hold::own(observed).filter(|claim| claim.meta.deleting && !claim_copies::is_unused_copy(observed, claim));
    let dying: Vec<&str> = dying.map(|claim| &*claim.meta.key.name).collect();
    if !dying.is_empty() {
        return save(observed, &dying, now);
    }
    match since(&cluster.status) {
        Some(since) if clock::lasted(since, now) >= GRACE => go(observed),
        since => {
            let left = since.map_or(GRACE, |since| GRACE - now.duration_since(since));
            let message = format!(
                "releasing the claims of the members {} s after the deletion, lest they are being deleted as well: \
                 spec.storage.onDelete is Retain",
                GRACE.as_secs()
            );
            let next = Duration::try_from(left).unwrap_or(LATER);
            told(
                observed,
                Plan { next: Requeue::After(next), ..Plan::nothing() },
                EtcdClusterReason::WaitingForClaims,
                message,
                now,
            )
        }
    }
}

/// All is released. What an owner reference does not take along, though it is to be deleted, is deleted here.
fn go(observed: &Observed) -> EtcdPlan {
    let cluster = &*observed.cluster;
    let deleted =
        objects::policy(cluster) == OnDelete::Delete && observed.termination.is_none() && !is_orphaning(observed);
    let left = |claim: &&Claim| {
        deleted
            && !claim.meta.deleting
            && claim.meta.controller.is_none()
            && !claim_copies::has_copied_labels(cluster, claim)
    };
    let delete = |claim| Effect::Delete(Delete::of(Claim::KIND, claim));
    // Until then they are the cluster's by an owner reference, where they were made for another policy and nothing has changed them
    // since: while it is paused, or its members are without pods.
    let stay = observed.termination != Some(Termination::Namespace);
    let kept = hold::made_for(observed).filter(|claim| stay && objects::is_owned_in_vain(cluster, claim));
    let mut effects: Vec<Effect<EtcdAct>> = kept.map(|claim| Effect::Apply(objects::adopted(cluster, claim))).collect();
    effects.extend(hold::own(observed).chain(hold::earlier(observed)).filter_map(hold::release));
    effects.extend(hold::own(observed).filter(left).map(|claim| delete(&claim.meta)));
    effects.push(Effect::Apply(Apply::finalizers(EtcdCluster::KIND, &cluster.meta, &[])));
    Plan { effects, next: Requeue::After(LATER), ..Plan::nothing() }
}

/// Whether claims without an owner have lost it because all that the cluster owned is to stay. Where garbage collection has been
/// quicker than we are, what else has lost its owner tells: members' pods, or that nothing is owned any more of what goes after the
/// object in a deletion in the background.
fn is_orphaning(observed: &Observed) -> bool {
    let cluster = &*observed.cluster;
    let foreign = || observed.foreign.iter().any(|pod| names::is_ours(cluster, pod));
    let owns_none = || {
        let absent = matches!((&observed.peers, &observed.clients), (ChildState::Absent, ChildState::Absent));
        absent && matches!(observed.budget, ChildState::Absent) && !cluster.meta.is_held_by(FOREGROUND)
    };
    cluster.meta.is_held_by(ORPHAN) || foreign() || cluster.status.cluster_id.is_some() && owns_none()
}

/// As long as there are claims that would take data along, the cluster goes on, and replaces the members that they are of.
fn save(observed: &Observed, dying: &[&str], now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    let claims = dying.join(", ");
    let way_out = "to give the data up, set spec.storage.onDelete to Delete";
    if cluster.meta.is_held_by(FOREGROUND) {
        let message = format!(
            "the claims {claims} are being deleted, spec.storage.onDelete is Retain, and the members that could be replaced \
             are gone: deletion in the foreground took their pods; the finalizer {} keeps the volumes; {way_out}, after \
             having set the reclaim policy of their PersistentVolumes to Retain if they are to be kept",
            api::UNSAVED_DATA
        );
        let waits = Plan { next: Requeue::After(LATER), ..Plan::nothing() };
        return told(observed, waits, EtcdClusterReason::DeletionBlocked, message, now);
    }
    let plan = living::plan(observed, now);
    let contract = &plan.status.as_ref().unwrap_or(&cluster.status).contract;
    let ready = contract.condition(READY).map_or("", |ready| ready.message.as_str());
    let stuck = contract.is_true(STALLED) || cluster.spec.paused;
    let reason = if stuck { EtcdClusterReason::DeletionBlocked } else { EtcdClusterReason::SavingVolumes };
    let message = format!(
        "the claims {claims} are being deleted as well, and spec.storage.onDelete is Retain, so their members are to be \
         replaced by others on volumes that stay before the cluster goes; {way_out}; {ready}"
    );
    told(observed, plan, reason, message, now)
}

/// When the deletion was first seen.
fn since(status: &EtcdClusterStatus) -> Option<Timestamp> {
    status.contract.condition(TERMINATING).map(|condition| condition.last_transition_time)
}

/// The same plan, which also reports what the deletion waits for.
fn told(observed: &Observed, plan: EtcdPlan, reason: EtcdClusterReason, message: String, now: Timestamp) -> EtcdPlan {
    let before = &observed.cluster.status;
    let mut status = plan.status.unwrap_or_else(|| before.clone());
    let conditions = &mut status.contract.conditions;
    conditions.retain(|condition| condition.type_ != TERMINATING);
    conditions.push(condition(TERMINATING, ConditionStatus::True, reason, message.clone(), now));
    let is_news = |was: &Condition| was.reason != reason;
    let mut events = plan.events;
    if reason != EtcdClusterReason::WaitingForClaims && before.contract.condition(TERMINATING).is_none_or(is_news) {
        events.push(EventDraft { warning: true, reason: reason.into(), message });
    }
    Plan { events, status: Some(status), ..plan }
}
