//! What servers of SampleDBs and the operator's Jobs for them reach: code of users runs in some of them.

use e2e::kubectl::kubectl;
use e2e::namespace::Namespace;
use e2e::objects::serves;
use e2e::sample_db::Database;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::clients::{address, label};
use crate::needed::upgrade_to_17;
use crate::probe::{MAY_I_USE_TLS, Probe, VERSION};
use crate::stage::{guarded, kept_apart, let_own_jobs_in, shared};

const SPEC: &str = "{engine: {version: '15'}, backup: {immediate: false}}";
const PAGE: &str = "GET / HTTP/1.0\\r\\n\\r\\n";

/// The API server's Service.
async fn api_server() -> String {
    let service = ["get", "service", "kubernetes", "--namespace=default", "--output=jsonpath={.spec.clusterIP}"];
    kubectl(&service).await.ok().trim().to_owned()
}

/// Something in a namespace without policies that answers everybody.
async fn anybody(ns: &Namespace) -> String {
    drop(ns.kubectl(&["run", "nginx", "--image=docker.io/library/nginx:1.25"]).await.ok());
    let serving = |pod: Option<&Pod>| pod.filter(|pod| serves(pod)).and_then(|pod| pod.status.clone()?.pod_ip);
    ns.until::<Pod, String>("nginx", "nginx", serving).await
}

/// The labels of a Job's pods, as the operator gives them: those by which the Job knows its own are not among them.
async fn labels(ns: &Namespace, job: &str) -> Value {
    let found =
        ns.until::<Job, _>(job, "a Job", |job| job?.spec.as_ref()?.template.metadata.as_ref()?.labels.clone()).await;
    let own = |label: &String| label.contains("job-name") || label.contains("controller-uid");
    json!(found.into_iter().filter(|(label, _)| !own(label)).collect::<std::collections::BTreeMap<_, _>>())
}

#[tokio::test]
async fn what_verifies_a_snapshot_reaches_nothing() {
    let _turn = shared().await;
    let ns = guarded("np-verify").await;
    let db = Database::apply(&ns, "orders", SPEC).await;
    db.serves().await;
    let (_, like) = tokio::join!(db.snapshot("before"), labels(&ns, "before-verify"));
    let (server, api) = (address(&ns, "orders-0").await, api_server().await);

    let pod = Probe::new(&ns, "like-verify", &like).await;
    pod.is_shut_out(&server, 5432, MAY_I_USE_TLS).await;
    pod.is_shut_out(&api, 443, VERSION).await;
    pod.finds_no_names().await;
    // It is the label that shuts it in: without that it is a Job like others, which is kept from the API server.
    label(&ns, "like-verify", "multi-operator.example.com/isolated-").await;
    assert_eq!(pod.gets_through(&server, 5432, MAY_I_USE_TLS).await, "N");
    pod.finds_names().await;
    pod.is_shut_out(&api, 443, VERSION).await;
    drop(ns.kubectl(&["delete", "networkpolicy", "multi-operator-jobs", "name-server-on-node"]).await.ok());
    assert!(pod.gets_through(&api, 443, VERSION).await.contains("HTTPS server"));
}

#[tokio::test]
async fn what_restores_reaches_servers_of_its_namespace_and_name_servers() {
    let _turn = shared().await;
    let ns = guarded("np-restore").await;
    let open = ns.another("np-open", &[]).await;
    let (db, elsewhere) = tokio::join!(Database::apply(&ns, "orders", SPEC), Database::apply(&open, "others", SPEC));
    tokio::join!(db.serves(), elsewhere.serves());
    db.snapshot("before").await;
    let spec = "{engine: {version: '15'}, backup: {immediate: false}, bootstrap: {fromSnapshot: {name: before}}}";
    let copy = Database::apply(&ns, "copy", spec).await;
    let (_, like) = tokio::join!(copy.serves(), labels(&ns, "copy-restore"));
    let (own, others, api) = (address(&ns, "copy-0").await, address(&open, "others-0").await, api_server().await);
    let nginx = anybody(&open).await;

    let pod = Probe::new(&ns, "like-restore", &like).await;
    assert_eq!(pod.gets_through(&own, 5432, MAY_I_USE_TLS).await, "N");
    pod.finds_names().await;
    // Only the pod's own policy keeps it from reaching these.
    pod.is_shut_out(&others, 5432, MAY_I_USE_TLS).await;
    pod.is_shut_out(&nginx, 80, PAGE).await;
    pod.is_shut_out(&api, 443, VERSION).await;
    drop(ns.kubectl(&["delete", "networkpolicy", "multi-operator-jobs", "name-server-on-node"]).await.ok());
    assert_eq!(pod.gets_through(&others, 5432, MAY_I_USE_TLS).await, "N");
    assert!(pod.gets_through(&nginx, 80, PAGE).await.contains("nginx"));
    assert!(pod.gets_through(&api, 443, VERSION).await.contains("HTTPS server"));
}

/// With the policies that the docs have for that, a database is saved, restored and upgraded by Jobs that get no answer of
/// another database's server.
#[tokio::test]
async fn jobs_reach_the_server_of_their_own_database_alone() {
    let _turn = shared().await;
    let ns = kept_apart("np-apart").await;
    for database in ["orders", "copy"] {
        let_own_jobs_in(&ns, database).await;
    }
    let db = Database::apply(&ns, "orders", SPEC).await;
    db.serves().await;
    db.snapshot("before").await;
    let spec = "{engine: {version: '15'}, backup: {immediate: false}, bootstrap: {fromSnapshot: {name: before}}}";
    let copy = Database::apply(&ns, "copy", spec).await;
    let (_, like) = tokio::join!(copy.serves(), labels(&ns, "copy-restore"));
    let (own, others) = (address(&ns, "copy-0").await, address(&ns, "orders-0").await);

    let pod = Probe::new(&ns, "like-restore", &like).await;
    assert_eq!(pod.gets_through(&own, 5432, MAY_I_USE_TLS).await, "N");
    pod.is_shut_out(&others, 5432, MAY_I_USE_TLS).await;
    // The label with the name of its database allows it.
    label(&ns, "like-restore", "multi-operator.example.com/sampledb=orders").await;
    assert_eq!(pod.gets_through(&others, 5432, MAY_I_USE_TLS).await, "N");
    pod.is_shut_out(&own, 5432, MAY_I_USE_TLS).await;
    upgrade_to_17(&copy).await;
}

/// SQL that a user runs in it connects where the server's pod may.
#[tokio::test]
async fn a_server_reaches_nothing() {
    let _turn = shared().await;
    let ns = guarded("np-server").await;
    let open = ns.another("np-around", &[]).await;
    let db = Database::apply(&ns, "orders", SPEC).await;
    db.serves().await;
    Database::apply(&ns, "others", SPEC).await.serves().await;
    let (others, api, nginx) = (address(&ns, "others-0").await, api_server().await, anybody(&open).await);

    let server = Probe::within(&ns, &ns.name, "orders-0").await;
    server.is_shut_out(&nginx, 80, PAGE).await;
    server.is_shut_out(&api, 443, VERSION).await;
    server.is_shut_out(&others, 5432, MAY_I_USE_TLS).await;
    server.finds_no_names().await;
    drop(ns.kubectl(&["delete", "networkpolicy", "multi-operator-postgres"]).await.ok());
    assert!(server.gets_through(&nginx, 80, PAGE).await.contains("nginx"));
    assert!(server.gets_through(&api, 443, VERSION).await.contains("HTTPS server"));
    assert_eq!(server.gets_through(&others, 5432, MAY_I_USE_TLS).await, "N");
    server.finds_names().await;
}
