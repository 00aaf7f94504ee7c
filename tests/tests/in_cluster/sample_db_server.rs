//! What is changed on a server that runs, and how it comes back.

use std::time::{Duration, Instant};

use api::ConditionStatus::{False, True};
use api::sample_db::SampleDB;
use e2e::objects::ManagedKind;
use e2e::sample_db::{Database, namespace};
use e2e::wait::wait_until;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;

const QUIET: &str = "{backup: {immediate: false}}";

async fn until_it_says(db: Database<'_>, sql: &str, wanted: &str) {
    let what = format!("{sql} to give {wanted}");
    wait_until(&what, Duration::from_secs(180), async || {
        let said = db.try_asks(sql).await;
        if said.as_deref() == Ok(wanted) { Ok(()) } else { Err(format!("{said:?}")) }
    })
    .await;
}

#[tokio::test]
async fn parameters_are_reloaded_or_restart_the_server_and_bad_ones_harm_nothing() {
    let ns = namespace("sdb-parameters").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    let started = db.asks("select pg_postmaster_start_time()").await;
    db.patch(json!({ "engine": { "parameters": { "work_mem": "8MB" } } })).await;
    until_it_says(db, "show work_mem", "8MB").await;
    db.patch(json!({ "engine": { "parameters": { "work_mem": "a lot" } } })).await;
    let message = db.says("Stalled", True, "ParameterRefused").await;
    println!("a parameter that is refused: {message}");
    assert!(message.contains("work_mem"));
    assert_eq!(db.asks("show work_mem").await, "8MB");
    assert_eq!(db.asks("select pg_postmaster_start_time()").await, started, "nothing was restarted");
    assert!(db.serves().await.is_ready(), "it serves on");
    db.patch(json!({ "engine": { "parameters": { "work_mem": "8MB", "max_connections": "55" } } })).await;
    until_it_says(db, "show max_connections", "55").await;
    assert_ne!(db.asks("select pg_postmaster_start_time()").await, started);
    assert_eq!(db.asks("show work_mem").await, "8MB", "what was set over a connection is kept over the restart");
    // What the spec says no longer is in a file that the kubelet has yet to bring.
    let begun = Instant::now();
    db.patch(json!({ "engine": { "parameters": { "work_mem": null, "max_connections": null } } })).await;
    is_as_asked(db).await;
    println!("removed parameters are reset after {:.0?}", begun.elapsed());
    assert_eq!(db.asks("show max_connections").await, "100");
    assert_eq!(db.asks("show work_mem").await, "4MB");
}

/// PostgreSQL takes it by ALTER SYSTEM, and does not start with it.
#[tokio::test]
async fn parameters_that_the_server_does_not_start_with_cost_a_restart_and_no_more() {
    let ns = namespace("sdb-no-start").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    db.asks("create table notes as select 1 a").await;
    let given = json!({ "engine": { "parameters": { "work_mem": "8MB", "shared_preload_libraries": "nothere" } } });
    db.patch(given).await;
    let message = db.says("Stalled", True, "ParameterRefused").await;
    println!("a parameter that the server does not start with: {message}");
    assert!(message.contains("nothere"), "{message}");
    assert!(db.serves().await.is_ready(), "it serves on");
    assert_eq!(db.asks("select a from notes").await, "1");
    assert_eq!(db.asks("show work_mem").await, "4MB", "with all that it served with");
    // A node is drained meanwhile.
    let before = db.pod_uid().await;
    ns.api::<Pod>().delete("shop-0", &DeleteParams::default()).await.expect("the pod can be deleted");
    db.has_another_pod(before).await;
    until_it_says(db, "select a from notes", "1").await;
    db.says("Stalled", True, "ParameterRefused").await;
    db.patch(json!({ "engine": { "parameters": { "shared_preload_libraries": null, "max_connections": "55" } } }))
        .await;
    until_it_says(db, "show max_connections", "55").await;
    is_as_asked(db).await;
    assert_eq!(db.asks("show work_mem").await, "8MB");
    assert!(db.serves().await.is_ready());
}

