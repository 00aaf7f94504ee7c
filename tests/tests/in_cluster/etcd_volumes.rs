//! What becomes of volumes when their cluster is deleted, and what of etcd fits them.

use std::collections::BTreeMap;

use api::ConditionStatus;
use api::etcd_cluster::EtcdCluster;
use e2e::etcd::{Etcd, cluster_id, ids, namespace, run_on_volume};
use e2e::namespace::Namespace;
use etcd_sizing::{LARGEST_REQUEST, Limits, database_space};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};

/// Names of pods, services and budgets that are left.
async fn left(ns: &Namespace) -> Vec<String> {
    let lists = ListParams::default();
    let pods = ns.api::<Pod>().list(&lists).await.expect("pods can be listed");
    let services = ns.api::<Service>().list(&lists).await.expect("Services can be listed");
    let budgets = ns.api::<PodDisruptionBudget>().list(&lists).await.expect("budgets can be listed");
    let names = pods.items.iter().map(ResourceExt::name_any).chain(services.items.iter().map(ResourceExt::name_any));
    names.chain(budgets.items.iter().map(ResourceExt::name_any)).collect()
}

async fn delete(etcd: &Etcd<'_>) {
    drop(etcd.ns.kubectl(&["delete", &format!("etcdcluster/{}", etcd.name), "--wait=false"]).await.ok());
    etcd.ns.until_deleted::<EtcdCluster>(etcd.name).await;
    etcd.ns
        .eventually("no pod, service or budget to be left", || async {
            let left = left(etcd.ns).await;
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
}

/// What shows whether a PVC was touched.
fn versions(
    claims: &BTreeMap<String, PersistentVolumeClaim>,
) -> BTreeMap<String, (Option<String>, BTreeMap<String, String>)> {
    claims.iter().map(|(name, claim)| (name.clone(), (claim.uid(), claim.labels().clone()))).collect()
}

/// TestCreateClusterWithPV of coreos/etcd-operator; then the cluster is deleted, and one of the same name is created.
#[tokio::test]
async fn they_are_kept_and_no_later_cluster_takes_them() {
    let ns = namespace("etcd-kept").await;
    let spec = "{size: 3, pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 512Mi}}}}}";
    let etcd = Etcd::apply(&ns, "web", spec).await;
    let first = etcd.runs(3).await;
    let claims = etcd.claims().await;
    assert!(claims.keys().eq(ids(&first).keys()), "{:?}", claims.keys());
    for claim in claims.values() {
        let spec = claim.spec.as_ref().expect("a claim has a spec");
        let asked = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref()?.get("storage").cloned());
        assert_eq!(asked.map(|quantity| quantity.0).as_deref(), Some("512Mi"));
        assert_eq!(claim.status.as_ref().and_then(|status| status.phase.as_deref()), Some("Bound"));
        assert!(claim.owner_references().is_empty(), "garbage collection would take it away");
        assert_eq!(claim.labels().get("etcd_cluster").map(String::as_str), Some("web"));
    }
    delete(&etcd).await;
    assert_eq!(versions(&etcd.claims().await), versions(&claims), "claims stay as they are");

    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    held(&etcd, &first).await;
    mark_retired(&etcd).await;
    let second = etcd.runs(1).await;
    assert_ne!(cluster_id(&second), cluster_id(&first));
    let now = etcd.claims().await;
    let (old, new): (BTreeMap<_, _>, _) = now.into_iter().partition(|(name, _)| claims.contains_key(name));
    let uids = |claims: &BTreeMap<String, PersistentVolumeClaim>| -> Vec<_> {
        claims.iter().map(|(name, claim)| (name.clone(), claim.uid())).collect()
    };
    assert_eq!(uids(&old), uids(&claims), "the earlier cluster's claims stay");
    assert!(new.keys().eq(ids(&second).keys()));
}

/// The operator initializes nothing next to the volumes of an earlier cluster, and the message says what to do about them.
async fn held(etcd: &Etcd<'_>, earlier: &EtcdCluster) {
    let message = etcd.says("Stalled", ConditionStatus::True, "VolumesFound").await;
    println!("of an earlier cluster's volumes it says: {message}");
    let adopt = format!("example.com/adopt={}", earlier.uid().expect("a uid"));
    assert!(message.contains(&adopt) && ids(earlier).keys().all(|name| message.contains(name)), "{message}");
    assert!(etcd.pods().await.is_empty(), "nothing is initialized");
}

async fn mark_retired(etcd: &Etcd<'_>) {
    let (of, mark) = (format!("--selector=etcd_cluster={}", etcd.name), "multi-operator.example.com/retired=true");
    drop(etcd.ns.kubectl(&["label", "persistentvolumeclaims", &of, mark]).await.ok());
}

/// Deleted by mistake: what was written is there again, under the same members.
#[tokio::test]
async fn they_are_taken_over_if_an_administrator_requests_it() {
    let ns = namespace("etcd-adopted").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let first = etcd.runs(3).await;
    let member = ids(&first).into_keys().next().expect("members");
    drop(etcd.etcdctl(&member, &["put", "greeting", "hello"]).await.ok());
    let claims = etcd.claim_uids().await;
    delete(&etcd).await;

    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    held(&etcd, &first).await;
    let adopt = format!("example.com/adopt={}", first.uid().expect("a uid"));
    drop(ns.kubectl(&["annotate", "etcdcluster/web", &adopt]).await.ok());
    let second = etcd.runs(3).await;
    assert_eq!((ids(&second), cluster_id(&second)), (ids(&first), cluster_id(&first)));
    assert_eq!(etcd.claim_uids().await, claims);
    let said = etcd.etcdctl(&member, &["get", "greeting", "--print-value-only"]).await.ok();
    assert_eq!(said.trim(), "hello");
}

#[tokio::test]
async fn they_are_deleted_with_the_cluster_if_the_spec_says_so() {
    let ns = namespace("etcd-deleted").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, storage: {size: 64Mi, onDelete: Delete}}").await;
    etcd.runs(1).await;
    assert_eq!(etcd.claims().await.len(), 1);
    delete(&etcd).await;
    ns.eventually("no claim to be left", || async {
        let left = etcd.claims().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{:?}", left.keys())) }
    })
    .await;
}

