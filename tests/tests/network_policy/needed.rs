//! What the operator does, it can do: nothing that it needs is missing from the policies.

use api::my_app::MyApp;
use api::sample_db::{SampleDB, UpgradeResult};
use e2e::etcd::Etcd;
use e2e::objects::runs;
use e2e::sample_db::Database;
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use crate::probe::Probe;
use crate::stage::{guard, guarded, namespace, shared};

/// Requests PostgreSQL 17 and waits until the upgrade is complete.
pub(crate) async fn upgrade_to_17(db: &Database<'_>) {
    db.patch(json!({ "engine": { "version": "17" } })).await;
    db.ns
        .until::<SampleDB, ()>(db.name, "an upgrade to 17", |db| {
            let upgrade = &db?.status.as_ref()?.upgrade;
            (upgrade.step.is_none() && upgrade.result == Some(UpgradeResult::Completed)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn etcd_grows_to_three_members_and_shrinks() {
    let _turn = shared().await;
    let ns = guarded("np-etcd").await;
    let etcd = Etcd::apply(&ns, "settings", "{size: 3, version: 3.5.35}").await;
    etcd.runs(3).await;
    etcd.scale(1).await;
    etcd.runs(1).await;
}

#[tokio::test]
async fn a_database_is_created_saved_verified_and_upgraded() {
    let _turn = shared().await;
    let ns = guarded("np-database").await;
    let db = Database::apply(&ns, "orders", "{engine: {version: '15'}, backup: {immediate: false}}").await;
    db.serves().await;
    let client = Probe::new(&ns, "client", &json!({ "multi-operator.example.com/postgres-client": "true" })).await;
    let secret: Secret = ns.get("orders-app").await;
    let uri = secret.data.and_then(|mut data| data.remove("uri")).expect("where the database is");
    let uri = String::from_utf8(uri.0).expect("text");
    let ask = async |sql: &str| {
        let psql = ["psql", uri.as_str(), "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--command", sql];
        let asked = || client.runs("", &psql);
        e2e::wait::wait_until("an application's answer", std::time::Duration::from_secs(30), asked).await
    };
    let created =
        "create table if not exists kept as select a from generate_series(1, 1000) a; select count(*) from kept";
    assert_eq!(ask(created).await.trim(), "1000");
    db.snapshot("before").await;
    upgrade_to_17(&db).await;
    assert_eq!(ask("select count(*) from kept").await.trim(), "1000");
    assert!(ask("show server_version").await.starts_with("17"));
    // Another database is created from the snapshot: a Job loads it.
    let spec = "{engine: {version: '17'}, backup: {immediate: false}, bootstrap: {fromSnapshot: {name: before}}}";
    Database::apply(&ns, "copy", spec).await.serves().await;
}

/// Its pods are the user's, and no policy is about them.
#[tokio::test]
async fn pods_of_an_app_are_not_restricted() {
    let _turn = shared().await;
    let ns = namespace("np-app", &[]).await;
    guard(&ns).await;
    ns.apply(
        &json!({
            "apiVersion": "example.com/v1", "kind": "MyApp", "metadata": { "name": "web" },
            "spec": { "replicas": 1, "image": "nginx:1.25" },
        })
        .to_string(),
    )
    .await;
    ns.until::<MyApp, ()>("web", "an app that runs", |app| app.filter(|app| runs(app, 1)).map(|_| ())).await;
}
