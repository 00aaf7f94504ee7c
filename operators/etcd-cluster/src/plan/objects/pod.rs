//! Pure: a member's pod. It bears the member's name for as long as the member lives: with the volume, the name is what lets a
//! member come back as itself.

use std::collections::BTreeMap;

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

use super::annotations::{PLACEMENT, RESTARTS, RETIRING, TEMPLATE, VERSION, VOLUME};
use super::labels::{OWNER_UID, member_labels, selector};
use super::programs::ETCD;
use super::start::{START, Start};
use super::{claim, container};
use crate::EtcdCluster;
use crate::plan::wish::{self, Wish};
use crate::plan::{Observed, names};

/// Where images' users may write. The number is nobody's.
pub(super) const USER: i64 = 1000;

/// The pod of `member`, as `cluster` has it, which may be the cluster of an earlier time.
pub(in crate::plan) fn pod(
    observed: &Observed,
    cluster: &EtcdCluster,
    wish: &Wish,
    member: &str,
    start: Start,
) -> Create {
    let claim = observed.claims.iter().find(|claim| *claim.meta.key.name == *member);
    let volume = if wish.durable { claim::volume(cluster, claim.map(|claim| &**claim)) } else { None };
    let policy = cluster.spec.pod.clone().unwrap_or_default();
    let mut labels = policy.labels.clone();
    labels.extend(pod_labels(cluster, member));
    let mut annotations = policy.annotations.clone();
    annotations.entry(DEFAULT_CONTAINER.to_owned()).or_insert_with(|| ETCD.to_owned());
    annotations.insert(VERSION.to_owned(), wish.version.to_string());
    annotations.insert(START.to_owned(), start.word().to_owned());
    annotations.insert(TEMPLATE.to_owned(), wish.template.clone());
    annotations.insert(PLACEMENT.to_owned(), placement(cluster));
    annotations.extend(volume.map(|bytes| (VOLUME.to_owned(), bytes.to_string())));
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let metadata = ObjectMeta { labels: Some(labels), annotations: Some(annotations), ..owned };
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
        affinity: policy.affinity.clone().or_else(|| policy.anti_affinity.then(|| apart(cluster))),
        topology_spread_constraints: Some(
            policy.topology_spread_constraints.clone().unwrap_or_else(|| vec![spread(cluster)]),
        ),
        priority_class_name: policy.priority_class_name.clone(),
        image_pull_secrets: non_empty(policy.image_pull_secrets.clone()),
        init_containers: Some(container::init(cluster, &observed.agent_image, wish, member, start)),
        containers: vec![container::etcd(cluster, wish, member, start, &observed.fresh_name, volume)],
        volumes: Some(volumes(wish, member)),
        ..PodSpec::default()
    };
    let pod = CorePod { metadata, spec: Some(spec), status: None };
    Create::new(Pod::KIND, cluster.meta.key.sibling(member), &pod)
}

/// The same pod with the wished version's image. Only the container restarts: address, volume and place stay.
pub(in crate::plan) fn next_image(live: &Pod, wish: &Wish) -> Apply {
    let etcd = live.running.as_ref().and_then(|running| running.container(ETCD));
    // What has never run is started, not started again.
    let restarts = etcd.map_or(0, |etcd| etcd.restarts + i32::from(etcd.running || etcd.ended.is_some()));
    let change = json!({
        "metadata": { "annotations": { VERSION: wish.version.to_string(), RESTARTS: restarts.to_string() } },
        "spec": { "containers": [{ "name": ETCD, "image": wish.image() }] },
    });
    Apply { seen: Some(live.meta.uid.clone()), ..Apply::new(Pod::KIND, live.meta.key.clone(), &change) }
}

/// A fingerprint of what a spec says of pods, but for what no scheduler or kubelet heeds before it starts one.
pub(in crate::plan) fn placement(cluster: &EtcdCluster) -> String {
    let mut pods = wish::of_pods(cluster, false);
    for unheeded in ["labels", "annotations"] {
        pods[unheeded] = Value::Null;
    }
    format!("{:016x}", names::fingerprint(&pods.to_string()))
}

/// The labels of a member's pod that are the operator's own.
pub(in crate::plan) fn pod_labels(cluster: &EtcdCluster, member: &str) -> BTreeMap<String, String> {
    let mut labels = member_labels(cluster, member);
    labels.insert(OWNER_UID.to_owned(), cluster.meta.uid.to_string());
    labels
}

/// The same pod with those labels, whatever somebody made of them.
pub(in crate::plan) fn labeled(cluster: &EtcdCluster, live: &Pod, member: &str) -> Apply {
    Apply::part(Pod::KIND, &live.meta, "labels", &json!({ "metadata": { "labels": pod_labels(cluster, member) } }))
}

/// The same pod, marked as that of a member which is about to be removed.
pub(in crate::plan) fn retiring(live: &Pod) -> Apply {
    // A field manager that had set the image before would take it away by not sending it.
    Apply::part(Pod::KIND, &live.meta, "retire", &json!({ "metadata": { "annotations": { RETIRING: "true" } } }))
}

/// The same pod, as that of a member which has been in use.
pub(in crate::plan) fn begun(live: &Pod) -> Apply {
    let annotations = json!({ START: Start::Again.word() });
    Apply::part(Pod::KIND, &live.meta, "begun", &json!({ "metadata": { "annotations": annotations } }))
}

fn volumes(wish: &Wish, member: &str) -> Vec<Volume> {
    let data = match wish.durable {
        true => claim_volume(container::DATA_VOLUME, member),
        false => empty_volume(container::DATA_VOLUME),
    };
    vec![data, empty_volume(container::AGENT_VOLUME)]
}

/// On as many nodes as there are, as far as that can be had.
fn spread(cluster: &EtcdCluster) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: "kubernetes.io/hostname".to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        label_selector: Some(members(cluster)),
        ..TopologySpreadConstraint::default()
    }
}

/// On different nodes, or not at all.
fn apart(cluster: &EtcdCluster) -> Affinity {
    let term = PodAffinityTerm {
        label_selector: Some(members(cluster)),
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

fn members(cluster: &EtcdCluster) -> LabelSelector {
    let labels: BTreeMap<String, String> = selector(cluster);
    LabelSelector { match_labels: Some(labels), ..LabelSelector::default() }
}
