//! Conditions report what keeps a cluster from running, and the operator continues once it is fixed.

use std::time::Instant;

use api::ConditionStatus;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::objects::ManagedKind;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};

/// The images in the specs of its pods.
async fn images(etcd: &Etcd<'_>) -> Vec<String> {
    let images = |pod: Pod| pod.spec.and_then(|spec| spec.containers[0].image.clone());
    etcd.pods().await.into_values().filter_map(images).collect()
}

/// A cluster of this spec reports a message with these parts, and runs once the spec has been fixed.
async fn runs_once_fixed(purpose: &str, spec: &str, parts: &[&str], fix: Value) {
    let ns = namespace(purpose).await;
    let (etcd, begun) = (Etcd::apply(&ns, "web", spec).await, Instant::now());
    let reported = etcd.reports(parts).await;
    println!("{spec} reads, after {:.1?}: {}: {}", begun.elapsed(), reported.reason, reported.message);
    let status = etcd.now().await.status.expect("a status");
    assert!(status.cluster_id.is_none() && !status.contract.is_true("Available"), "{status:#?}");
    etcd.patch(fix).await;
    etcd.runs(1).await;
}

#[tokio::test]
async fn a_version_without_an_image() {
    let parts = ["image quay.io/coreos/etcd:v3.6.99 cannot be pulled"];
    runs_once_fixed("etcd-version", "{size: 1, version: 3.6.99}", &parts, json!({ "version": "3.6.16" })).await;
}

/// TestEtcdImageOverride of cozystack/etcd-operator: it is what `spec.repository` says, with the version as its tag.
#[tokio::test]
async fn a_repository_that_does_not_exist() {
    let ns = namespace("etcd-repository").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, repository: registry.invalid/mirror/etcd}").await;
    etcd.reports(&["image registry.invalid/mirror/etcd:v3.6.16 cannot be pulled"]).await;
    assert_eq!(images(&etcd).await, ["registry.invalid/mirror/etcd:v3.6.16"]);
    etcd.patch(json!({ "repository": "quay.io/coreos/etcd" })).await;
    etcd.runs(1).await;
    assert_eq!(images(&etcd).await, ["quay.io/coreos/etcd:v3.6.16"]);
}

#[tokio::test]
async fn resources_that_no_node_has() {
    let spec = "{size: 1, pod: {resources: {requests: {cpu: '1000'}}}}";
    runs_once_fixed("etcd-resources", spec, &["Insufficient cpu"], json!({ "pod": null })).await;
}

#[tokio::test]
async fn a_volume_that_is_never_provisioned() {
    let ns = namespace("etcd-unbound").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, storage: {storageClassName: nowhere}}").await;
    let reported = etcd.reports(&["unbound", "PersistentVolumeClaim"]).await;
    println!("a claim that is not bound reads: {}: {}", reported.reason, reported.message);
    let claims = etcd.claims().await;
    assert!(claims.values().all(|claim| claim.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Pending")));
    // The operator continues once the class exists.
    ns.apply(&class("nowhere").await).await;
    etcd.runs(1).await;
    drop(ns.kubectl(&["delete", "storageclass/nowhere"]).await.ok());
}

/// The default StorageClass, under another name and not as default.
pub async fn class(name: &str) -> String {
    let classes = e2e::kubectl::kubectl(&["get", "storageclass", "--output=json"]).await.ok();
    let classes: Value = serde_json::from_str(&classes).expect("JSON");
    let is_default =
        |class: &&Value| class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
    let mut class =
        classes["items"].as_array().and_then(|all| all.iter().find(is_default)).cloned().expect("a default");
    class["metadata"] = json!({ "name": name });
    class.to_string()
}

/// Nothing is ever silently left out.
#[tokio::test]
async fn unsupported_specs_are_stalled_and_nothing_is_created_or_changed() {
    let ns = namespace("etcd-refused").await;
    let spec = "{size: 3, TLS: {static: {member: {peerSecret: a, serverSecret: b}, operatorSecret: c}}}";
    let etcd = Etcd::apply(&ns, "web", spec).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "TLSSecretInvalid").await;
    assert!(
        message.contains("the Secret a of spec.TLS does not exist") && message.contains("nothing is created"),
        "{message}"
    );
    let lists = ListParams::default();
    assert!(etcd.pods().await.is_empty() && etcd.claims().await.is_empty());
    assert!(ns.api::<Service>().list(&lists).await.expect("Services can be listed").items.is_empty());
    assert!(ns.api::<PodDisruptionBudget>().list(&lists).await.expect("budgets can be listed").items.is_empty());
    etcd.patch(json!({ "TLS": null, "size": 1 })).await;
    etcd.runs(1).await;
    // What the API takes and no volume is large enough for; a correction touches no pod either.
    let pods = etcd.pod_uids().await;
    etcd.patch(json!({ "options": { "max-wals": "0" } })).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "OptionRefused").await;
    assert!(message.contains("options max-wals is 0") && message.contains("keep their pods"), "{message}");
    etcd.patch(json!({ "options": null })).await;
    etcd.runs(1).await;
    assert_eq!(etcd.pod_uids().await, pods);
}