/// Waits until the status says that the database serves, and that nothing is left to do for the spec of now.
async fn is_as_asked(db: Database<'_>) {
    db.ns
        .until::<SampleDB, ()>(db.name, "nothing to be left to do", |db| {
            db.filter(|db| db.is_ready() && db.contract().is_some_and(|said| !said.is_true("Reconciling"))).map(drop)
        })
        .await;
}

#[tokio::test]
async fn passwords_are_those_of_the_secrets_and_lost_secrets_are_recreated() {
    let ns = namespace("sdb-passwords").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    db.asks("create table notes as select 1 a").await;
    let started = db.asks("select pg_postmaster_start_time()").await;
    // One that is not of ASCII, with what quoting could stumble upon.
    let password = "ö'\\ $(x) \"ß";
    let begun = Instant::now();
    ns.patch("secret/shop-app", &json!({ "stringData": { "password": password } })).await;
    let uri = "postgresql://app@shop-rw/app?password=%C3%B6%27%5C%20%24%28x%29%20%22%C3%9F";
    wait_until("the new password to hold", Duration::from_secs(90), async || {
        db.try_psql(uri, "select a from notes").await.map(|_| ())
    })
    .await;
    println!("an edited password is in force after {:.0?}", begun.elapsed());
    let now = db.psql(uri, "select pg_postmaster_start_time()").await;
    assert_eq!(now, started, "no session was ended");

    // As security guides advise. A connection cannot revert it.
    db.superuser_asks("alter role postgres nologin").await;
    let message = db.says("Stalled", True, "SuperuserShutOut").await;
    println!("a superuser that may not log in: {message}");
    assert!(message.contains("delete the Secret"), "{message}");
    for secret in ["shop-app", "shop-system"] {
        ns.api::<Secret>().delete(secret, &DeleteParams::default()).await.expect("the Secret can be deleted");
    }
    until_it_says(db, "select a from notes", "1").await;
    wait_until("the superuser to get in", Duration::from_secs(120), async || {
        db.try_superuser_asks("select a from notes").await.map(|_| ())
    })
    .await;
    db.serves().await;
    // And a snapshot, which takes the superuser, can be taken.
    db.snapshot("after").await;
}

#[tokio::test]
async fn a_password_that_cannot_be_used_is_reported_and_nothing_is_changed() {
    let ns = namespace("sdb-bad-secret").await;
    let mine = |password: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: mine}}\nstringData: {{username: app, password: {password}}}\n"
        )
    };
    let spec = "{backup: {immediate: false}, credentials: {secretRef: {name: mine}}}";
    let db = Database::apply(&ns, "shop", spec).await;
    db.says("Stalled", True, "SecretMissing").await;
    let long = "x".repeat(10_000);
    for bad in ["\"\"", "\"a\\nb\"", "\"a\\0b\"", &long] {
        ns.apply(&mine(bad)).await;
        let message = db.says("Stalled", True, "SecretMalformed").await;
        println!("{message}");
        assert!(!message.contains("xxx"));
    }
    ns.apply(&mine("\"quo'te\"")).await;
    db.serves().await;
    assert_eq!(db.psql("postgresql://app@shop-rw/app?password=quo%27te", "select 1").await, "1");
    ns.apply(&mine("\"\"")).await;
    db.says("SpecValid", False, "SecretMalformed").await;
    assert_eq!(db.psql("postgresql://app@shop-rw/app?password=quo%27te", "select 1").await, "1", "it serves on");
}

