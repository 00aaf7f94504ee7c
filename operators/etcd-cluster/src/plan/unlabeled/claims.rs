//! Pure: members' PVCs whose labels a user edited. The operator watches PVCs by their labels; but the pod that uses a PVC, and
//! the other labels and the finalizer on it, also say which cluster it belongs to.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::cache::Projection as _;
use runtime::projections::{Pod, Pvc};
use serde_json::Value;

use crate::EtcdCluster;
use crate::plan::objects::{CLUSTER_ID, OWNER_UID, RETIRED};
use crate::plan::{Etcd, Observed, hold, member_set, names};

pub use crate::plan::observed::claims::ClaimLookups;

/// The names of members whose PVCs have to be read by name, because the stores have none: of members that have a pod, or that the
/// status or etcd lists.
#[must_use]
pub fn missing_claims(
    cluster: &EtcdCluster,
    pods: &[Arc<Pod>],
    claims: &[Arc<Pvc>],
    etcd: Option<&Etcd>,
) -> BTreeSet<String> {
    if cluster.status.storage.as_ref().is_some_and(|storage| !storage.durable) {
        return BTreeSet::new();
    }
    let of_pods = pods.iter().filter(|pod| pod.details.is_some()).map(|pod| pod.meta.key.name.to_string());
    let mut wanted: BTreeSet<String> = of_pods.chain(listed(cluster, etcd)).collect();
    wanted.retain(|name| names::is_generated(cluster, name));
    for claim in claims {
        wanted.remove(&*claim.meta.key.name);
    }
    wanted
}

/// The members: as etcd lists them, or else as the status does.
fn listed(cluster: &EtcdCluster, etcd: Option<&Etcd>) -> BTreeSet<String> {
    match etcd.map(|etcd| &etcd.members) {
        Some(Ok(members)) => members.iter().map(member_set::name).collect(),
        _ => cluster.status.listed().map(|status| status.name.clone()).collect(),
    }
}

/// Classifies what a live read has found under a member's name: its PVC, a foreign one, or none.
pub fn classify(
    cluster: &EtcdCluster,
    pods: &[Arc<Pod>],
    name: &str,
    live: Option<&Value>,
    claims: &mut Vec<Arc<Pvc>>,
) -> ClaimLookups {
    let mut lookups = ClaimLookups::default();
    match live.map(|live| Pvc::decode(&live.to_string())) {
        None => drop(lookups.absent.insert(name.into())),
        Some(Ok(claim)) if is_own(cluster, pods, &claim) => claims.push(Arc::new(as_own(cluster, claim))),
        Some(_) => drop(lookups.foreign.insert(name.into())),
    }
    lookups
}

/// Accepts watched PVCs of members that lack the label with the cluster's UID.
pub fn accept_unlabeled(cluster: &EtcdCluster, pods: &[Arc<Pod>], claims: &mut [Arc<Pvc>]) {
    let members = listed(cluster, None);
    let has_pod = |name: &str| pods.iter().any(|pod| *pod.meta.key.name == *name);
    for claim in claims {
        let name = &*claim.meta.key.name;
        let of_member = members.contains(name) || has_pod(name);
        if of_member && !has_uid(cluster, claim) && is_own(cluster, pods, claim) {
            *claim = Arc::new(as_own(cluster, Pvc::clone(claim)));
        }
    }
}

fn has_uid(cluster: &EtcdCluster, claim: &Pvc) -> bool {
    claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *cluster.meta.uid)
}

/// Whether a PVC with a member's name is that member's: by its label with the UID, its owner reference, the pod that uses it, the
/// cluster whose data it holds, or the finalizer, which no other PVCs have.
fn is_own(cluster: &EtcdCluster, pods: &[Arc<Pod>], claim: &Pvc) -> bool {
    if has_uid(cluster, claim) || claim.meta.controlled_by(&cluster.meta.uid) {
        return true;
    }
    let latched = cluster.status.cluster_id.as_deref();
    let holds = claim.labels.get(CLUSTER_ID).map(String::as_str);
    if latched.is_some() && holds.is_some() && latched != holds {
        return false;
    }
    let used = || pods.iter().any(|pod| pod.details.is_some() && pod.meta.key.name == claim.meta.key.name);
    let unlabeled = !claim.labels.contains_key(OWNER_UID);
    (latched.is_some() && latched == holds) || used() || unlabeled && hold::is_held(claim)
}

fn as_own(cluster: &EtcdCluster, mut claim: Pvc) -> Pvc {
    claim.labels.insert(OWNER_UID.to_owned(), cluster.meta.uid.to_string());
    claim
}

/// Ignores the label of retired PVCs on those of listed members. Before a cluster id is latched, a user sets that label to
/// exclude volumes.
pub fn ignore_retired_labels(observed: &mut Observed) {
    let Some(latched) = observed.cluster.status.cluster_id.clone() else { return };
    let members = listed(&observed.cluster, Some(&observed.etcd));
    for claim in &mut observed.claims {
        let name = &*claim.meta.key.name;
        let is_of_it = claim.labels.get(CLUSTER_ID).is_none_or(|holds| *holds == latched);
        if !members.contains(name) || !is_of_it || !has_uid(&observed.cluster, claim) {
            continue;
        }
        if claim.labels.contains_key(RETIRED) {
            observed.claim_lookups.marked.insert(name.into());
            let mut unmarked = Pvc::clone(claim);
            unmarked.labels.remove(RETIRED);
            *claim = Arc::new(unmarked);
        }
    }
}
