//! Pure: a member's pod. It has the member's name, with which, and with its volume, it restarts as the same member.

use std::collections::BTreeMap;

use api::etcd_cluster::EtcdRestoreSource;
use k8s_openapi::api::core::v1::{
    Affinity, Pod as CorePod, PodAffinityTerm, PodAntiAffinity, PodSpec, TopologySpreadConstraint, Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use runtime::cache::Projection;
use runtime::plan::meta::{DEFAULT_CONTAINER, child_meta};
use runtime::plan::{Apply, Create};
use runtime::pod::{claim_volume, empty_volume, non_empty, restricted};
use runtime::projections::Pod;
use serde_json::{Value, json};

use super::annotations::{
    AUTHORITIES, CLIENT_TLS, PEER_SECRET, PLACEMENT, RESTARTS, RETIRING, TEMPLATE, VERSION, VOLUME,
};
use super::initial_state::{InitialState, START};
use super::labels::{OWNER_UID, member_labels, selector};
use super::programs::ETCD;
use super::{claim, container, recovery, restore};
use crate::EtcdCluster;
use crate::plan::desired::{self, Desired};
use crate::plan::{Observed, effective_tls, names, tls};

/// The user that pods run as.
pub(crate) const USER: i64 = 1000;

/// The pod of `member` for the spec of `cluster`, which may be an earlier one.
pub(in crate::plan) fn pod(
    observed: &Observed,
    cluster: &EtcdCluster,
    desired: &Desired,
    member: &str,
    state: InitialState,
) -> Create {
    let claim = observed.claims.iter().find(|claim| *claim.meta.key.name == *member);
    let volume = if desired.durable { claim::volume(cluster, claim.map(|claim| &**claim)) } else { None };
    let policy = cluster.spec.pod.clone().unwrap_or_default();
    let mut labels = policy.labels.clone();
    labels.extend(pod_labels(cluster, member));
    let mut annotations = policy.annotations.clone();
    annotations.entry(DEFAULT_CONTAINER.to_owned()).or_insert_with(|| ETCD.to_owned());
    annotations.insert(VERSION.to_owned(), desired.version.to_string());
    annotations.insert(START.to_owned(), state.annotation_value().to_owned());
    annotations.insert(TEMPLATE.to_owned(), desired.template.clone());
    annotations.insert(PLACEMENT.to_owned(), placement(cluster));
    annotations.extend(volume.map(|bytes| (VOLUME.to_owned(), bytes.to_string())));
    annotations.extend(tls_annotations(observed, cluster));
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let metadata = ObjectMeta { labels: Some(labels), annotations: Some(annotations), ..owned };
    let token = &observed.new_member_name;
    let source = restored(cluster, state);
    let restore = source.map(|source| restore::container(cluster, desired, member, token, source));
    let steps = container::init(cluster, &observed.agent_image, desired, member, state).into_iter();
    let recovery = (state == InitialState::Recover).then(|| recovery::container(cluster, desired, member));
    let steps = steps.chain(restore).chain(recovery);
    let spec = PodSpec {
        hostname: Some(member.to_owned()),
        subdomain: Some(cluster.meta.key.name.to_string()),
        restart_policy: Some("Always".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(30),
        security_context: Some(
            policy.security_context.clone().unwrap_or_else(|| restricted(USER, observed.namespace_assigns_uids)),
        ),
        node_selector: (!policy.node_selector.is_empty()).then(|| policy.node_selector.clone()),
        tolerations: non_empty(policy.tolerations.clone()),
        affinity: policy.affinity.clone().or_else(|| policy.anti_affinity.then(|| required_anti_affinity(cluster))),
        topology_spread_constraints: Some(
            policy.topology_spread_constraints.clone().unwrap_or_else(|| vec![topology_spread(cluster)]),
        ),
        priority_class_name: policy.priority_class_name.clone(),
        image_pull_secrets: non_empty(policy.image_pull_secrets.clone()),
        init_containers: Some(steps.collect()),
        containers: vec![container::etcd(cluster, desired, member, state, token, volume)],
        volumes: Some(volumes(cluster, desired, member, state)),
        ..PodSpec::default()
    };
    let pod = CorePod { metadata, spec: Some(spec), status: None };
    Create::new(Pod::KIND, cluster.meta.key.sibling(member), &pod)
}

/// What the operator has to know of a pod's TLS.
fn tls_annotations(observed: &Observed, cluster: &EtcdCluster) -> impl Iterator<Item = (String, String)> {
    let peers = tls::peer_secret(cluster).map(|secret| (PEER_SECRET, secret.to_owned()));
    let operator = tls::operator_secret(cluster).unwrap_or_default();
    let clients = tls::server_secret(cluster).map(|_| (CLIENT_TLS, operator.to_owned()));
    let authorities =
        effective_tls::authorities(&observed.tls, &observed.pods).filter(|_| tls::policy(cluster).is_some());
    let authorities = authorities.map(|authorities| (AUTHORITIES, authorities.to_owned()));
    [peers, clients, authorities].into_iter().flatten().map(|(name, value)| (name.to_owned(), value))
}

/// Sets the image of the desired version. Only the container restarts: the pod keeps its address, volume and node.
pub(in crate::plan) fn next_image(live: &Pod, desired: &Desired) -> Apply {
    let etcd = live.details.as_ref().and_then(|details| details.container(ETCD));
    // The first start is no restart.
    let restarts = etcd.map_or(0, |etcd| etcd.restarts + i32::from(etcd.running || etcd.terminated.is_some()));
    let change = json!({
        "metadata": { "annotations": { VERSION: desired.version.to_string(), RESTARTS: restarts.to_string() } },
        "spec": { "containers": [{ "name": ETCD, "image": desired.image() }] },
    });
    Apply { seen: Some(live.meta.uid.clone()), ..Apply::new(Pod::KIND, live.meta.key.clone(), &change) }
}

/// A fingerprint of the parts of `spec.pod` that decide whether a pod starts: labels and annotations do not.
pub(in crate::plan) fn placement(cluster: &EtcdCluster) -> String {
    let mut pods = desired::pod_parts(cluster, false);
    for ignored in ["labels", "annotations"] {
        pods[ignored] = Value::Null;
    }
    format!("{:016x}", names::fingerprint(&pods.to_string()))
}

/// The labels of a member's pod that the operator sets.
pub(in crate::plan) fn pod_labels(cluster: &EtcdCluster, member: &str) -> BTreeMap<String, String> {
    let mut labels = member_labels(cluster, member);
    labels.insert(OWNER_UID.to_owned(), cluster.meta.uid.to_string());
    labels
}

/// Restores those labels of a pod.
pub(in crate::plan) fn labeled(cluster: &EtcdCluster, live: &Pod, member: &str) -> Apply {
    Apply::part(Pod::KIND, &live.meta, "labels", &json!({ "metadata": { "labels": pod_labels(cluster, member) } }))
}

/// Marks the pod of a member that is about to be removed.
pub(in crate::plan) fn retiring(live: &Pod) -> Apply {
    // A separate field manager: that of the image would remove the image if it did not send it.
    Apply::part(Pod::KIND, &live.meta, "retire", &json!({ "metadata": { "annotations": { RETIRING: "true" } } }))
}

/// Sets the annotation of the first member's pod, so that it does not bootstrap again.
pub(in crate::plan) fn begun(live: &Pod) -> Apply {
    let annotations = json!({ START: InitialState::Restart.annotation_value() });
    Apply::part(Pod::KIND, &live.meta, "begun", &json!({ "metadata": { "annotations": annotations } }))
}

/// The snapshot that the member restores before etcd starts: only the first one does.
fn restored(cluster: &EtcdCluster, state: InitialState) -> Option<&EtcdRestoreSource> {
    cluster.spec.restore.as_ref().filter(|_| state == InitialState::New)
}

fn volumes(cluster: &EtcdCluster, desired: &Desired, member: &str, state: InitialState) -> Vec<Volume> {
    let data = match desired.durable {
        true => claim_volume(container::DATA_VOLUME, member),
        false => empty_volume(container::DATA_VOLUME),
    };
    let snapshot = restored(cluster, state).into_iter().flat_map(restore::snapshot_volumes);
    let tls = super::tls::volumes(cluster);
    [data, empty_volume(container::AGENT_VOLUME)].into_iter().chain(snapshot).chain(tls).collect()
}

/// Spreads members across nodes, if possible.
fn topology_spread(cluster: &EtcdCluster) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: "kubernetes.io/hostname".to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        label_selector: Some(member_selector(cluster)),
        ..TopologySpreadConstraint::default()
    }
}

/// Requires different nodes for members.
fn required_anti_affinity(cluster: &EtcdCluster) -> Affinity {
    let term = PodAffinityTerm {
        label_selector: Some(member_selector(cluster)),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    Affinity {
        pod_anti_affinity: Some(PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![term]),
            ..PodAntiAffinity::default()
        }),
        ..Affinity::default()
    }
}

fn member_selector(cluster: &EtcdCluster) -> LabelSelector {
    let labels: BTreeMap<String, String> = selector(cluster);
    LabelSelector { match_labels: Some(labels), ..LabelSelector::default() }
}