#[tokio::test]
async fn a_secret_that_is_named_later_takes_over_and_is_taken_back() {
    let ns = namespace("sdb-own-secret").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    let started = db.asks("select pg_postmaster_start_time()").await;
    ns.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: mine}\nstringData: {username: app, password: mine}\n")
        .await;
    db.patch(json!({ "credentials": { "secretRef": { "name": "mine" } } })).await;
    let uri = "postgresql://app@shop-rw/app?password=mine";
    wait_until("the password of the Secret to hold", Duration::from_secs(180), async || {
        db.try_psql(uri, "select 1").await.map(|_| ())
    })
    .await;
    db.serves().await;
    db.patch(json!({ "credentials": null })).await;
    // By the password of the operator's own Secret, which is there still.
    until_it_says(db, "select pg_postmaster_start_time()", &started).await;
    db.serves().await;
    assert!(db.try_psql(uri, "select 1").await.is_err(), "the other password holds no more");
    assert_eq!(ns.get::<Secret>("mine").await.owner_references().len(), 0, "a Secret of the user's stays theirs");
}

#[tokio::test]
async fn init_runs_once_and_again_only_if_it_failed_and_was_fixed() {
    let ns = namespace("sdb-init").await;
    let sql =
        |text: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: sql}}\ndata: {{a: \"{text}\"}}\n");
    let source = "init: {sqlFrom: [{configMapKeyRef: {name: sql, key: a}}]}";
    let db = Database::apply(&ns, "shop", &format!("{{backup: {{immediate: false}}, {source}}}")).await;
    let message = db.says("Stalled", True, "InitSourceMissing").await;
    assert!(message.contains("sql"), "{message}");
    ns.apply(&sql("create table once (a int); insert into once values (1); select nonsense;")).await;
    let message = db.says("Stalled", True, "InitFailed").await;
    println!("SQL that fails: {message}");
    assert!(message.contains("nonsense"));
    ns.apply(&sql("create table once (a int); insert into once values (1);")).await;
    db.serves().await;
    assert_eq!(db.asks("select count(*) from once").await, "1");
    ns.apply(&sql("insert into once values (2);")).await;
    let before = db.pod_uid().await;
    ns.api::<Pod>().delete("shop-0", &DeleteParams::default()).await.expect("the pod can be deleted");
    db.has_another_pod(before).await;
    until_it_says(db, "select count(*) from once", "1").await;
}

#[tokio::test]
async fn a_random_user_without_a_name_and_a_restart_by_annotation() {
    let ns = namespace("sdb-random-user").await;
    let user = "podSecurityContext: {runAsNonRoot: true, runAsUser: 1000640123, fsGroup: 1000640123, \
                seccompProfile: {type: RuntimeDefault}}";
    let db = Database::apply(&ns, "shop", &format!("{{backup: {{immediate: false}}, {user}}}")).await;
    db.serves().await;
    db.asks("create table notes as select 1 a").await;
    db.snapshot("by-hand").await;
    let before = db.pod_uid().await;
    ns.patch(
        "sampledb/shop",
        &json!({ "metadata": { "annotations": { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" } } }),
    )
    .await;
    db.has_another_pod(before).await;
    until_it_says(db, "select a from notes", "1").await;
    ns.until::<SampleDB, ()>("shop", "a database that serves", |db| db?.is_ready().then_some(())).await;
}

/// A physical snapshot provides the data of a new database of the same major version only.
#[tokio::test]
async fn a_physical_snapshot_is_restored_into_its_own_major_version_only() {
    let ns = namespace("sdb-physical").await;
    let db = Database::apply(&ns, "shop", "{engine: {version: '15'}, backup: {immediate: false}}").await;
    db.serves().await;
    db.asks("create table notes as select a, md5(a::text) b from generate_series(1, 2000) a").await;
    let sum = "select count(*), md5(string_agg(a::text || b, ',' order by a)) from notes";
    let before = db.asks(sum).await;
    db.order("physical", ", method: Physical").await;
    db.verified("physical").await;
    let from = "bootstrap: {fromSnapshot: {name: physical}}, backup: {immediate: false}";
    let other = Database::apply(&ns, "later", &format!("{{engine: {{version: '17'}}, {from}}}")).await;
    let message = other.says("Stalled", True, "SnapshotPhysical").await;
    println!("{message}");
    let again = Database::apply(&ns, "again", &format!("{{engine: {{version: '15'}}, {from}}}")).await;
    again.serves().await;
    assert_eq!(again.asks(sum).await, before);
}
