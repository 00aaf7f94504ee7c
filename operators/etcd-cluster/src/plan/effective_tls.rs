//! Pure: TLS of a cluster: what its members have, which the spec cannot change in all respects, and what is wrong with its Secrets.
//!
//! Members register their peer URLs with the cluster, so whether they use TLS among themselves is decided at creation. Pods and PVCs
//! record it. Whether a member serves clients with TLS is a matter of its pod alone, which records it as well.

use std::sync::Arc;

use api::etcd_cluster::{EtcdClusterReason, IssuedTls, MemberSecret, TlsPolicy};
use runtime::projections::{Pod, Pvc};

use super::act::{EtcdAct, MembersKnow};
use super::issued_tls::{self, IssuedCertificate};
use super::member_set::{MemberSet, MemberView};
use super::objects::{AUTHORITIES, CLIENT_TLS, OWNER_UID, PEER_SECRET};
use super::observed::{Observed, ObservedTls};
use super::tls::peer_secret;
use super::{Explanation, adoption, names};
use crate::EtcdCluster;

/// The cluster with the TLS that its members can have, and the part of `spec.TLS` that is refused.
#[must_use]
pub fn effective(
    cluster: &Arc<EtcdCluster>,
    pods: &[Arc<Pod>],
    claims: &[Arc<Pvc>],
) -> (Arc<EtcdCluster>, Option<Explanation>) {
    let exists = pods.iter().any(|pod| pod.details.is_some());
    let adopts = adoption::is_annotated(cluster);
    let own = |claim: &&Arc<Pvc>| adopts || claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *cluster.meta.uid);
    let mut claims = claims.iter().filter(own).peekable();
    if !exists && claims.peek().is_none() {
        return (Arc::clone(cluster), None);
    }
    let of_pods = pods.iter().filter_map(|pod| pod.details.as_ref()?.annotations.get(PEER_SECRET));
    let recorded = of_pods.chain(claims.filter_map(|claim| claim.annotations.get(PEER_SECRET))).next();
    let issued = issued_tls::policy(cluster).is_some();
    let own = IssuedCertificate::Peer.secret(cluster);
    let (wanted, secret, refusal) = match (peer_secret(cluster), recorded) {
        // With another authority at once, members would reject each other while they restart.
        (Some(wanted), Some(secret)) if (wanted == own) != (*secret == own) => (
            "spec.TLS changes between static and issued, but",
            Some(secret.clone()),
            "change it back, or restore a backup into a new cluster",
        ),
        (Some(_), Some(_)) | (None, None) => return (Arc::clone(cluster), None),
        (Some(_), None) if issued => {
            ("spec.TLS.issued.members is true, but", None, "set it to false, or restore a backup into a new cluster")
        }
        (Some(_), None) => (
            "spec.TLS.static.member.peerSecret is set, but",
            None,
            "remove the field, or restore a backup into a new cluster that has it",
        ),
        (None, Some(secret)) if *secret == own => (
            "spec.TLS does not have the certificates of the members any more (issued.members), but",
            Some(secret.clone()),
            "set it again, or restore a backup into a new cluster without it",
        ),
        (None, Some(secret)) => (
            "spec.TLS.static.member.peerSecret is missing, but",
            Some(secret.clone()),
            "set the field again, or restore a backup into a new cluster without it",
        ),
    };
    let with = if secret.is_some() { "with" } else { "without" };
    let message = format!(
        "{wanted} the members of this cluster reach one another {with} TLS, which was decided at creation: {refusal}; until then members \
         keep their pods"
    );
    (Arc::new(with_peer_secret(cluster, secret)), Some((EtcdClusterReason::TLSChangeRefused, message)))
}