/// A PVC that is being deleted cannot be kept. Its member is replaced before its pod is deleted, and no key is lost, even if it
/// is the only member.
#[tokio::test]
async fn a_claim_that_is_deleted_under_its_member_takes_no_data_away() {
    let ns = namespace("etcd-terminating").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let first = etcd.runs(1).await;
    let member = ids(&first).into_keys().next().expect("a member");
    drop(etcd.etcdctl(&member, &["put", "greeting", "hello"]).await.ok());
    drop(ns.kubectl(&["delete", &format!("persistentvolumeclaim/{member}"), "--wait=false"]).await.ok());
    let message = etcd.says("Warning", ConditionStatus::True, "ClaimTerminating").await;
    assert!(message.contains(&member), "{message}");
    etcd.until("another member in its place", |cluster| (!ids(cluster).contains_key(&member)).then_some(())).await;
    let second = etcd.runs(1).await;
    assert_eq!(cluster_id(&second), cluster_id(&first));
    let now = ids(&second).into_keys().next().expect("a member");
    let said = etcd.etcdctl(&now, &["get", "greeting", "--print-value-only"]).await.ok();
    assert_eq!(said.trim(), "hello");
}

/// What the init step of a member has left of its file system's size, in bytes.
fn measured(pod: &Pod) -> u64 {
    let steps = pod.status.iter().flat_map(|status| status.init_container_statuses.iter().flatten());
    let left = steps.filter(|step| step.name == "wait").find_map(|step| step.state.as_ref()?.terminated.as_ref());
    let result = left.and_then(|ended| ended.message.clone()).expect("the init step leaves a message");
    let result: Value = serde_json::from_str(&result).unwrap_or_else(|error| panic!("{result}: {error}"));
    result["volumeBytes"].as_u64().unwrap_or_else(|| panic!("no size: {result}"))
}

