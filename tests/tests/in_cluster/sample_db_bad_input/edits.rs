//! What is refused of edits.

use serde_json::{Value, json};

use super::{Kind, edited};

#[tokio::test]
async fn volumes_stay_through_edits() {
    let storage = |storage: Value| json!({ "storage": storage });
    let backup = |storage: Value| json!({ "backup": { "storage": storage } });
    let plain = json!({});
    let bytes = Some("storage.size must be a quantity of bytes from 64Mi to 1Pi");
    let class = Some("storage.storageClassName cannot be changed, added or removed: the database keeps its volume");
    let backup_class = Some("backup.storage.storageClassName cannot be changed, added or removed");
    let size = |size: &str| json!({ "size": size });
    let named = |class: &str| json!({ "storageClassName": class });
    let claim = json!({ "existingClaim": "mine" });
    edited(
        "sdb-volumes",
        Kind::Database,
        &[
            (storage(size("2Gi")), storage(size("4Gi")), None),
            (storage(size("1Gi")), storage(size("1024Mi")), None),
            // This reverts an expansion that the StorageClass does not allow; volumes themselves never shrink.
            (storage(size("2Gi")), storage(size("2G")), None),
            (storage(size("2Gi")), storage(json!({})), None),
            (storage(size("2Gi")), plain.clone(), None),
            (storage(size("2Gi")), storage(json!({ "size": null })), None),
            (storage(size("512Mi")), plain.clone(), None),
            (plain.clone(), storage(size("512Mi")), None),
            (plain.clone(), storage(size("1Gi")), None),
            (plain.clone(), storage(size("3Gi")), None),
            (storage(size("2Gi")), storage(size("lots")), bytes),
            (storage(named("a")), storage(named("a")), None),
            (storage(named("a")), storage(named("b")), class),
            (storage(named("a")), storage(json!({})), class),
            (storage(named("a")), plain.clone(), class),
            (storage(json!({})), storage(named("a")), class),
            (plain.clone(), storage(named("a")), class),
            (backup(size("2Gi")), backup(size("20Gi")), None),
            (backup(size("20Gi")), backup(size("2Gi")), None),
            (backup(size("20Gi")), plain.clone(), None),
            (plain.clone(), backup(size("1Gi")), None),
            (plain.clone(), backup(size("2Gi")), None),
            (backup(named("a")), backup(named("b")), backup_class),
            (backup(named("a")), plain.clone(), backup_class),
            (plain.clone(), backup(named("a")), backup_class),
            (backup(size("20Gi")), backup(claim.clone()), None),
            (backup(claim.clone()), backup(size("1Gi")), None),
            (backup(named("a")), backup(claim.clone()), None),
            (backup(claim), plain, None),
        ],
    )
    .await;
}

#[tokio::test]
async fn the_bootstrap_of_a_database_is_immutable() {
    let database = |name: &str| json!({ "bootstrap": { "database": name } });
    let from = |from: Value| json!({ "bootstrap": { "fromSnapshot": from } });
    let plain = json!({});
    let created = Some(
        "bootstrap.database cannot be changed (default: app): the operator created the database with the SampleDB",
    );
    let filled = Some("bootstrap.fromSnapshot cannot be changed, added or removed: a database is filled once");
    let first = json!({ "ofSampleDB": "old", "before": "2026-01-31T06:00:00Z" });
    let second = json!({ "ofSampleDB": "old", "before": "2026-01-31T06:00:01Z" });
    edited(
        "sdb-bootstrap-edits",
        Kind::Database,
        &[
            (database("shop"), database("shop"), None),
            (database("shop"), database("store"), created),
            (database("shop"), json!({ "bootstrap": {} }), created),
            (database("shop"), plain.clone(), created),
            (plain.clone(), database("shop"), created),
            (plain.clone(), database("app"), None),
            (database("app"), plain.clone(), None),
            (plain.clone(), json!({ "bootstrap": {} }), None),
            (from(json!({ "name": "a" })), from(json!({ "name": "a" })), None),
            (from(json!({ "name": "a" })), from(json!({ "name": "b" })), filled),
            (from(json!({ "name": "a" })), from(json!({ "ofSampleDB": "a" })), filled),
            (from(json!({ "name": "a" })), plain.clone(), filled),
            (plain.clone(), from(json!({ "name": "a" })), filled),
            (plain, json!({ "bootstrap": { "fromSnapshot": null } }), None),
            (from(first.clone()), from(first.clone()), None),
            (from(first.clone()), from(second), filled),
            (from(first), from(json!({ "ofSampleDB": "old" })), filled),
        ],
    )
    .await;
}

