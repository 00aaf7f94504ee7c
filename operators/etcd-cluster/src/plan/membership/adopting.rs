//! Pure: volumes that an earlier object of this name left. An object that comes back from a backup has another uid than its claims
//! tell of, and is the same cluster; one that a person made anew is not. What tells them apart is the id of the cluster,
//! which status and claims both bear, or else a person, by an annotation. Until that is clear nothing is begun beside them.

use std::collections::BTreeSet;

use api::etcd_cluster::{ADOPT, EtcdClusterReason};
use runtime::projections::Claim;

use super::step::Step;
use crate::plan::adoption::asked;
use crate::plan::objects::{CLUSTER_ID, NAMESPACE, OWNER_UID, RETIRED};
use crate::plan::roster::Roster;
use crate::plan::{Observed, claim_copies, hold};

/// The uid that a claim was made for.
fn made_for(claim: &Claim) -> &str {
    claim.labels.get(OWNER_UID).map_or("", String::as_str)
}

/// Claims with data that bear this cluster's name and another uid. Those that garbage collection is about to take count
/// for nothing, and neither do those of members that were removed, nor copies.
fn earlier(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let cluster = &observed.cluster;
    let holds = |claim: &Claim| claim.bound || claim.lost || claim.labels.contains_key(CLUSTER_ID);
    let stays = |claim: &Claim| (!claim.meta.deleting || hold::is_held(claim)) && claim.meta.controller.is_none();
    observed.claims.iter().map(|claim| &**claim).filter(move |claim| {
        !made_for(claim).is_empty()
            && *made_for(claim) != *cluster.meta.uid
            && !claim.labels.contains_key(RETIRED)
            && !claim_copies::has_copied_labels(cluster, claim)
            && holds(claim)
            && stays(claim)
    })
}

/// Takes claims over that are this cluster's, or holds it until a person has said whether they are.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>) -> Option<Step> {
    let latched = observed.cluster.status.cluster_id.as_deref();
    let same = |claim: &&Claim| match latched {
        Some(latched) => claim.labels.get(CLUSTER_ID).is_some_and(|id| id == latched),
        None => asked(observed) == Some(made_for(claim)),
    };
    let ours: Vec<&Claim> = earlier(observed).filter(same).collect();
    if let Some(namespace) = ours.iter().find_map(|claim| elsewhere(claim)) {
        return Some(copied(observed, namespace));
    }
    if !ours.is_empty() {
        let names = ours.into_iter().map(|claim| claim.meta.key.name.to_string()).collect();
        return Some(Step::Adopt { names });
    }
    let begun = roster.nodes.iter().any(|node| node.pod.is_some() || node.claim.is_some());
    if latched.is_some() || begun {
        return None;
    }
    earlier(observed).find_map(elsewhere).map(|namespace| copied(observed, namespace)).or_else(|| held(observed))
}

/// The namespace that a claim was made in, if that is another one.
fn elsewhere(claim: &Claim) -> Option<&str> {
    claim.labels.get(NAMESPACE).map(String::as_str).filter(|made_in| **made_in != *claim.meta.key.namespace)
}

/// Why copies of the volumes of another namespace's cluster are not started: etcd keeps the addresses of members in its data.
fn copied(observed: &Observed, namespace: &str) -> Step {
    let name = &observed.cluster.meta.key.name;
    let message = format!(
        "volumes of the {name} of namespace {namespace} are here. Members that start on them go by the addresses that they had \
         there, and would take part in that cluster, so none is started: to have its data here, restore a snapshot of it \
         (etcdctl snapshot save) into a new cluster; to begin anew, put them aside: kubectl label pvc -l \
         etcd_cluster={name},{NAMESPACE}={namespace} {RETIRED}=true"
    );
    Step::stuck(EtcdClusterReason::VolumesFound, message)
}

/// Why nothing is begun yet.
fn held(observed: &Observed) -> Option<Step> {
    let name = &observed.cluster.meta.key.name;
    let Some(uid) = earlier(observed).map(made_for).min() else {
        let uid = asked(observed).filter(|uid| **uid != *observed.cluster.meta.uid)?;
        let message = format!(
            "the annotation {ADOPT} asks for the volumes of the {name} with uid {uid}, and there are none (claims with the \
             label {OWNER_UID}={uid}), so no cluster is begun: restore them, or take the annotation away"
        );
        return Some(Step::stuck(EtcdClusterReason::VolumesNotFound, message));
    };
    let claims: BTreeSet<&str> =
        earlier(observed).filter(|claim| made_for(claim) == uid).map(|claim| &*claim.meta.key.name).collect();
    let claims = claims.into_iter().collect::<Vec<_>>().join(", ");
    let message = format!(
        "volumes of an earlier {name} are there (claims {claims}), so no new cluster is begun beside them: to have that \
         cluster back, kubectl annotate etcd {name} {ADOPT}={uid}; to begin anew, put them aside, after which they can be \
         deleted: kubectl label pvc -l etcd_cluster={name},{OWNER_UID}={uid} {RETIRED}=true"
    );
    Some(Step::stuck(EtcdClusterReason::VolumesFound, message))
}
