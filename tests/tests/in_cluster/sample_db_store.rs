//! Snapshots in an object store: a database comes back from there alone, and what becomes of the snapshots while the store is away.

use api::ConditionStatus::{False, True};
use api::sample_db_snapshot::{SampleDBSnapshot, SnapshotCopy, SnapshotPhase, TransferPhase};
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use e2e::s3_server::{BUCKET, CREDENTIALS, Server};
use e2e::sample_db::{Database, another_namespace, message, namespace, until_event};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use serde_json::json;

/// A sum over the rows that [`FILL`] inserts.
const SUM: &str = "select count(*), md5(string_agg(a::text || b, ',' order by a)) from notes";
const FILL: &str = "create table notes as select a, md5(a::text) b from generate_series(1, 2000) a";

/// The bucket and a path in it, in YAML's short form.
fn s3(server: &Server<'_>, path: &str, secret: &str) -> String {
    let endpoint = server.plain();
    format!("s3: {{path: {BUCKET}/{path}, awsSecret: {secret}, endpoint: '{endpoint}', forcePathStyle: true}}")
}

/// Waits until the copy of a snapshot has that phase.
async fn has_copy(ns: &Namespace, snapshot: &str, phase: TransferPhase) -> SnapshotCopy {
    ns.until::<SampleDBSnapshot, SnapshotCopy>(snapshot, &format!("a copy that is {phase:?}"), |snapshot| {
        let copy = &snapshot?.status.as_ref()?.store;
        (copy.phase == Some(phase)).then(|| copy.clone())
    })
    .await
}

/// Imports a snapshot for the SampleDB `name`, and creates that from it, in one step.
async fn restore<'a>(ns: &'a Namespace, name: &'a str, from: &str, more: &str) -> Database<'a> {
    let snapshot = format!(
        "apiVersion: example.com/v1alpha1\nkind: SampleDBSnapshot\nmetadata: {{name: of-{name}}}\n\
         spec: {{sampleDB: {name}, fromStore: {{{from}}}}}\n"
    );
    ns.apply(&snapshot).await;
    let spec = format!("{{bootstrap: {{fromSnapshot: {{name: of-{name}}}}}, backup: {{immediate: false{more}}}}}");
    Database::apply(ns, name, &spec).await
}

#[tokio::test]
async fn a_database_comes_back_from_the_store_alone() {
    let ns = namespace("sdb-store").await;
    let server = Server::start(&ns).await;
    let store = s3(&server, "prod/shop", CREDENTIALS);
    let db = Database::apply(&ns, "shop", &format!("{{backup: {{immediate: false, store: {{{store}}}}}}}")).await;
    db.serves().await;
    db.asks(FILL).await;
    let sum = db.asks(SUM).await;
    db.snapshot("logical").await;
    let logical = has_copy(&ns, "logical", TransferPhase::Stored).await;
    db.asks("insert into notes values (0, 'later')").await;
    let later = db.asks(SUM).await;
    db.order("physical", ", method: Physical").await;
    let physical = has_copy(&ns, "physical", TransferPhase::Stored).await.path.expect("a path");
    until_event(&ns, "physical", "Uploaded").await;
    let healthy = db.says("BackupHealthy", True, "LastSucceeded").await;
    assert!(healthy.contains(&format!("s3://{physical}")), "{healthy}");
    let listed =
        server.shell(&format!("cd /data; cat {BUCKET}/prod/shop/owner.json; ls {physical}.json {physical}/base")).await;
    assert!(listed.contains(&format!("{}/shop", ns.name)) && listed.contains("PG_VERSION"), "{listed}");

    // As in another cluster: nothing but the store is known there. The newest snapshot below the prefix is the physical one.
    let there = another_namespace(&ns, "sdb-store-elsewhere").await;
    server.credentials_in(&there, CREDENTIALS, "right").await;
    let path = logical.path.expect("a path");
    let older = path.strip_prefix(&format!("{BUCKET}/")).expect("a key").to_owned();
    let shop = restore(&there, "shop", &store, "").await;
    let copy = restore(&there, "copy", &s3(&server, &older, CREDENTIALS), &format!(", store: {{{store}}}")).await;
    shop.serves().await;
    copy.serves().await;
    assert_eq!((shop.asks(SUM).await, copy.asks(SUM).await), (later, sum));
    let imported = there.get::<SampleDBSnapshot>("of-shop").await;
    println!("an import says: {}", message(&imported));
    assert!(imported.is_ready() && message(&imported).contains(&physical), "{imported:?}");

    // The prefix is another database's.
    copy.snapshot("own").await;
    let refused = has_copy(&there, "own", TransferPhase::Failed).await.message.expect("a message");
    assert!(refused.contains("belongs to another database") && refused.contains("name another prefix"), "{refused}");
    copy.says("BackupHealthy", False, "UploadFailed").await;
    let own = s3(&server, "prod/copy", CREDENTIALS);
    let own: serde_json::Value = serde_yaml_ng::from_str(&format!("{{{own}}}")).expect("YAML");
    copy.patch(json!({ "backup": { "store": own } })).await;
    has_copy(&there, "own", TransferPhase::Stored).await;
    copy.says("BackupHealthy", True, "LastSucceeded").await;

    // A copy is removed with its snapshot, but not with one that was imported from it.
    for (ns, name) in [(&ns, "logical"), (&there, "of-shop")] {
        ns.api::<SampleDBSnapshot>().delete(name, &DeleteParams::default()).await.expect("it can be deleted");
        ns.until_deleted::<SampleDBSnapshot>(name).await;
    }
    let left = server.shell(&format!("cd /data/{BUCKET}/prod/shop; find . -type f")).await;
    assert!(!left.contains("/logical-") && left.contains("/physical-"), "{left}");
}