#[tokio::test]
async fn all_else_may_be_edited() {
    let plain = json!({});
    edited(
        "sdb-edits",
        Kind::Database,
        &[
            (plain.clone(), json!({ "engine": { "version": "17" } }), None),
            (json!({ "engine": { "version": "15" } }), json!({ "engine": { "version": "17" } }), None),
            // The API server does not know whether a downgrade is possible: a condition reports it.
            (json!({ "engine": { "version": "17" } }), json!({ "engine": { "version": "15" } }), None),
            (json!({ "engine": { "version": "17" } }), json!({ "engine": { "image": "postgres:17.5" } }), None),
            (json!({ "engine": { "parameters": { "work_mem": "1MB" } } }), plain.clone(), None),
            (plain.clone(), json!({ "credentials": { "secretRef": { "name": "mine" } } }), None),
            (json!({ "credentials": { "secretRef": { "name": "mine" } } }), plain.clone(), None),
            (plain.clone(), json!({ "backup": { "schedule": "", "method": "Physical", "suspend": true } }), None),
            (plain.clone(), json!({ "service": { "type": "NodePort", "nodePort": 30432, "port": 5433 } }), None),
            (json!({ "service": { "type": "NodePort", "nodePort": 30432 } }), plain.clone(), None),
            (plain.clone(), json!({ "deletion": { "policy": "Delete" } }), None),
            (plain.clone(), json!({ "resources": { "requests": { "cpu": "250m" } } }), None),
            (plain.clone(), json!({ "replicas": 1 }), None),
            (plain, json!({ "replicas": 2 }), Some("replicas other than 1 are not supported yet")),
        ],
    )
    .await;
}

#[tokio::test]
async fn snapshots_stay_as_they_are_but_for_how_long_they_are_kept() {
    let with = |key: &str, value: &str| {
        let mut spec = json!({ "sampleDB": "web" });
        spec[key] = json!(value);
        spec
    };
    let plain = json!({ "sampleDB": "web" });
    let fixed = Some("a SampleDBSnapshot cannot be changed except for spec.retainUntil: create a new one");
    let mut cases = vec![
        (plain.clone(), plain.clone(), None),
        (plain.clone(), json!({ "sampleDB": "shop" }), fixed),
        (plain.clone(), with("reason", "Manual"), None),
        (plain.clone(), with("retainUntil", "2036-01-31T06:00:00Z"), None),
        (with("retainUntil", "2036-01-31T06:00:00Z"), with("retainUntil", "2037-01-31T06:00:00Z"), None),
        (with("retainUntil", "2036-01-31T06:00:00Z"), plain.clone(), None),
    ];
    let uids = ("8b0b3b0e-0000-4000-8000-000000000001", "8b0b3b0e-0000-4000-8000-000000000002");
    for (key, first, second) in [
        ("sampleDBUID", uids.0, uids.1),
        ("method", "Logical", "Physical"),
        ("reason", "Scheduled", "Final"),
        ("deletionPolicy", "Delete", "Retain"),
    ] {
        cases.push((with(key, first), with(key, first), None));
        cases.push((with(key, first), with(key, second), fixed));
        cases.push((with(key, first), plain.clone(), fixed));
        cases.push((plain.clone(), with(key, first), fixed));
    }
    edited("sdb-snapshot-edits", Kind::Snapshot, &cases).await;
}
