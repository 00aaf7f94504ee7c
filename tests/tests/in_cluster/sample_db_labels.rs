//! Labels of the server's pod are edited by hand, or a pod of others bears its name or its labels.

use api::ConditionStatus::True;
use api::sample_db::SampleDB;
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use e2e::sample_db::{Database, namespace};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::{Value, json};

const QUIET: &str = "{backup: {immediate: false}}";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const INSTANCE: &str = "app.kubernetes.io/instance";
const COMPONENT: &str = "app.kubernetes.io/component";
const OWNER_UID: &str = "multi-operator.example.com/owner-uid";

/// A pod of others that is ready, restricted, and has these labels.
pub async fn foreign_pod(ns: &Namespace, name: &str, labels: &Value) {
    let confined = json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } });
    let user = json!({ "runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": { "type": "RuntimeDefault" } });
    let tool = json!({ "name": "tool", "image": "docker.io/library/postgres:17.12", "securityContext": confined,
        "command": ["sleep", "3600"] });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": labels },
        "spec": { "securityContext": user, "terminationGracePeriodSeconds": 1, "containers": [tool] } });
    ns.apply(&pod.to_string()).await;
    ns.until::<Pod, ()>(name, "a foreign pod that is ready", |pod| {
        let conditions = pod?.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|of| of.type_ == "Ready" && of.status == "True").map(drop)
    })
    .await;
}

async fn unlabel(ns: &Namespace, label: &str) {
    let answer = ns.kubectl(&["label", "pod/shop-0", &format!("{label}-")]).await.ok();
    assert!(answer.contains("unlabeled"), "{answer}");
}

/// Waits until the server's pod has that label, and its StatefulSet.
async fn labeled(ns: &Namespace, label: &str) -> Pod {
    let what = format!("the pod shop-0 to have its label {label} and its owner again");
    ns.until::<Pod, Pod>("shop-0", &what, |pod| {
        let owned = |pod: &&Pod| pod.owner_references().iter().any(|owner| owner.kind == "StatefulSet");
        pod.filter(|pod| pod.labels().contains_key(label)).filter(owned).cloned()
    })
    .await
}

#[tokio::test]
async fn labels_that_are_removed_from_the_servers_pod_come_back_while_it_serves_on() {
    let ns = namespace("sdb-labels").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    let (uid, started) = (ns.get::<Pod>("shop-0").await.uid(), db.asks("select pg_postmaster_start_time()").await);
    for label in [MANAGED_BY, INSTANCE, COMPONENT, OWNER_UID] {
        unlabel(&ns, label).await;
        assert_eq!(labeled(&ns, label).await.uid(), uid, "after the removal of {label}");
    }
    db.serves().await;
    assert_eq!(db.asks("select pg_postmaster_start_time()").await, started, "the server was not restarted");
    db.snapshot("after").await;
}

#[tokio::test]
async fn a_database_whose_pod_lost_its_labels_is_saved_with_all_rows_when_it_is_deleted() {
    let ns = namespace("sdb-labels-end").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    db.asks("create table notes as select 1 a").await;
    for label in [MANAGED_BY, INSTANCE] {
        unlabel(&ns, label).await;
    }
    db.delete(PropagationPolicy::Background).await;
    db.is_deleted().await;
    let last = db.last_snapshot().await.expect("a last snapshot");
    assert!(last.is_ready(), "{last:?}");
}

#[tokio::test]
async fn a_foreign_pod_of_the_servers_name_is_left_alone_and_the_status_says_what_to_do() {
    let ns = namespace("sdb-pod-taken").await;
    foreign_pod(&ns, "shop-0", &json!({})).await;
    let foreign = ns.get::<Pod>("shop-0").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    let message = db.says("Stalled", True, "NameTaken").await;
    println!("of a foreign pod of the server's name it says: {message}");
    assert!(message.contains("Pod shop-0 exists and does not belong to this SampleDB: delete it"), "{message}");
    let now = ns.get::<Pod>("shop-0").await;
    assert_eq!((now.uid(), now.labels()), (foreign.uid(), foreign.labels()));
    ns.api::<Pod>().delete("shop-0", &DeleteParams::default()).await.expect("the foreign pod can be deleted");
    db.serves().await;
}

