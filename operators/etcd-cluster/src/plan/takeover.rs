//! Pure: takes over an etcd cluster that runs already: its earlier members, and what is known of them.
//!
//! The cluster id of the earlier members is latched as that of this EtcdCluster, whose members join like any others. Once all of them
//! vote, the earlier members leave, if the spec says so ([`membership::takeover`](super::membership)). Until then the operator
//! changes nothing else: neither pods nor versions, and no databases.

use std::collections::BTreeSet;

use api::ETCD_GROUP;
use api::etcd_cluster::EtcdClusterReason;
use runtime::plan::meta::{MANAGED_BY, MANAGER};
use serde_json::Value;

use super::member_set::{self, MemberSet, MemberView, are_unknown, is_earlier};
use super::version::Version;
use super::{Authentication, Etcd, Explanation, Observed, ObservedTakeover, issued_tls, names, tls};
use crate::EtcdCluster;

/// Why a cluster with authentication is not taken over.
const USER_REQUIRED: &str = "the cluster of spec.takeover requires a user: name the Secret with the password of root in \
    spec.authentication.rootSecret";

/// The endpoints to query for earlier members: none once all have left.
#[must_use]
pub fn endpoints(cluster: &EtcdCluster) -> &[String] {
    let asks = are_unknown(cluster) || is_under_way(cluster);
    cluster.spec.takeover.as_ref().filter(|_| asks).map_or(&[], |takeover| &takeover.endpoints)
}

/// Whether the status has earlier members, whatever the spec says by now, or was lost, and may have had some.
#[must_use]
pub fn is_under_way(cluster: &EtcdCluster) -> bool {
    let status = &cluster.status;
    let begun = status.cluster_id.is_some() && cluster.spec.takeover.is_some();
    !status.earlier_members.is_empty() || begun && are_unknown(cluster)
}

/// Whether a takeover is under way, or is to begin.
#[must_use]
pub fn is_pending(cluster: &EtcdCluster) -> bool {
    cluster.spec.takeover.is_some() && (cluster.status.cluster_id.is_none() || is_under_way(cluster))
}

/// The Secret with the client certificate for earlier members.
#[must_use]
pub fn client_secret(cluster: &EtcdCluster) -> Option<&str> {
    let own = || tls::operator_secret(cluster);
    cluster.spec.takeover.as_ref()?.client_tls_secret.as_deref().filter(|name| !name.is_empty()).or_else(own)
}

/// The host and port of a client URL, and whether it is https.
#[must_use]
pub fn authority(url: &str) -> (&str, bool) {
    let (scheme, authority) = url.split_once("://").unwrap_or(("http", url));
    (authority, scheme == "https")
}

/// Names the answers of endpoints after the members that have given them, and takes the others out.
pub fn assign(cluster: &EtcdCluster, etcd: &mut Etcd) -> ObservedTakeover {
    let mut takeover = ObservedTakeover::default();
    let mut clusters = BTreeSet::new();
    for url in endpoints(cluster) {
        let status = match etcd.endpoints.remove(url.as_str()) {
            Some(Ok(status)) => status,
            Some(Err(why)) => {
                takeover.unanswered.push((url.as_str().into(), why));
                continue;
            }
            None => continue,
        };
        clusters.insert(status.cluster_id);
        let listed = etcd.members.iter().flatten().find(|member| member.id == status.member_id);
        let Some(listed) = listed.filter(|listed| is_earlier(cluster, listed)) else { continue };
        let name = member_set::name(listed);
        takeover.addresses.insert(name.as_str().into(), authority(url).0.into());
        etcd.endpoints.insert(name.into(), Ok(status));
    }
    takeover.clusters = clusters.len();
    takeover
}

/// Why the takeover does not begin, if it is requested and has not begun.
#[must_use]
pub fn refusal(observed: &Observed, members: &MemberSet<'_>) -> Option<Explanation> {
    let cluster = &*observed.cluster;
    cluster.spec.takeover.as_ref().filter(|_| cluster.status.cluster_id.is_none())?;
    // Its own members have joined, and the status was lost.
    if members.own().any(|member| member.endpoint.is_some()) {
        return None;
    }
    let why = unanswered(observed)
        .or_else(|| members.listed().find_map(|member| unsuitable(observed, members, member)))
        .or_else(|| other_version(observed, members))
        .or_else(|| managed(observed))?;
    Some((EtcdClusterReason::TakeoverRefused, format!("nothing is created: {why}")))
}

/// Why the cluster cannot be queried.
fn unanswered(observed: &Observed) -> Option<String> {
    let known = &observed.takeover;
    if let Some(why) = &known.unusable {
        return Some(why.clone());
    }
    if known.clusters > 1 {
        return Some(format!("spec.takeover.endpoints belong to {} different clusters", known.clusters));
    }
    let without_root = observed.cluster.spec.authentication.is_none();
    match &observed.etcd.authentication {
        Authentication::RootRejected(why) => return Some(format!("the cluster of spec.takeover {why}")),
        Authentication::On if without_root => return Some(USER_REQUIRED.to_owned()),
        _ if observed.etcd.auth_required => return Some(USER_REQUIRED.to_owned()),
        _ => {}
    }
    match &observed.etcd.members {
        Err(_) if known.clusters == 0 => {
            Some(format!("no member of the cluster of spec.takeover answers{}", failures(known)))
        }
        Err(why) => Some(format!("the cluster of spec.takeover has no quorum: {why}{}", failures(known))),
        Ok(_) if !observed.etcd.alarms.is_empty() => {
            let alarms = observed.etcd.alarms.iter().map(|(_, alarm)| alarm.name()).collect::<BTreeSet<_>>();
            let alarms = alarms.into_iter().collect::<Vec<_>>().join(" and ");
            Some(format!("the cluster of spec.takeover has raised the alarm {alarms}: clear it first"))
        }
        Ok(_) => None,
    }
}