#[tokio::test]
async fn a_foreign_service_of_the_desired_name_is_left_alone() {
    let ns = namespace("etcd-taken").await;
    drop(ns.kubectl(&["create", "service", "clusterip", "web-client", "--tcp=2379"]).await.ok());
    let foreign = ns.get::<Service>("web-client").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let message = etcd.says("Stalled", ConditionStatus::True, "NameTaken").await;
    println!("of a foreign Service it says: {message}");
    assert!(message.contains("Service") && message.contains("web-client"), "{message}");
    assert_eq!(ns.get::<Service>("web-client").await.resource_version(), foreign.resource_version());
    drop(ns.kubectl(&["delete", "service/web-client"]).await.ok());
    etcd.runs(1).await;
    ns.until::<Service, ()>("web-client", "owned", |service| (!service?.owner_references().is_empty()).then_some(()))
        .await;
}

#[tokio::test]
async fn a_database_that_is_full() {
    let ns = namespace("etcd-full").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, quota: 2Mi}").await;
    etcd.runs(1).await;
    let writer = Writer::with(&etcd, 5, 20_000).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "NoSpace").await;
    println!("of a full database it says: {message}");
    assert!(message.contains("NOSPACE") && message.contains("spec.quota"), "{message}");
    etcd.says("Available", ConditionStatus::False, "NoSpace").await;
    let row = ns.kubectl(&["get", "etcd", "web", "--no-headers"]).await.ok();
    assert!(row.split_whitespace().any(|cell| cell == "NoSpace"), "{row}");
    let full = etcd.now().await;
    assert!(full.condition("QuorumHealthy").is_some_and(|condition| condition.status == ConditionStatus::True));
    let verdict = writer.verdict(&full).await;
    assert!(verdict.errors.keys().any(|error| error.contains("space exceeded")), "{verdict:#?}");

    // As the message says.
    let (name, claims) = (ids(&full).into_keys().next().expect("a member"), etcd.claim_uids().await);
    let pods = etcd.pod_uids().await;
    etcd.patch(json!({ "quota": "64Mi" })).await;
    ns.until::<Pod, ()>(&name, "another pod that is ready", |pod| {
        let pod = pod.filter(|pod| pods[&name] != pod.uid())?;
        e2e::objects::serves(pod).then_some(())
    })
    .await;
    // The operator clears the alarm.
    let after = etcd.runs(1).await;
    assert_eq!(etcd.claim_uids().await, claims);
    writer.writes(5).await;
    writer.verdict(&after).await;
}

