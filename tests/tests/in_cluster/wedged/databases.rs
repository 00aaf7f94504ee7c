//! Databases whose server runs, and that cannot reach their desired state.

use std::time::Duration;

use api::sample_db::{SampleDB, UpgradeResult};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::sample_db::{self, Database};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;
use serde_json::json;

use super::count::counted;
use super::{Says, Server, Wedge, reached, state};

/// A minute: the delays after failures double up to a minute, and most of them are short until that time has passed.
pub const SETTLES: Duration = Duration::from_secs(60);
/// Without backups by themselves, and with a log that has each login.
pub const LOGGED: &str = "{engine: {parameters: {log_connections: 'on'}}, backup: {immediate: false}}";
/// The same of an earlier version, upgraded without a snapshot.
const EARLIER: &str = "{engine: {version: '15', parameters: {log_connections: 'on'}}, backup: {immediate: false}, \
    upgrade: {snapshotBefore: false}}";
const SHOP: &str = "sampledb/shop";
const RUNS: Server = Server::Runs("shop-0");

/// A database that serves.
pub async fn serving<'n>(ns: &'n Namespace, spec: &str) -> Database<'n> {
    let db = Database::apply(ns, "shop", spec).await;
    db.serves().await;
    db
}

#[tokio::test]
#[ignore = "scripts/test --all long: minutes in which nothing gets better are counted"]
async fn a_database_that_is_kept_from_what_is_asked_for_costs_little() {
    let turn = sample_db::namespace("wedged-serving").await;
    let audit = cluster::audit();
    let (wedges, mut wrong) = reached(vec![
        state("backups that are stuck: their volume does not exist", &turn, stuck_snapshots),
        state("an upgrade that ends while the application may not connect", &turn, shut_out_upgrade),
        state("an upgrade that failed: its image does not exist", &turn, failed_upgrade),
        state("an application password that has expired", &turn, expired_password),
        state("default_transaction_read_only on, and a password to set", &turn, read_only),
        state("max_connections of 2 on a server that runs", &turn, too_few_connections),
        state("secretRef to a Secret that does not exist, added later", &turn, missing_secret),
        state("a data claim that is being deleted", &turn, terminating_claim),
        state("a data volume that cannot grow", &turn, no_expansion),
        state("a status that is lost with its record", &turn, lost_status),
        state("a new pod that Pod Security rejects", &turn, rejected_pod),
        state("a new pod that no node takes", &turn, no_such_node),
        state("a foreign pod that bears the server's name", &turn, taken_name),
    ])
    .await;
    wrong.extend(counted(&audit, &wedges, SETTLES).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A snapshot is due every minute, and the first one cannot be taken.
async fn stuck_snapshots(ns: Namespace) -> Wedge {
    let backup = "backup: {immediate: false, schedule: '* * * * *', storage: {existingClaim: nowhere}}";
    serving(&ns, &format!("{{engine: {{parameters: {{log_connections: 'on'}}}}, {backup}}}")).await;
    Wedge::reached(ns, Says::new(SHOP, "BackupHealthy", "False", "Overdue"), RUNS).await
}

async fn shut_out_upgrade(ns: Namespace) -> Wedge {
    let db = serving(&ns, EARLIER).await;
    db.patch(json!({ "engine": { "version": "17" } })).await;
    // Set before, it would keep the upgrade from beginning.
    ns.until::<SampleDB, ()>("shop", "an upgrade under way", |db| db?.status.as_ref()?.upgrade.step.map(drop)).await;
    db.superuser_asks("alter role app connection limit 0").await;
    ns.until::<SampleDB, ()>("shop", "an upgrade that is completed", |db| {
        let upgrade = &db?.status.as_ref()?.upgrade;
        (upgrade.step.is_none() && upgrade.result == Some(UpgradeResult::Completed)).then_some(())
    })
    .await;
    assert!(db.superuser_asks("show server_version").await.starts_with("17."));
    Wedge::reached(ns, Says::stalled(SHOP, "ApplicationRefused"), Server::Runs("shop-17-0")).await
}

async fn failed_upgrade(ns: Namespace) -> Wedge {
    let db = serving(&ns, EARLIER).await;
    db.patch(json!({ "engine": { "version": null, "image": "localhost/nowhere/postgres:17.12" } })).await;
    Wedge::reached(ns, Says::stalled(SHOP, "UpgradeFailed"), RUNS).await
}

async fn expired_password(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.superuser_asks("alter role app valid until '2020-01-01'").await;
    Wedge::reached(ns, Says::stalled(SHOP, "ApplicationRefused"), RUNS).await
}

/// A password can be set all the same, so nothing is tried again and again.
async fn read_only(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    // In one session: the next one can change nothing.
    let owners = ["database app", "database postgres", "role postgres"];
    let set = owners.map(|owner| format!("alter {owner} set default_transaction_read_only = on"));
    db.superuser_asks(&set.join("; ")).await;
    ns.patch("secret/shop-app", &json!({ "stringData": { "password": "another" } })).await;
    let uri = "postgresql://app:another@shop-rw/app";
    let read_only =
        ns.eventually("the new password to hold", || db.try_psql(uri, "show default_transaction_read_only")).await;
    assert_eq!(read_only, "on");
    Wedge::reached(ns, Says::new(SHOP, "Ready", "True", "Running"), RUNS).await
}

async fn too_few_connections(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.patch(json!({ "engine": { "parameters": { "max_connections": "2" } } })).await;
    Wedge::reached(ns, Says::stalled(SHOP, "ParameterRefused"), RUNS).await
}

async fn missing_secret(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.patch(json!({ "credentials": { "secretRef": { "name": "nowhere" } } })).await;
    Wedge::reached(ns, Says::stalled(SHOP, "SecretMissing"), RUNS).await
}

/// Deletes the data's PVC, which a finalizer holds.
pub async fn delete_claim(ns: &Namespace) {
    let claims = ns.api::<PersistentVolumeClaim>();
    claims.delete("data-shop-0", &DeleteParams::default()).await.expect("the claim can be deleted");
}

async fn terminating_claim(ns: Namespace) -> Wedge {
    serving(&ns, LOGGED).await;
    delete_claim(&ns).await;
    Wedge::reached(ns, Says::stalled(SHOP, "ClaimTerminating"), RUNS).await
}

/// The default StorageClass does not allow volume expansion.
async fn no_expansion(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.patch(json!({ "storage": { "size": "2Gi" } })).await;
    Wedge::reached(ns, Says::stalled(SHOP, "Forbidden"), RUNS).await
}

async fn rejected_pod(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.patch(json!({ "podSecurityContext": { "runAsUser": 999, "fsGroup": 999 } })).await;
    Wedge::reached(ns, Says::stalled(SHOP, "PodRefused"), RUNS).await
}

async fn no_such_node(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.patch(json!({ "nodeSelector": { "disktype": "nowhere" } })).await;
    Wedge::reached(ns, Says::stalled(SHOP, "PodRefused"), RUNS).await
}

/// The StatefulSet creates no pod of that name.
async fn taken_name(ns: Namespace) -> Wedge {
    crate::sample_db_labels::foreign_pod(&ns, "shop-0", &json!({})).await;
    Database::apply(&ns, "shop", LOGGED).await;
    Wedge::reached(ns, Says::stalled(SHOP, "NameTaken"), Server::None).await
}

/// While it is paused, the operator does not restore the record on the PVC.
async fn lost_status(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.patch(json!({ "paused": true })).await;
    ns.until::<SampleDB, ()>("shop", "it to be paused", |db| {
        let ready = e2e::objects::ManagedKind::condition(db?, "Ready")?;
        ready.message.contains("paused").then_some(())
    })
    .await;
    drop(ns.kubectl(&["annotate", "pvc/data-shop-0", "multi-operator.example.com/record-"]).await.ok());
    e2e::erasing::erase_status_with_retries(&ns, SHOP).await;
    Wedge::said(&ns, Says::stalled(SHOP, "StatusLost")).await;
    db.patch(json!({ "paused": false })).await;
    Wedge::reached(ns, Says::stalled(SHOP, "StatusLost"), RUNS).await
}
