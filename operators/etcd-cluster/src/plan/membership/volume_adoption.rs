//! Pure: adopts volumes of an earlier object of this name. An object that was restored from a backup has another UID than its
//! PVCs record, and is the same cluster; an object that a user created again is not. The cluster id, which status and PVCs
//! record, tells them apart, or else a user's annotation. Until that is clear, the operator bootstraps no cluster.

use std::collections::BTreeSet;

use api::etcd_cluster::{ADOPT, EtcdClusterReason};
use runtime::projections::Pvc;

use super::step::EtcdStep;
use crate::plan::adoption::requested_uid;
use crate::plan::member_set::MemberSet;
use crate::plan::objects::{CLUSTER_ID, NAMESPACE, OWNER_UID, RETIRED};
use crate::plan::{Observed, claim_copies, hold};

/// The UID of the object that a PVC was created for.
fn owner_uid(claim: &Pvc) -> &str {
    claim.labels.get(OWNER_UID).map_or("", String::as_str)
}

/// PVCs with data that have this cluster's name and another UID; not those that garbage collection is about to delete, nor those
/// of removed members, nor copies.
fn earlier(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    let cluster = &observed.cluster;
    let holds = |claim: &Pvc| claim.bound || claim.lost || claim.labels.contains_key(CLUSTER_ID);
    let stays = |claim: &Pvc| (!claim.meta.deleting || hold::is_held(claim)) && claim.meta.controller.is_none();
    observed.claims.iter().map(|claim| &**claim).filter(move |claim| {
        !owner_uid(claim).is_empty()
            && *owner_uid(claim) != *cluster.meta.uid
            && !claim.labels.contains_key(RETIRED)
            && !claim_copies::has_copied_labels(cluster, claim)
            && holds(claim)
            && stays(claim)
    })
}

/// Adopts PVCs that are this cluster's, or waits for a user to decide whether they are.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdStep> {
    let latched = observed.cluster.status.cluster_id.as_deref();
    let same = |claim: &&Pvc| match latched {
        Some(latched) => claim.labels.get(CLUSTER_ID).is_some_and(|id| id == latched),
        None => requested_uid(observed) == Some(owner_uid(claim)),
    };
    let own: Vec<&Pvc> = earlier(observed).filter(same).collect();
    if let Some(namespace) = own.iter().find_map(|claim| other_namespace(claim)) {
        return Some(copied(observed, namespace));
    }
    if !own.is_empty() {
        let names = own.into_iter().map(|claim| claim.meta.key.name.to_string()).collect();
        return Some(EtcdStep::Adopt { names });
    }
    let has_members = members.all.iter().any(|member| member.pod.is_some() || member.claim.is_some());
    if latched.is_some() || has_members {
        return None;
    }
    earlier(observed)
        .find_map(other_namespace)
        .map(|namespace| copied(observed, namespace))
        .or_else(|| undecided(observed))
}

/// The namespace that a PVC was created in, if that is another one.
fn other_namespace(claim: &Pvc) -> Option<&str> {
    claim.labels.get(NAMESPACE).map(String::as_str).filter(|namespace| **namespace != *claim.meta.key.namespace)
}

/// Why the operator starts no members on copies of volumes from another namespace: etcd keeps the addresses of members in its
/// data.
fn copied(observed: &Observed, namespace: &str) -> EtcdStep {
    let name = &observed.cluster.meta.key.name;
    let message = format!(
        "no member is started: volumes of EtcdCluster {name} of namespace {namespace} exist here, and members on them would \
         join that cluster, since etcd keeps addresses in its data; to use its data here, restore a snapshot of it (etcdctl \
         snapshot save) into a new \
         cluster; to start without it, retire the volumes: kubectl label pvc -l etcd_cluster={name},{NAMESPACE}={namespace} \
         {RETIRED}=true"
    );
    EtcdStep::stuck(EtcdClusterReason::VolumesFound, message)
}

/// Why the operator bootstraps no cluster yet.
fn undecided(observed: &Observed) -> Option<EtcdStep> {
    let name = &observed.cluster.meta.key.name;
    let Some(uid) = earlier(observed).map(owner_uid).min() else {
        let uid = requested_uid(observed).filter(|uid| **uid != *observed.cluster.meta.uid)?;
        let message = format!(
            "no cluster is created: the annotation {ADOPT} requests the volumes of the {name} with uid {uid}, and there are \
             none (PVCs with the label {OWNER_UID}={uid}); restore them, or remove the annotation"
        );
        return Some(EtcdStep::stuck(EtcdClusterReason::VolumesNotFound, message));
    };
    let claims: BTreeSet<&str> =
        earlier(observed).filter(|claim| owner_uid(claim) == uid).map(|claim| &*claim.meta.key.name).collect();
    let claims = claims.into_iter().collect::<Vec<_>>().join(", ");
    let message = format!(
        "no new cluster is created: volumes of an earlier {name} exist (PVCs {claims}); to adopt them, kubectl annotate \
         etcd {name} \
         {ADOPT}={uid}; to start without their data, retire them, after which they can be deleted: kubectl label pvc -l \
         etcd_cluster={name},{OWNER_UID}={uid} {RETIRED}=true"
    );
    Some(EtcdStep::stuck(EtcdClusterReason::VolumesFound, message))
}