/// The effective quota of a member's etcd, in bytes.
async fn quota_of(etcd: &Etcd<'_>, member: &str) -> u64 {
    let metrics = etcd.asks(member, "metrics").await;
    let reported = metrics.lines().find_map(|line| line.strip_prefix("etcd_server_quota_backend_bytes "));
    let bytes: f64 = reported.and_then(|bytes| bytes.trim().parse().ok()).expect("etcd reports its quota");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number, far below 2^53")]
    let bytes = bytes as u64;
    bytes
}

/// The file system in a volume of the class `sized` is smaller than its PVC requests, by its own overhead. The quota of etcd fits
/// it, and so does the size in the status.
#[tokio::test]
async fn limits_fit_the_file_system_rather_than_the_claim() {
    let ns = namespace("etcd-fits").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, storage: {size: 1Gi, storageClassName: sized}}").await;
    let member = ids(&etcd.runs(1).await).into_keys().next().expect("a member");
    let volume = measured(&etcd.pods().await[&member]);
    println!("of a claim of 1Gi the file system has {volume} bytes");
    let (asked, fits) = (Limits::of(1 << 30, LARGEST_REQUEST), Limits::of(volume, LARGEST_REQUEST));
    assert!(fits.quota < asked.quota, "the file system is no smaller than the claim: is the class `sized` as it was?");
    let script = format!(
        "test $(( $(stat -f -c '%b * %S' /data) )) -eq {volume}; test $(stat -c %s /data/reserve) -eq {}",
        fits.reserve
    );
    run_on_volume(&ns, &member, &script).await;
    assert_eq!(quota_of(&etcd, &member).await, fits.quota);
    let log = ns.kubectl(&["logs", &member, "--container=etcd"]).await.ok();
    let lowered = format!("quota {} instead of {}", fits.quota, asked.quota);
    assert!(log.contains(&lowered), "{lowered}:\n{log}");

    // As much as a volume of 1Gi would have room for: the spec's value is not lowered, and the status reports its effect.
    let quota = database_space(1 << 30);
    etcd.patch(json!({ "quota": quota.to_string() })).await;
    let message = etcd.says("Warning", ConditionStatus::True, "QuotaTooLarge").await;
    let tenths = volume * 10 / (1 << 20);
    assert!(message.contains(&format!("volumes of {}.{} MiB", tenths / 10, tenths % 10)), "{message}");
    etcd.runs(1).await;
    assert_eq!(quota_of(&etcd, &member).await, quota);
}

/// `kubectl get pvc -o yaml`, with another name, copies the labels, too.
#[tokio::test]
async fn a_copy_of_a_members_pvc_is_reported_and_left_alone() {
    let ns = namespace("etcd-copied").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, storage: {onDelete: Delete}}").await;
    etcd.runs(1).await;
    let (name, claim) = etcd.claims().await.into_iter().next().expect("a claim");
    let copy = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": { "name": "web-backup", "labels": claim.labels() },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "64Mi" } } } });
    ns.apply(&copy.to_string()).await;
    let reported = etcd.says("Warning", ConditionStatus::True, "ClaimCopied").await;
    assert!(reported.contains("web-backup") && !reported.contains(&name), "{reported}");
    delete(&etcd).await;
    ns.until_deleted::<PersistentVolumeClaim>(&name).await;
    let kept = ns.get::<PersistentVolumeClaim>("web-backup").await;
    assert!(kept.metadata.deletion_timestamp.is_none() && kept.labels() == claim.labels(), "{kept:#?}");
}