/// A foreign PVC of a member's name cannot exist before the member is named; one with the cluster's labels can.
#[tokio::test]
async fn a_foreign_pvc_with_the_clusters_labels_is_left_alone() {
    let ns = namespace("etcd-foreign").await;
    let claim = "
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: web-aaaaaaaaaa
  labels: {app: etcd, etcd_cluster: web, etcd_node: web-aaaaaaaaaa}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
";
    ns.apply(claim).await;
    let foreign = ns.get::<PersistentVolumeClaim>("web-aaaaaaaaaa").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let cluster = etcd.runs(1).await;
    assert!(!ids(&cluster).contains_key("web-aaaaaaaaaa"));
    assert_eq!(ns.get::<PersistentVolumeClaim>("web-aaaaaaaaaa").await.resource_version(), foreign.resource_version());
}

/// A cluster of an operator that came before has the labels by which our Service of clients would find its pods.
#[tokio::test]
async fn pods_of_an_earlier_operator_get_no_second_cluster() {
    let ns = namespace("etcd-earlier").await;
    ns.apply(&earlier_pod()).await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let message = etcd.says("Stalled", ConditionStatus::True, "ForeignPods").await;
    println!("of an earlier operator's pods it says: {message}");
    assert!(message.contains("web-0000") && message.contains("etcd_cluster=web"), "{message}");
    assert_eq!(etcd.pods().await.into_keys().collect::<Vec<_>>(), ["web-0000"]);
    assert!(etcd.claims().await.is_empty());
    drop(ns.kubectl(&["delete", "pod/web-0000", "--grace-period=1"]).await.ok());
    etcd.patch(json!({ "size": 1 })).await;
    etcd.runs(1).await;
}

/// Restricted, and with the labels of the archived operator.
pub fn earlier_pod() -> String {
    let confined = json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } });
    let user = json!({ "runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": { "type": "RuntimeDefault" } });
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "web-0000", "labels": { "app": "etcd", "etcd_cluster": "web", "etcd_node": "web-0000" } },
        "spec": {
            "securityContext": user,
            "containers": [{ "name": "etcd", "image": "quay.io/coreos/etcd:v3.6.16", "securityContext": confined,
                "command": ["/usr/local/bin/etcd", "--data-dir=/tmp/data"],
                "volumeMounts": [{ "name": "tmp", "mountPath": "/tmp" }] }],
            "volumes": [{ "name": "tmp", "emptyDir": {} }],
        },
    })
    .to_string()
}

/// The StorageClass here does not allow volume expansion.
#[tokio::test]
async fn members_whose_volumes_cannot_grow_are_replaced() {
    let ns = namespace("etcd-growth").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, storage: {size: 64Mi}}").await;
    let cluster = etcd.runs(3).await;
    etcd.patch(json!({ "storage": { "size": "128Mi" } })).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "Forbidden").await;
    println!("of volumes that cannot grow it says: {message}");
    let pods = etcd.pod_uids().await;
    etcd.patch(json!({ "storage": { "size": "64Mi" } })).await;
    let back = etcd.runs(3).await;
    assert!(back.condition("Stalled").is_none_or(|stalled| stalled.status != ConditionStatus::True), "{back:?}");
    assert_eq!(etcd.pod_uids().await, pods, "what was taken back has changed nothing");
    etcd.patch(json!({ "storage": { "size": "128Mi" } })).await;
    etcd.says("Stalled", ConditionStatus::True, "Forbidden").await;
    // So long that tries to grow them have become rare.
    let (claims, begun) = (etcd.claim_uids().await, Instant::now());
    for (done, name) in ids(&cluster).into_keys().enumerate() {
        let before = etcd.pod_uids().await;
        drop(ns.kubectl(&["delete", &format!("pod/{name}"), &format!("persistentvolumeclaim/{name}")]).await.ok());
        etcd.until("three members, one of them new", |cluster| {
            let status = cluster.status.as_ref()?;
            let three = status.ready.as_deref() == Some("3/3") && status.member_statuses.len() == 3;
            let names = status.member_statuses.iter().map(|member| &member.name);
            (three && names.filter(|name| claims.contains_key(*name)).count() == 2 - done).then_some(())
        })
        .await;
        assert_ne!(etcd.pod_uids().await, before);
    }
    // Each takes about 12 s here. With failing applies that slow down everything else, it took minutes.
    println!("three members were replaced, one after another, in {:.1?}", begun.elapsed());
}
