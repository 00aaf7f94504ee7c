//! Pure: what works, but not as well as a person might think.

use api::etcd_cluster::EtcdClusterReason;
use runtime::projections::Claim;

use super::super::objects::{OWNER_UID, RETIRED};
use super::super::roster::Roster;
use super::super::{Explanation, Observed, claim_copies, hold, objects, space};
use super::members::largest;

/// The worst of it, with its reason.
pub(super) fn worst(observed: &Observed, roster: &Roster<'_>) -> Option<Explanation> {
    let told = largest(roster, observed.cluster.status.db_size.as_deref());
    terminating(roster)
        .or_else(|| marked(observed))
        .or_else(|| space::low(observed, roster))
        .or_else(|| space::warning(observed, roster, told.as_deref()))
        .or_else(|| copies(observed))
        .or_else(|| larger(observed, roster))
        .or_else(|| of_spec(observed))
}

/// Members whose claims are being deleted, though their pods are there to stay.
fn terminating(roster: &Roster<'_>) -> Option<Explanation> {
    let nodes = roster.nodes.iter().filter(|node| space::is_terminating(node));
    let names: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let message = format!(
            "claims are being deleted: {}; their members are replaced one by one, each when another one votes in its place: \
             do not delete their pods before that, since no new pod can use such a claim",
            names.join(", ")
        );
        (EtcdClusterReason::ClaimTerminating, message)
    })
}

/// Members whose claims a person has marked as those of removed members.
fn marked(observed: &Observed) -> Option<Explanation> {
    let marked = &observed.found.marked;
    let names = marked.iter().map(|name| &**name).collect::<Vec<_>>().join(" ");
    (!marked.is_empty()).then(|| {
        let message = format!(
            "claims of members have the label {RETIRED}, so no finalizer keeps their volumes when they are deleted: unless that \
             is intended, take it off: kubectl label pvc -n {} {names} {RETIRED}-",
            observed.cluster.meta.key.namespace
        );
        (EtcdClusterReason::ClaimMarked, message)
    })
}

/// Claims that bear the labels of members' and are none.
fn copies(observed: &Observed) -> Option<Explanation> {
    let names: Vec<&str> = reported(observed).map(|claim| &*claim.meta.key.name).collect();
    (!names.is_empty()).then(|| {
        let message = format!(
            "PVCs have this cluster's labels but belong to no member: {}; the operator neither uses nor deletes them; remove the \
             owner label: kubectl label pvc -n {} {} {OWNER_UID}-",
            names.join(", "),
            observed.cluster.meta.key.namespace,
            names.join(" "),
        );
        (EtcdClusterReason::ClaimCopied, message)
    })
}

/// The unused copies that the condition Warning lists.
fn reported(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let stays = |claim: &&Claim| !claim.meta.deleting && !claim.labels.contains_key(RETIRED);
    hold::made_for(observed).filter(stays).filter(|claim| claim_copies::is_unused_copy(observed, claim))
}

/// Members whose volumes are larger than the spec asks for now.
fn larger(observed: &Observed, roster: &Roster<'_>) -> Option<Explanation> {
    let claims = roster.nodes.iter().filter_map(|node| node.claim);
    let larger = claims.filter(|claim| objects::is_larger(&observed.cluster, claim));
    let names: Vec<&str> = larger.map(|claim| &*claim.meta.key.name).collect();
    (!names.is_empty()).then(|| {
        let message =
            format!("volumes do not shrink: those of {} stay larger than the spec asks for now", names.join(", "));
        (EtcdClusterReason::VolumesLarger, message)
    })
}

/// What of the spec is of little use.
fn of_spec(observed: &Observed) -> Option<Explanation> {
    let spec = &observed.cluster.spec;
    if spec.size % 2 == 0 {
        let size = spec.size;
        let message =
            format!("a cluster of {size} members tolerates no more failures than one of {}; use an odd size", size - 1);
        return Some((EtcdClusterReason::EvenSize, message));
    }
    let busybox = spec.pod.as_ref().is_some_and(|pod| pod.busybox_image.is_some());
    busybox.then(|| (EtcdClusterReason::FieldNotUsed, "spec.pod.busyboxImage is not used any more".to_owned()))
}
