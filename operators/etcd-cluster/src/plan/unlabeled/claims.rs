//! Pure: claims of members whose labels somebody edited by hand. By their labels they are watched; but whose they are is also
//! said by the pod that uses them, and by what the operator has noted on them.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::cache::Projection as _;
use runtime::projections::{Claim, Pod};
use serde_json::Value;

use crate::EtcdCluster;
use crate::plan::objects::{CLUSTER_ID, OWNER_UID, RETIRED};
use crate::plan::{Etcd, Observed, hold, names, roster};

pub use crate::plan::observed::claims::Found;

/// The names of members whose claims have to be read by their names, because watches tell of none: of those that have a pod,
/// that status tells of, and that etcd lists.
#[must_use]
pub fn unseen(
    cluster: &EtcdCluster,
    pods: &[Arc<Pod>],
    claims: &[Arc<Claim>],
    etcd: Option<&Etcd>,
) -> BTreeSet<String> {
    if cluster.status.storage.as_ref().is_some_and(|storage| !storage.durable) {
        return BTreeSet::new();
    }
    let of_pods = pods.iter().filter(|pod| pod.running.is_some()).map(|pod| pod.meta.key.name.to_string());
    let mut wanted: BTreeSet<String> = of_pods.chain(listed(cluster, etcd)).collect();
    wanted.retain(|name| names::is_ours(cluster, name));
    for claim in claims {
        wanted.remove(&*claim.meta.key.name);
    }
    wanted
}

/// The members: by etcd's word, or else by the status.
fn listed(cluster: &EtcdCluster, etcd: Option<&Etcd>) -> BTreeSet<String> {
    match etcd.map(|etcd| &etcd.members) {
        Some(Ok(members)) => members.iter().map(roster::name).collect(),
        _ => cluster.status.listed().map(|status| status.name.clone()).collect(),
    }
}

/// Takes in what a live look has found under a member's name: its claim, another's, or none.
pub fn read(
    cluster: &EtcdCluster,
    pods: &[Arc<Pod>],
    name: &str,
    live: Option<&Value>,
    claims: &mut Vec<Arc<Claim>>,
) -> Found {
    let mut found = Found::default();
    match live.map(|live| Claim::decode(&live.to_string())) {
        None => drop(found.gone.insert(name.into())),
        Some(Ok(claim)) if is_own(cluster, pods, &claim) => claims.push(Arc::new(as_own(cluster, claim))),
        Some(_) => drop(found.taken.insert(name.into())),
    }
    found
}

/// Takes claims for what they are that watches tell of, and that lack the label with their cluster's uid.
pub fn accept(cluster: &EtcdCluster, pods: &[Arc<Pod>], claims: &mut [Arc<Claim>]) {
    let members = listed(cluster, None);
    let has_pod = |name: &str| pods.iter().any(|pod| *pod.meta.key.name == *name);
    for claim in claims {
        let name = &*claim.meta.key.name;
        let of_member = members.contains(name) || has_pod(name);
        if of_member && !bears_uid(cluster, claim) && is_own(cluster, pods, claim) {
            *claim = Arc::new(as_own(cluster, Claim::clone(claim)));
        }
    }
}

fn bears_uid(cluster: &EtcdCluster, claim: &Claim) -> bool {
    claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *cluster.meta.uid)
}

/// Whether a claim of a member's name is that member's, whatever its labels are: by the uid that it was made for, by its owner
/// reference, by the pod that uses it, by the cluster whose data it holds, or by the finalizer that no other claims have.
fn is_own(cluster: &EtcdCluster, pods: &[Arc<Pod>], claim: &Claim) -> bool {
    if bears_uid(cluster, claim) || claim.meta.controlled_by(&cluster.meta.uid) {
        return true;
    }
    let latched = cluster.status.cluster_id.as_deref();
    let holds = claim.labels.get(CLUSTER_ID).map(String::as_str);
    if latched.is_some() && holds.is_some() && latched != holds {
        return false;
    }
    let used = || pods.iter().any(|pod| pod.running.is_some() && pod.meta.key.name == claim.meta.key.name);
    let unlabeled = !claim.labels.contains_key(OWNER_UID);
    (latched.is_some() && latched == holds) || used() || unlabeled && hold::is_held(claim)
}

fn as_own(cluster: &EtcdCluster, mut claim: Claim) -> Claim {
    claim.labels.insert(OWNER_UID.to_owned(), cluster.meta.uid.to_string());
    claim
}

/// Takes claims of listed members for what they are that somebody has marked as those of removed members. Without a cluster
/// id, that mark is how a person says which volumes are not meant.
pub fn unmark(observed: &mut Observed) {
    let Some(latched) = observed.cluster.status.cluster_id.clone() else { return };
    let members = listed(&observed.cluster, Some(&observed.etcd));
    for claim in &mut observed.claims {
        let name = &*claim.meta.key.name;
        let is_of_it = claim.labels.get(CLUSTER_ID).is_none_or(|holds| *holds == latched);
        if !members.contains(name) || !is_of_it || !bears_uid(&observed.cluster, claim) {
            continue;
        }
        if claim.labels.contains_key(RETIRED) {
            observed.found.marked.insert(name.into());
            let mut unmarked = Claim::clone(claim);
            unmarked.labels.remove(RETIRED);
            *claim = Arc::new(unmarked);
        }
    }
}