fn with_peer_secret(cluster: &EtcdCluster, secret: Option<String>) -> EtcdCluster {
    let mut effective = cluster.clone();
    let members = secret.as_ref().is_some_and(|secret| *secret == IssuedCertificate::Peer.secret(cluster));
    let tls = effective.spec.tls.get_or_insert_with(TlsPolicy::default);
    let clients = tls.issued.as_ref().is_some_and(|issued| issued.clients);
    // Otherwise the certificate of the members would expire; and none is issued that they do not have.
    tls.issued = (members || clients).then_some(IssuedTls { members, clients });
    let tls = tls.static_.get_or_insert_with(Default::default);
    tls.member.get_or_insert_with(MemberSecret::default).peer_secret = secret;
    effective
}

/// The Secrets with client certificates of the operator, as the pods of members record them: what the spec no longer has may still be
/// needed until they are replaced.
pub fn operator_secrets(pods: &[Arc<Pod>]) -> impl Iterator<Item = &str> {
    pods.iter().filter_map(|pod| operator_secret_of(pod))
}

/// The Secret with the certificate by which the operator reaches a member, if that serves clients with TLS, by its pod.
#[must_use]
pub fn operator_secret_of(pod: &Pod) -> Option<&str> {
    pod.details.as_ref()?.annotations.get(CLIENT_TLS).map(String::as_str)
}

/// Whether a member serves clients with TLS, by its pod.
#[must_use]
pub fn serves_clients_with_tls(pod: &Pod) -> bool {
    operator_secret_of(pod).is_some()
}

/// Whether only the operator fails to reach members, for lack of a certificate that they accept: the kubelet reports that one is
/// ready, which takes quorum.
#[must_use]
pub fn only_operator_is_rejected(observed: &Observed) -> bool {
    let is_ready = |pod: &Pod| pod.details.as_ref().is_some_and(|details| details.ready);
    let serves = |pod: &Arc<Pod>| serves_clients_with_tls(pod) && is_ready(pod);
    observed.tls.unusable.is_some() && observed.etcd.members.is_err() && observed.pods.iter().any(serves)
}

/// The act that issues what is due of the certificates that the operator issues. The successor of an authority signs once all members
/// have restarted with both.
pub(super) fn issuance(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdAct> {
    let due = observed.tls.issuance;
    let issued = issued_tls::policy(&observed.cluster)?.clone();
    let members = known(observed, members);
    let rolled = || observed.tls.authorities.as_ref().is_some_and(|now| members.all_know(now));
    (due.now || due.once_rolled && rolled()).then_some(EtcdAct::IssueCertificates { issued, members })
}

/// The fingerprint of the authorities that the pod of a member was created with.
fn started_with<'m>(member: &'m MemberView<'_>) -> Option<&'m String> {
    member.pod.and_then(|pod| pod.details.as_ref()?.annotations.get(AUTHORITIES))
}

/// Which authorities the members know, if all of them have started and none is about to.
fn known(observed: &Observed, members: &MemberSet<'_>) -> MembersKnow {
    if observed.pods.is_empty() {
        return MembersKnow::None;
    }
    let settled = |member: &MemberView<'_>| member.listed.is_some() && !member.is_terminating() && member.is_healthy();
    let Some(first) = members.all.iter().find_map(started_with).filter(|_| members.list_known) else {
        return MembersKnow::Different;
    };
    let same = members.all.iter().all(|member| settled(member) && started_with(member) == Some(first));
    if same { MembersKnow::Same(first.clone()) } else { MembersKnow::Different }
}

/// The fingerprint of the authorities that a new pod is to have: as long as that is unknown, that of a present pod.
pub(super) fn authorities<'a>(tls: &'a ObservedTls, pods: &'a [Arc<Pod>]) -> Option<&'a str> {
    let of_pods = || pods.iter().find_map(|pod| pod.details.as_ref()?.annotations.get(AUTHORITIES));
    tls.authorities.as_deref().or_else(|| of_pods().map(String::as_str))
}

/// A fingerprint of certificates.
#[must_use]
pub fn fingerprint(certificates: &str) -> String {
    format!("{:016x}", names::fingerprint(certificates.trim()))
}