#[tokio::test]
async fn no_client_reaches_a_foreign_pod_with_the_servers_labels_and_one_with_all_of_them_is_reported() {
    let ns = namespace("sdb-pod-foreign").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    let mut labels = json!(ns.get::<Pod>("shop-0").await.labels());
    let all = labels.clone();
    let owner = labels.as_object_mut().and_then(|labels| labels.remove(OWNER_UID)).expect("the label of the owner");
    let selector = ns.get::<Service>("shop-rw").await.spec.and_then(|spec| spec.selector).unwrap_or_default();
    assert_eq!(selector.get(OWNER_UID).map(String::as_str), owner.as_str());
    foreign_pod(&ns, "some", &labels).await;
    for _ in 0..5 {
        assert_eq!(db.asks("select 1").await, "1", "each connection comes to the server");
    }
    assert!(db.serves().await.condition("Stalled").is_none());
    ns.api::<Pod>().delete("some", &DeleteParams::default()).await.expect("the foreign pod can be deleted");

    foreign_pod(&ns, "every", &all).await;
    let message = db.says("Stalled", True, "ForeignPod").await;
    println!("of a foreign pod with all labels it says: {message}");
    assert!(message.starts_with("Pod every bears all labels"), "{message}");
    unlabel_every(&ns).await;
    ns.until::<SampleDB, ()>("shop", "nothing to be stalled", |db| {
        db.filter(|db| db.is_ready() && db.condition("Stalled").is_none()).map(drop)
    })
    .await;
}

/// The remedy in the message.
async fn unlabel_every(ns: &Namespace) {
    drop(ns.kubectl(&["label", "pod/every", &format!("{OWNER_UID}-")]).await.ok());
}

#[tokio::test]
async fn a_serving_pod_is_not_deleted_for_one_that_pod_security_or_a_quota_rejects() {
    let ns = namespace("sdb-pod-refused").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    let uid = ns.get::<Pod>("shop-0").await.uid();
    db.patch(json!({ "podSecurityContext": { "runAsUser": 999, "fsGroup": 999 } })).await;
    let message = db.says("Stalled", True, "PodRefused").await;
    println!("of a pod that Pod Security rejects it says: {message}");
    assert!(message.contains("PodSecurity"), "{message}");
    assert!(db.serves().await.is_ready());
    assert_eq!(ns.get::<Pod>("shop-0").await.uid(), uid);
    db.patch(json!({ "podSecurityContext": null })).await;
    ns.until::<SampleDB, ()>("shop", "nothing to be stalled", |db| {
        db.filter(|db| db.is_ready() && db.condition("Stalled").is_none()).map(drop)
    })
    .await;
    assert_eq!(ns.get::<Pod>("shop-0").await.uid(), uid, "the pod is as asked again");

    // Room for one server: the API server counts the pod that is there.
    let quota = |cpu: &str| {
        format!(
            "apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: small}}\nspec: {{hard: {{requests.cpu: {cpu}}}}}\n"
        )
    };
    ns.apply(&quota("300m")).await;
    db.patch(json!({ "resources": { "requests": { "cpu": "400m" } } })).await;
    let message = db.says("Stalled", True, "PodRefused").await;
    println!("of a pod that a quota rejects it says: {message}");
    assert!(message.contains("exceeded quota: small"), "{message}");
    assert_eq!(ns.get::<Pod>("shop-0").await.uid(), uid);
    db.patch(json!({ "resources": { "requests": { "cpu": "290m" } } })).await;
    ns.until::<Pod, ()>("shop-0", "a pod that fits once the present one is deleted", |pod| {
        pod.filter(|pod| pod.uid() != uid).map(drop)
    })
    .await;
    db.serves().await;
}