#[tokio::test]
async fn a_store_that_is_away_costs_no_snapshot_and_what_it_missed_is_uploaded_later() {
    let ns = namespace("sdb-store-away").await;
    let server = Server::start(&ns).await;
    server.credentials("wrong", "wrong").await;
    let spec = format!("{{backup: {{immediate: false, store: {{{}}}}}}}", s3(&server, "shop", "wrong"));
    let db = Database::apply(&ns, "shop", &spec).await;
    db.serves().await;
    db.asks(FILL).await;
    let sum = db.asks(SUM).await;
    db.snapshot("one").await;
    let refused = has_copy(&ns, "one", TransferPhase::Failed).await.message.expect("a message");
    assert!(refused.contains("SignatureDoesNotMatch"), "{refused}");
    let unhealthy = db.says("BackupHealthy", False, "UploadFailed").await;
    assert!(unhealthy.contains("one is only on its volume"), "{unhealthy}");
    until_event(&ns, "one", "UploadFailed").await;
    let ready = ns.get::<SampleDBSnapshot>("one").await;
    assert_eq!(ready.status.as_ref().and_then(|status| status.phase), Some(SnapshotPhase::Ready));

    // Corrected while the store is away; it is uploaded once the store is back, by itself.
    server.reachable(false).await;
    db.patch(json!({ "backup": { "store": { "s3": { "awsSecret": CREDENTIALS } } } })).await;
    let away = ns
        .until::<SampleDBSnapshot, String>("one", "another failure", |snapshot| {
            let copy = &snapshot?.status.as_ref()?.store;
            copy.message.clone().filter(|why| copy.phase == Some(TransferPhase::Failed) && !why.contains("Signature"))
        })
        .await;
    println!("while the store is away: {away}");
    server.reachable(true).await;
    has_copy(&ns, "one", TransferPhase::Stored).await;
    db.says("BackupHealthy", True, "LastSucceeded").await;

    // The last snapshot of a deleted database is uploaded as well.
    db.delete(PropagationPolicy::Background).await;
    db.is_deleted().await;
    let last = db.last_snapshot().await.and_then(|last| last.metadata.name).expect("a final snapshot");
    let path = has_copy(&ns, &last, TransferPhase::Stored).await.path.expect("a path");
    let key = path.strip_prefix(&format!("{BUCKET}/")).expect("a key");

    // An import says what is wrong, touches no volume that is not for snapshots, and continues once that is corrected.
    let there = another_namespace(&ns, "sdb-store-import").await;
    let import = async |name: &str, path: &str| {
        let from = s3(&server, path, CREDENTIALS);
        there
            .apply(&format!(
                "apiVersion: example.com/v1alpha1\nkind: SampleDBSnapshot\nmetadata: {{name: {name}}}\nspec: {{sampleDB: back, fromStore: {{{from}}}}}\n"
            ))
            .await;
    };
    import("waits", key).await;
    let db = Database { ns: &there, name: "back" };
    let waits = db.snapshot_says("waits", False, "VolumeMissing").await;
    assert!(message(&waits).contains("bootstrap.fromSnapshot.name: waits"), "{}", message(&waits));
    assert_eq!(there.api::<PersistentVolumeClaim>().list(&ListParams::default()).await.expect("a list").items, []);
    let back =
        Database::apply(&there, "back", "{bootstrap: {fromSnapshot: {name: waits}}, backup: {immediate: false}}").await;
    let keyless = db.snapshot_says("waits", False, "ImportFailed").await;
    assert!(message(&keyless).contains("the Secret does not exist"), "{}", message(&keyless));
    let waiting = back.says("Stalled", True, "SnapshotNotReady").await;
    assert!(waiting.contains("waits is not Ready"), "{waiting}");
    import("nothing", "none").await;
    server.credentials_in(&there, CREDENTIALS, "right").await;
    back.serves().await;
    assert_eq!(back.asks(SUM).await, sum);
    let nothing = db.snapshot_says("nothing", False, "ImportFailed").await;
    assert!(message(&nothing).contains("there is no snapshot at s3://backups/none"), "{}", message(&nothing));

    // What the store has is not what was uploaded.
    server.shell(&format!("file=$(find /data/{path} -name '*.dat.gz' | head -n 1); printf x >>$file")).await;
    import("damaged", key).await;
    let damaged = db.snapshot_says("damaged", False, "ImportFailed").await;
    assert!(message(&damaged).contains(".dat.gz has changed"), "{}", message(&damaged));

    for (spec, refusal) in [
        (
            "{sampleDB: shop, reason: Final, fromStore: {s3: {path: b-b/k, awsSecret: aws}}}",
            "omit reason, sampleDBUID and method",
        ),
        ("{sampleDB: shop, fromStore: {s3: {path: bucket, awsSecret: aws}}}", "s3.path must be a bucket and a key"),
        ("{sampleDB: shop, fromStore: {}}", "spec.fromStore.s3: Required value"),
    ] {
        let manifest =
            format!("apiVersion: example.com/v1alpha1\nkind: SampleDBSnapshot\nmetadata: {{name: x}}\nspec: {spec}\n");
        let said = there.kubectl_with(&manifest, &["apply", "--dry-run=server", "--filename=-"]).await.refused();
        assert!(said.contains(refusal), "{spec}: {said}");
    }
    let moved = json!({ "fromStore": { "s3": { "path": "backups/other" } } });
    let said = there
        .kubectl(&["patch", "sdbsnap", "waits", "--type=merge", "-p", &json!({ "spec": moved }).to_string()])
        .await
        .refused();
    assert!(said.contains("cannot be changed"), "{said}");
}
