//! What becomes of volumes when their cluster is deleted.

use std::collections::BTreeMap;

use api::etcd_cluster::EtcdCluster;
use e2e::etcd::{Etcd, cluster_id, ids, namespace};
use e2e::namespace::Namespace;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::ListParams;

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
    etcd.ns.until_gone::<EtcdCluster>(etcd.name).await;
    etcd.ns
        .eventually("no pod, service or budget to be left", || async {
            let left = left(etcd.ns).await;
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
}

/// What tells whether anybody has touched a claim.
fn versions(
    claims: &BTreeMap<String, PersistentVolumeClaim>,
) -> BTreeMap<String, (Option<String>, BTreeMap<String, String>)> {
    claims.iter().map(|(name, claim)| (name.clone(), (claim.uid(), claim.labels().clone()))).collect()
}

/// TestCreateClusterWithPV of coreos/etcd-operator; then the cluster is deleted, and one of the same name is made.
#[tokio::test]
async fn they_are_kept_and_no_later_cluster_takes_them() {
    let ns = namespace("etcd-kept").await;
    let spec = "{size: 3, pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 512Mi}}}}}";
    let etcd = Etcd::apply(&ns, "web", spec).await;
    let first = etcd.stands(3).await;
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
    let second = etcd.stands(1).await;
    assert_ne!(cluster_id(&second), cluster_id(&first));
    let now = etcd.claims().await;
    let (old, new): (BTreeMap<_, _>, _) = now.into_iter().partition(|(name, _)| claims.contains_key(name));
    assert_eq!(versions(&old), versions(&claims), "the earlier cluster's claims are not touched");
    assert!(new.keys().eq(ids(&second).keys()));
}

#[tokio::test]
async fn they_go_with_the_cluster_if_asked_for() {
    let ns = namespace("etcd-gone").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, storage: {size: 64Mi, onDelete: Delete}}").await;
    etcd.stands(1).await;
    assert_eq!(etcd.claims().await.len(), 1);
    delete(&etcd).await;
    ns.eventually("no claim to be left", || async {
        let left = etcd.claims().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{:?}", left.keys())) }
    })
    .await;
}
