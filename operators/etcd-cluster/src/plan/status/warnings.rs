//! Pure: the condition Warning.

use api::etcd_cluster::{EarlierMembers, EtcdClusterReason};
use runtime::projections::Pvc;

use super::super::member_set::{MemberSet, MemberView};
use super::super::objects::{OWNER_UID, RETIRED};
use super::super::{Explanation, Observed, claim_copies, defragmentation, hibernation, hold, objects, space};
use super::members::largest_database;

/// The worst warning, if there is any.
pub(super) fn worst(observed: &Observed, members: &MemberSet<'_>) -> Option<Explanation> {
    let db_size = largest_database(members, observed.cluster.status.db_size.as_deref());
    terminating(observed, members)
        .or_else(|| marked(observed))
        .or_else(|| space::low_warning(observed, members))
        .or_else(|| space::warning(observed, members, db_size.as_deref()))
        .or_else(|| certificates(observed))
        .or_else(|| copies(observed))
        .or_else(|| larger(observed, members))
        .or_else(|| defragmentation::warning(observed))
        .or_else(|| earlier_members(observed, members))
        .or_else(|| spec_warning(observed))
}

/// Members whose PVCs are terminating while their pods are not, or that cannot resume for that reason.
fn terminating(observed: &Observed, members: &MemberSet<'_>) -> Option<Explanation> {
    let those = |are: &dyn Fn(&MemberView<'_>) -> bool| {
        members
            .all
            .iter()
            .filter(|member| are(member))
            .map(|member| member.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let stopped = those(&|member| hibernation::cannot_resume(observed, member));
    let running = those(&space::has_terminating_volume);
    let message = match (stopped.is_empty(), running.is_empty()) {
        (false, _) => format!(
            "PVCs of stopped members are terminating: {stopped}; a finalizer keeps the data, but no new pod can use such a PVC, so these \
             members will not resume; the cluster resumes if a majority does, and the operator replaces them"
        ),
        (_, false) => format!(
            "PVCs of members are terminating: {running}; the operator replaces these members one by one, each once another one votes \
             in its place; do not delete their pods before that, since no new pod can use such a PVC"
        ),
        _ => return None,
    };
    Some((EtcdClusterReason::ClaimTerminating, message))
}

/// Members whose PVCs a user has labeled as those of removed members.
fn marked(observed: &Observed) -> Option<Explanation> {
    let marked = &observed.claim_lookups.marked;
    let names = marked.iter().map(|name| &**name).collect::<Vec<_>>().join(" ");
    (!marked.is_empty()).then(|| {
        let message = format!(
            "PVCs of members have the label {RETIRED}, so no finalizer protects their volumes from deletion; unless that is \
             intended, remove it: kubectl label pvc -n {} {names} {RETIRED}-",
            observed.cluster.meta.key.namespace
        );
        (EtcdClusterReason::ClaimMarked, message)
    })
}

/// A certificate that expires soon. The condition Stalled reports one that has expired.
fn certificates(observed: &Observed) -> Option<Explanation> {
    let usable = observed.tls.unusable.is_none();
    let renewal = observed.tls.renewal.as_ref().filter(|renewal| usable && renewal.is_due)?;
    let (file, expires) = (&renewal.file, renewal.expires);
    let message = format!("{file} expires at {expires}: renew it; connections that need it fail from then on");
    Some((EtcdClusterReason::CertificateExpiring, message))
}

/// PVCs with the labels of members that belong to no member.
fn copies(observed: &Observed) -> Option<Explanation> {
    let names: Vec<&str> = unused_copies(observed).map(|claim| &*claim.meta.key.name).collect();
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
fn unused_copies(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    let stays = |claim: &&Pvc| !claim.meta.deleting && !claim.labels.contains_key(RETIRED);
    hold::own_claims(observed).filter(stays).filter(|claim| claim_copies::is_unused_copy(observed, claim))
}

/// Members of a cluster that is taken over that stay until the spec says otherwise.
fn earlier_members(observed: &Observed, members: &MemberSet<'_>) -> Option<Explanation> {
    let takeover = observed.cluster.spec.takeover.as_ref()?;
    let names: Vec<&str> = members.earlier().map(|member| member.name.as_str()).collect();
    let own = members.own_voters().count();
    let joined = usize::try_from(observed.cluster.spec.size).is_ok_and(|size| own >= size);
    let stay = joined && !names.is_empty() && takeover.earlier_members == EarlierMembers::Keep;
    stay.then(|| {
        let message = format!(
            "earlier members still belong to the cluster: {}; once all clients use the Service {}, set spec.takeover.earlierMembers to \
             Remove",
            names.join(", "),
            objects::client_service(&observed.cluster)
        );
        (EtcdClusterReason::EarlierMembers, message)
    })
}

/// Members whose volumes are larger than the spec requests.
fn larger(observed: &Observed, members: &MemberSet<'_>) -> Option<Explanation> {
    let claims = members.all.iter().filter_map(|member| member.claim);
    let larger = claims.filter(|claim| objects::is_larger(&observed.cluster, claim));
    let names: Vec<&str> = larger.map(|claim| &*claim.meta.key.name).collect();
    (!names.is_empty()).then(|| {
        let message =
            format!("volumes cannot shrink: those of {} stay larger than the spec requests", names.join(", "));
        (EtcdClusterReason::VolumesLarger, message)
    })
}

/// Fields of the spec that do not help.
fn spec_warning(observed: &Observed) -> Option<Explanation> {
    let spec = &observed.cluster.spec;
    if spec.size % 2 == 0 {
        let size = spec.size;
        let message =
            format!("a cluster of {size} members tolerates no more failures than one of {}; use an odd size", size - 1);
        return Some((EtcdClusterReason::EvenSize, message));
    }
    let busybox = spec.pod.as_ref().is_some_and(|pod| pod.busybox_image.is_some());
    busybox.then(|| (EtcdClusterReason::FieldNotUsed, "spec.pod.busyboxImage is not used".to_owned()))
}
