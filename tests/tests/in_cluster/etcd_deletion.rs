//! An EtcdCluster, its PVCs and its pods are deleted in every order: the data is there in the end, or on volumes that the
//! documented commands bring back.

use api::ConditionStatus;
use api::etcd_cluster::EtcdCluster;
use e2e::etcd::{Etcd, ids, namespace};
use e2e::namespace::Namespace;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;

/// What is deleted, by the label that all of it bears.
const OBJECT: &str = "etcdclusters";
const CLAIMS: &str = "persistentvolumeclaims";
const PODS: &str = "pods";

async fn delete(ns: &Namespace, name: &str, what: &str) {
    let selector = format!("--selector=etcd_cluster={name}");
    let target = if what == OBJECT { format!("etcdcluster/{name}") } else { what.to_owned() };
    let mut arguments = vec!["delete", target.as_str(), "--wait=false"];
    if what != OBJECT {
        arguments.push(&selector);
    }
    drop(ns.kubectl(&arguments).await);
}

async fn with_a_key<'n>(ns: &'n Namespace, name: &'static str, size: u8) -> Etcd<'n> {
    let etcd = Etcd::apply(ns, name, &format!("{{size: {size}}}")).await;
    let member = ids(&etcd.runs(size.into()).await).into_keys().next().expect("a member");
    drop(etcd.etcdctl(&member, &["put", "greeting", name]).await.ok());
    etcd
}

/// Has the cluster come back from its volumes, and reads what was written.
async fn comes_back(ns: &Namespace, name: &'static str, size: u8, uid: &str) {
    let etcd = Etcd::apply(ns, name, &format!("{{size: {size}}}")).await;
    drop(ns.kubectl(&["annotate", &format!("etcdcluster/{name}"), &format!("example.com/adopt={uid}")]).await.ok());
    let member = ids(&etcd.runs(size.into()).await).into_keys().next().expect("a member");
    let said = etcd.etcdctl(&member, &["get", "greeting", "--print-value-only"]).await.ok();
    assert_eq!(said.trim(), name);
}

/// The commands of docs/etcd-cluster.md, "PVCs deleted by mistake".
async fn bind_again(ns: &Namespace, claim: &str) {
    let script = format!(
        r#"set -eu
CLAIM={claim}; cd $(mktemp -d)
kubectl() {{ command kubectl --namespace {ns} "$@"; }}
VOLUME=$(kubectl get pvc $CLAIM -o jsonpath='{{.spec.volumeName}}')
kubectl patch pv $VOLUME -p '{{"spec":{{"persistentVolumeReclaimPolicy":"Retain"}}}}'
kubectl get pvc $CLAIM -o yaml | sed '/^  resourceVersion:/d; /^    pv.kubernetes.io/d' > claim.yaml
kubectl patch pvc $CLAIM --type=merge -p '{{"metadata":{{"finalizers":null}}}}'
kubectl delete pod $CLAIM --ignore-not-found
kubectl wait --for=delete pvc/$CLAIM
kubectl patch pv $VOLUME --type=json -p '[{{"op":"remove","path":"/spec/claimRef/uid"}},{{"op":"remove","path":"/spec/claimRef/resourceVersion"}}]'
kubectl create -f claim.yaml
"#,
        ns = ns.name
    );
    let done = tokio::process::Command::new("sh").args(["-c", &script]).output().await.expect("there is a shell");
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}

/// In that order, each without waiting for the one before.
async fn in_that_order(ns: &Namespace, name: &'static str, order: [&str; 3]) {
    let etcd = with_a_key(ns, name, 1).await;
    let uid = etcd.now().await.uid().expect("a uid");
    for what in order {
        delete(ns, name, what).await;
    }
    let blocked = |cluster: Option<&EtcdCluster>| match cluster {
        None => Some(false),
        Some(cluster) => {
            let conditions = &cluster.status.as_ref()?.contract;
            let blocked = conditions
                .condition("Terminating")
                .is_some_and(|reported| reported.reason.as_str() == "DeletionBlocked");
            blocked.then_some(true)
        }
    };
    let what = "the cluster to be deleted, or to say why it is not";
    if ns.until::<EtcdCluster, _>(name, what, blocked).await {
        println!("{name}, {order:?}: blocked");
        for claim in etcd.claims().await.into_values() {
            if claim.metadata.deletion_timestamp.is_some() {
                bind_again(ns, &claim.name_any()).await;
            }
        }
        ns.until_deleted::<EtcdCluster>(name).await;
    }
    comes_back(ns, name, 1, &uid).await;
}

#[tokio::test]
async fn in_every_order_no_key_is_lost() {
    let ns = &namespace("etcd-orders").await;
    tokio::join!(
        in_that_order(ns, "a", [OBJECT, CLAIMS, PODS]),
        in_that_order(ns, "b", [OBJECT, PODS, CLAIMS]),
        in_that_order(ns, "c", [CLAIMS, OBJECT, PODS]),
        in_that_order(ns, "d", [CLAIMS, PODS, OBJECT]),
        in_that_order(ns, "e", [PODS, OBJECT, CLAIMS]),
        in_that_order(ns, "f", [PODS, CLAIMS, OBJECT]),
    );
}

/// The realistic mistake: one command for the object and what belongs to it.
#[tokio::test]
async fn a_cluster_that_is_deleted_with_its_claims_leaves_its_data_on_other_volumes() {
    let ns = &namespace("etcd-both").await;
    let etcd = with_a_key(ns, "web", 3).await;
    let (uid, before) = (etcd.now().await.uid().expect("a uid"), etcd.claim_uids().await);
    drop(ns.kubectl(&["label", "etcdcluster/web", "etcd_cluster=web"]).await.ok());
    let both = ["delete", "etcdclusters,persistentvolumeclaims", "--selector=etcd_cluster=web", "--wait=false"];
    drop(ns.kubectl(&both).await.ok());
    let message = etcd.says("Terminating", ConditionStatus::True, "SavingVolumes").await;
    println!("a cluster that is deleted with its claims says: {message}");
    assert!(message.contains("spec.storage.onDelete"), "{message}");
    ns.until_deleted::<EtcdCluster>("web").await;
    let after = etcd.claims().await;
    assert!(after.len() == 3 && !after.keys().any(|name| before.contains_key(name)), "{:?}", after.keys());
    let held = |claim: &PersistentVolumeClaim| claim.finalizers().iter().any(|held| held == api::UNSAVED_DATA);
    assert!(!after.values().any(held), "nothing releases them later");
    comes_back(ns, "web", 3, &uid).await;
}