/// Why a cluster with that member cannot be taken over.
fn unsuitable(observed: &Observed, members: &MemberSet<'_>, member: &MemberView<'_>) -> Option<String> {
    let cluster = &*observed.cluster;
    let (listed, name) = (member.listed?, &member.name);
    let urls = listed.peer_urls.join(", ");
    if !member.earlier {
        return Some(format!(
            "its member {name} is named like one of this EtcdCluster, whose metadata.name must be another one"
        ));
    }
    let same = observed.etcd.members.iter().flatten().filter(|other| member_set::name(other) == *name).count();
    if same > 1 {
        return Some(format!("{same} of its members are named {name}"));
    }
    let unreachable = listed.peer_urls.iter().find(|url| names::is_local(url));
    if let Some(url) = unreachable {
        return Some(format!(
            "its member {name} has the peer URL {url}, at which no other pod reaches it: etcdctl member update"
        ));
    }
    if !member.has_started() || member.is_learner() {
        let state = if member.is_learner() { "is a learner" } else { "has not started" };
        return Some(format!("its member {name} at {urls} {state}: promote or remove it first"));
    }
    if let Some(url) = listed.peer_urls.iter().find(|url| url.starts_with("https://") != has_peer_tls(cluster)) {
        let what = if has_peer_tls(cluster) {
            "remove spec.TLS for members"
        } else {
            "set spec.TLS.static.member.peerSecret to a certificate of the same authority"
        };
        return Some(format!("its members reach each other at URLs like {url}: {what}"));
    }
    let issued = issued_tls::policy(cluster).is_some_and(|issued| issued.members);
    if issued && has_peer_tls(cluster) {
        let what =
            "which trust no certificate that the operator issues: set spec.TLS.static in place of spec.TLS.issued";
        return Some(format!("its members reach each other with TLS, {what}"));
    }
    if !member.is_healthy() {
        let known = members.listed().filter(|other| other.endpoint.is_some()).count();
        let failures = failures(&observed.takeover);
        return Some(format!(
            "{known} of {} members answer at spec.takeover.endpoints, and member {name}, whose peer URL is {urls}, does not: add its client \
             URL{failures}",
            members.listed().count()
        ));
    }
    None
}

/// The endpoints that do not answer, and why, at the end of a message.
#[must_use]
pub fn failures(known: &ObservedTakeover) -> String {
    let unusable = known.unusable.iter().map(|why| format!("; {why}"));
    unusable.chain(known.unanswered.iter().map(|(url, why)| format!("; {url} {why}"))).collect()
}

fn has_peer_tls(cluster: &EtcdCluster) -> bool {
    tls::peer_secret(cluster).is_some()
}

/// Why its version does not fit, if so: the members join as what runs, and versions change later.
fn other_version(observed: &Observed, members: &MemberSet<'_>) -> Option<String> {
    let spec = observed.cluster.spec.version.as_deref();
    let wanted = Version::parse(spec.unwrap_or(api::etcd_cluster::DEFAULT_VERSION))?;
    let other = members.listed().filter_map(MemberView::version).find(|runs| !runs.same_minor(&wanted))?;
    let (major, minor) = (other.major, other.minor);
    Some(format!(
        "a member of it runs etcd {other}, and spec.version is {wanted}: set spec.version to a release of {major}.{minor}, and upgrade after \
         the takeover"
    ))
}

/// Whether another operator manages its pods, which would create them again, or remove the members of this EtcdCluster.
fn managed(observed: &Observed) -> Option<String> {
    let (pod, by) = observed.takeover.managed.first()?;
    let what = match by.strip_prefix("EtcdCluster ") {
        Some(name) => format!("delete that without its pods (kubectl delete etcd {name} --cascade=orphan)"),
        None => "stop that operator, and remove what marks the pod as its own".to_owned(),
    };
    Some(format!("{by} manages its pod {pod}, and would undo the takeover: {what}"))
}

/// The pods of earlier members in the namespace of the cluster, by their peer URLs.
#[must_use]
pub fn pods_to_check(cluster: &EtcdCluster, etcd: &Etcd) -> Vec<String> {
    let begins = cluster.spec.takeover.is_some() && cluster.status.cluster_id.is_none();
    let members = etcd.members.iter().flatten().filter(|_| begins);
    members
        .filter_map(|member| names::pod_in_namespace(cluster, member.peer_urls.first()?))
        .map(str::to_owned)
        .collect()
}

/// The operator that manages a pod, if one does: by the object that controls it, unless that is one of Kubernetes' own, or by the
/// label that such operators set. `runs` is whether an EtcdCluster of that name has members.
#[must_use]
pub fn manager_of(pod: &Value, runs: impl Fn(&str) -> bool) -> Option<String> {
    let metadata = &pod["metadata"];
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    for owner in owners.filter(|owner| owner["controller"] == true) {
        let [version, kind, name] = ["apiVersion", "kind", "name"].map(|field| owner[field].as_str().unwrap_or(""));
        let group = version.split_once('/').map_or("", |(group, _)| group);
        // Those of the archived operator, which runs on no Kubernetes of today, are no members of an EtcdCluster here.
        let idle = group == ETCD_GROUP && !runs(name);
        if !idle && !["", "apps", "batch"].contains(&group) {
            return Some(format!("{kind} {name}"));
        }
    }
    // The owner of a pod of this operator's is an EtcdCluster, or was one, and left it.
    let by = metadata["labels"][MANAGED_BY].as_str().filter(|by| *by != MANAGER)?;
    (by.contains("operator") || by.contains("druid")).then(|| format!("{by:?} (label {MANAGED_BY})"))
}
