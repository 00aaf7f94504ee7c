//! Databases that have no server, or one that fails.

use api::sample_db::SampleDB;
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::sample_db::{self, Database};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PropagationPolicy};

use super::count::counted;
use super::databases::{LOGGED, SETTLES, delete_claim, serving};
use super::stopped::{self, Hand};
use super::{Says, Server, Wedge, reached, state};

const SHOP: &str = "sampledb/shop";

#[tokio::test]
#[ignore = "scripts/test --all long: minutes in which nothing gets better are counted"]
async fn a_database_without_a_server_that_works_costs_little() {
    let turn = sample_db::namespace("wedged-held").await;
    let (audit, hand) = (cluster::audit(), Hand::new(&turn).await);
    let (wedges, mut wrong) = reached(vec![
        state("a deletion whose final snapshot fails: the data is corrupt", &turn, failed_final_snapshot),
        state("a deletion whose data PVC and server are deleted already", &turn, claim_deleted_first),
        state("a data volume that is full", &turn, full_volume),
        state("a data claim of an earlier SampleDB with another uid", &turn, foreign_claim),
        state("a foreign Secret under the name of the application's", &turn, taken_name),
        state("secretRef to a Secret that does not exist, from the beginning", &turn, missing_secret),
        state("max_connections of 2 from the beginning", &turn, too_few_connections),
        state(stopped::STATE, &turn, |ns| stopped::stopped(ns, &hand)),
    ])
    .await;
    wrong.extend(counted(&audit, &wedges, SETTLES).await);
    if let Some((name, wedge)) = wedges.iter().find(|(name, _)| *name == stopped::STATE) {
        wrong.extend(stopped::logins(name, &wedge.ns, &hand).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// At once, as by a node that is lost.
async fn lose_server(ns: &Namespace) {
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    ns.api::<Pod>().delete("shop-0", &now).await.expect("the pod can be deleted");
}

async fn failed_final_snapshot(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.asks("create table notes as select a from generate_series(1, 100) a").await;
    let data = "/var/lib/postgresql/data/pgdata";
    let script = format!("rm -rf {data}/global && touch {data}/global");
    drop(ns.kubectl(&["exec", "shop-0", "--container=postgres", "--", "bash", "-c", &script]).await.ok());
    lose_server(&ns).await;
    db.delete(PropagationPolicy::Foreground).await;
    Wedge::reached(ns, Says::new(SHOP, "DeletionBlocked", "True", "FinalSnapshotFailed"), Server::None).await
}

/// Nothing can read the data any more, and nothing takes it away.
async fn claim_deleted_first(ns: Namespace) -> Wedge {
    let db = serving(&ns, LOGGED).await;
    db.asks("create table notes as select a from generate_series(1, 100) a").await;
    delete_claim(&ns).await;
    Wedge::said(&ns, Says::stalled(SHOP, "ClaimTerminating")).await;
    lose_server(&ns).await;
    db.delete(PropagationPolicy::Foreground).await;
    Wedge::reached(ns, Says::new(SHOP, "DeletionBlocked", "True", "ClaimTerminating"), Server::None).await
}

/// Inserts 10 MB at a time until that is refused. The server may then run, refuse writes, or keep crashing.
async fn full_volume(ns: Namespace) -> Wedge {
    let spec = LOGGED.replace("{engine", "{storage: {size: 256Mi, storageClassName: sized}, engine");
    let db = serving(&ns, &spec).await;
    db.asks("create table heap (a text)").await;
    let insert = "insert into heap select repeat(md5(random()::text), 40) from generate_series(1, 8000)";
    let mut inserts = 0;
    while db.try_asks(insert).await.is_ok() {
        inserts += 1;
        assert!(inserts < 100, "a volume of 256Mi took {inserts} times 10 MB: does the class `sized` enforce sizes?");
    }
    Wedge::reached(ns, Says::new(SHOP, "StorageHealthy", "False", ""), Server::MayRestart("shop-0")).await
}

/// A SampleDB was deleted that retains its volume, and another one of the same name is created.
async fn foreign_claim(ns: Namespace) -> Wedge {
    let db = serving(&ns, "{backup: {immediate: false}, deletion: {policy: Retain}}").await;
    db.delete(PropagationPolicy::Foreground).await;
    ns.until_deleted::<SampleDB>("shop").await;
    Database::apply(&ns, "shop", LOGGED).await;
    Wedge::reached(ns, Says::stalled(SHOP, "VolumeLeft"), Server::None).await
}

async fn taken_name(ns: Namespace) -> Wedge {
    let foreign =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: shop-app}\nstringData: {username: app, password: theirs}\n";
    ns.apply(foreign).await;
    Database::apply(&ns, "shop", LOGGED).await;
    Wedge::reached(ns, Says::stalled(SHOP, "NameTaken"), Server::None).await
}

async fn missing_secret(ns: Namespace) -> Wedge {
    Database::apply(&ns, "shop", "{credentials: {secretRef: {name: nowhere}}, backup: {immediate: false}}").await;
    Wedge::reached(ns, Says::stalled(SHOP, "SecretMissing"), Server::None).await
}

async fn too_few_connections(ns: Namespace) -> Wedge {
    Database::apply(&ns, "shop", "{engine: {parameters: {max_connections: '2'}}, backup: {immediate: false}}").await;
    Wedge::reached(ns, Says::stalled(SHOP, "ParameterRefused"), Server::None).await
}
