//! Pure: TLS of a cluster: what its members have, which the spec cannot change in all respects, and what is wrong with its Secrets.
//!
//! Members register their peer URLs with the cluster, so whether they use TLS among themselves is decided at creation. Pods and PVCs
//! record it. Whether a member serves clients with TLS is a matter of its pod alone, which records it as well.

use std::sync::Arc;

use api::etcd_cluster::{EtcdClusterReason, MemberSecret, TlsPolicy};
use runtime::projections::{Pod, Pvc};

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
    let (wanted, secret, refusal) = match (peer_secret(cluster), recorded) {
        (Some(_), Some(_)) | (None, None) => return (Arc::clone(cluster), None),
        (Some(_), None) => (
            "spec.TLS.static.member.peerSecret is set, but the members of this cluster reach one another without TLS",
            None,
            "remove the field, or restore a backup into a new cluster that has it",
        ),
        (None, Some(secret)) => (
            "spec.TLS.static.member.peerSecret is missing, but the members of this cluster reach one another with TLS",
            Some(secret.clone()),
            "set the field again, or restore a backup into a new cluster without it",
        ),
    };
    let message = format!("{wanted}, which was decided at creation: {refusal}; until then members keep their pods");
    (Arc::new(with_peer_secret(cluster, secret)), Some((EtcdClusterReason::TLSChangeRefused, message)))
}

fn with_peer_secret(cluster: &EtcdCluster, secret: Option<String>) -> EtcdCluster {
    let mut effective = cluster.clone();
    let tls = effective.spec.tls.get_or_insert_with(TlsPolicy::default);
    let tls = tls.static_.get_or_insert_with(Default::default);
    tls.member.get_or_insert_with(MemberSecret::default).peer_secret = secret;
    effective
}

/// The Secret with the client certificate of the operator, as the pods of members record it: what the spec no longer has may still be
/// needed until they are replaced.
#[must_use]
pub fn operator_secret_of(pods: &[Arc<Pod>]) -> Option<&str> {
    pods.iter().find_map(|pod| pod.details.as_ref()?.annotations.get(CLIENT_TLS)).map(String::as_str)
}

/// Whether a member serves clients with TLS, by its pod.
#[must_use]
pub fn serves_clients_with_tls(pod: &Pod) -> bool {
    pod.details.as_ref().is_some_and(|details| details.annotations.contains_key(CLIENT_TLS))
}

/// Whether only the operator fails to reach members, for lack of a certificate that they accept: the kubelet reports that one is
/// ready, which takes quorum.
#[must_use]
pub fn only_operator_is_rejected(observed: &Observed) -> bool {
    let is_ready = |pod: &Pod| pod.details.as_ref().is_some_and(|details| details.ready);
    let serves = |pod: &Arc<Pod>| serves_clients_with_tls(pod) && is_ready(pod);
    observed.tls.unusable.is_some() && observed.etcd.members.is_err() && observed.pods.iter().any(serves)
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
