//! Pure: names and addresses of members and of trial pods.

use super::tls;
use crate::EtcdCluster;

/// The suffix of names in cluster DNS.
fn domain(cluster: &EtcdCluster) -> &str {
    cluster.spec.pod.as_ref().map_or("", |pod| pod.cluster_domain.as_str())
}

/// The DNS name of a member in the cluster.
#[must_use]
pub fn host(cluster: &EtcdCluster, member: &str) -> String {
    let key = &cluster.meta.key;
    format!("{member}.{}.{}.svc{}", key.name, key.namespace, domain(cluster))
}

/// The URL at which other members reach a member.
#[must_use]
pub fn peer_url(cluster: &EtcdCluster, member: &str) -> String {
    format!("{}://{}:2380", peer_scheme(cluster), host(cluster, member))
}

/// The URL at which clients reach a member.
#[must_use]
pub fn client_url(cluster: &EtcdCluster, member: &str) -> String {
    let scheme = if tls::server_secret(cluster).is_some() { "https" } else { "http" };
    format!("{scheme}://{}:2379", host(cluster, member))
}

/// The URL at which other members reach any member.
#[must_use]
pub fn peers_url(cluster: &EtcdCluster) -> String {
    let key = &cluster.meta.key;
    format!("{}://{}.{}.svc{}:2380", peer_scheme(cluster), key.name, key.namespace, domain(cluster))
}

fn peer_scheme(cluster: &EtcdCluster) -> &'static str {
    if tls::peer_secret(cluster).is_some() { "https" } else { "http" }
}

/// The name of the member with a peer URL: the first label of its host.
#[must_use]
pub fn member_of(peer_url: &str) -> Option<&str> {
    labels(peer_url).next().filter(|name| !name.is_empty())
}

/// The labels of a URL's host, and what follows it.
fn labels(url: &str) -> impl Iterator<Item = &str> {
    url.split_once("://").map_or(url, |(_, rest)| rest).split(['.', ':', '/'])
}

/// Whether a peer URL belongs to a cluster of the same name in another namespace. A member on a copied volume joins the cluster
/// that the volume was copied from, and lists its members.
#[must_use]
pub fn is_in_other_namespace(cluster: &EtcdCluster, peer_url: &str) -> bool {
    let mut labels = labels(peer_url).skip(1);
    let key = &cluster.meta.key;
    match (labels.next(), labels.next(), labels.next()) {
        (Some(name), Some(namespace), Some("svc")) => *name == *key.name && *namespace != *key.namespace,
        _ => false,
    }
}

/// Whether a listed member may be one that the operator has added.
#[must_use]
pub fn is_own(cluster: &EtcdCluster, name: &str, peer_urls: &[String]) -> bool {
    is_generated(cluster, name) && !peer_urls.iter().any(|url| is_in_other_namespace(cluster, url))
}

/// Whether a peer URL names the host itself.
#[must_use]
pub fn is_local(peer_url: &str) -> bool {
    let authority = peer_url.split_once("://").map_or(peer_url, |(_, authority)| authority);
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host).trim_matches(['[', ']']);
    matches!(host, "localhost" | "0.0.0.0" | "::" | "::1") || host.starts_with("127.")
}

/// The pod in the cluster's namespace that a peer URL names, if it does: `pod.service` or `pod.service.namespace`.
#[must_use]
pub fn pod_in_namespace<'u>(cluster: &EtcdCluster, peer_url: &'u str) -> Option<&'u str> {
    let (authority, _) = peer_url.split_once("://")?.1.rsplit_once(':')?;
    let mut labels = authority.split('.');
    let (pod, _service, namespace) = (labels.next()?, labels.next()?, labels.next());
    let here = namespace.is_none_or(|namespace| *namespace == *cluster.meta.key.namespace);
    // Not of an IP address.
    (here && pod.contains(|c: char| c.is_ascii_alphabetic())).then_some(pod)
}

/// The name of the pod that checks whether an image can be pulled. Names of members have another length.
#[must_use]
pub fn image_check(cluster: &EtcdCluster) -> String {
    format!("{}-pull", cluster.meta.key.name)
}

/// The name of the pod that checks whether a pod of the current spec starts: next to the present pod, or on another node, where
/// it requests all resources that a member does (`full`). Names of members have another length.
#[must_use]
pub fn trial(cluster: &EtcdCluster, full: bool) -> String {
    format!("{}-{}", cluster.meta.key.name, if full { "placement-whole" } else { "placement" })
}

/// Whether the operator generates names like that.
#[must_use]
pub fn is_generated(cluster: &EtcdCluster, member: &str) -> bool {
    let rest = member.strip_prefix(&*cluster.meta.key.name).and_then(|rest| rest.strip_prefix('-'));
    rest.is_some_and(|rest| rest.len() == 10 && rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
}

/// The name of the first member. It follows from the cluster, so that a repeated creation creates only one.
#[must_use]
pub fn first(cluster: &EtcdCluster) -> String {
    of(cluster, fingerprint(&cluster.meta.uid))
}

/// The same, if retired volumes have `taken` names: a member of such a name would start on that volume.
#[must_use]
pub fn first_but(cluster: &EtcdCluster, taken: impl Fn(&str) -> bool) -> String {
    let mut name = first(cluster);
    while taken(&name) {
        name = of(cluster, fingerprint(&format!("{}/{name}", cluster.meta.uid)));
    }
    name
}

/// A member's name, as the archived operator generated it: ten letters and digits after the cluster's name.
#[must_use]
pub fn of(cluster: &EtcdCluster, random: u64) -> String {
    const SIGNS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let sign = |place: u32| char::from(SIGNS[usize::try_from((random >> (5 * place)) & 31).unwrap_or(0)]);
    format!("{}-{}", cluster.meta.key.name, (0..10).map(sign).collect::<String>())
}

/// FNV-1a, 64 bits, which stays the same in all versions of Rust.
/// Source: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>
#[must_use]
pub fn fingerprint(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
