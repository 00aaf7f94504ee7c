//! What is refused at once of the other fields, of what is not built yet, and of snapshots.

use serde_json::{Value, json};

use super::{Kind, refused};

#[tokio::test]
async fn what_is_not_built_yet_is_refused_and_not_dropped_in_silence() {
    let cases: Vec<(Value, &[&str])> = vec![
        (json!({ "replicas": 0 }), &["spec.replicas", "replicas other than 1 are not supported yet"]),
        (json!({ "replicas": 2 }), &["spec.replicas", "replicas other than 1 are not supported yet"]),
        (json!({ "failover": {} }), &["spec.failover is not supported yet: omit it"]),
        (json!({ "failover": { "delaySeconds": 5 } }), &["spec.failover is not supported yet: omit it"]),
        (
            json!({ "migrations": { "configMapRef": { "name": "sql" } } }),
            &["spec.migrations is not supported yet: omit it"],
        ),
        (json!({ "drills": [{ "name": "kill", "schedule": "0 3 * * 0" }] }), &["spec.drills are not supported yet"]),
        (json!({ "tls": { "secretRef": { "name": "tls" } } }), &["spec.tls is not supported yet: omit it"]),
        (
            json!({ "credentials": { "rotateEvery": "90d" } }),
            &["credentials.rotateEvery is not supported yet: omit it"],
        ),
        (json!({ "upgrade": { "windows": [{ "days": ["Sun"] }] } }), &["upgrade.windows are not supported yet"]),
        (
            json!({ "upgrade": { "strategy": "InPlace" } }),
            &["spec.upgrade.strategy", "supported values: \"DumpRestore\""],
        ),
        (json!({ "service": { "readOnly": true } }), &["service.readOnly is not supported yet: omit it"]),
    ];
    refused("sdb-later", Kind::Database, &cases).await;
}

#[tokio::test]
async fn bootstraps_that_cannot_be_are_refused() {
    let bootstrap = |bootstrap: Value| json!({ "bootstrap": bootstrap });
    let from = |from: Value| json!({ "bootstrap": { "fromSnapshot": from } });
    let letters: &[&str] = &["spec.bootstrap.database", "must be 1 to 63 lower-case letters, digits or '_'"];
    let reserved: &[&str] = &["spec.bootstrap.database", "bootstrap.database is a reserved name: use one other than"];
    let one: &[&str] = &["bootstrap.fromSnapshot takes exactly one of name (of a SampleDBSnapshot) and ofSampleDB"];
    let mut cases: Vec<(Value, &[&str])> = Vec::new();
    for wrong in ["", "App", "my-app", "1app", "app db", "app\n", "äpp", "app;drop", "app\""] {
        cases.push((bootstrap(json!({ "database": wrong })), letters));
    }
    cases.push((bootstrap(json!({ "database": "a".repeat(64) })), &["spec.bootstrap.database", "63"]));
    let wrong = [
        "postgres",
        "template0",
        "template1",
        "pg_app",
        "public",
        "none",
        "all",
        "replication",
        "sameuser",
        "sampledb_ledger",
    ];
    cases.extend(wrong.map(|wrong| (bootstrap(json!({ "database": wrong })), reserved)));
    cases.extend([
        (from(json!({})), one),
        (from(json!({ "name": "a", "ofSampleDB": "b" })), one),
        (
            from(json!({ "name": "a", "before": "2026-01-31T06:00:00Z" })),
            &["before selects among the snapshots of"] as &[_],
        ),
        (
            from(json!({ "ofSampleDB": "b", "before": "yesterday" })),
            &["spec.bootstrap.fromSnapshot.before", "date-time"],
        ),
        (from(json!({ "ofSampleDB": "b", "before": "2026-01-31T06:00:00" })), &["spec.bootstrap.fromSnapshot.before"]),
        (from(json!({ "ofSampleDB": "b", "before": "2026-02-30T06:00:00Z" })), &["spec.bootstrap.fromSnapshot.before"]),
        (from(json!({ "name": "../other" })), &["fromSnapshot.name must be the name of a SampleDBSnapshot"]),
        (from(json!({ "ofSampleDB": "" })), &["fromSnapshot.ofSampleDB must be the name of a SampleDB"]),
    ]);
    refused("sdb-bootstrap", Kind::Database, &cases).await;
}

#[tokio::test]
async fn references_services_and_pods_that_cannot_be_are_refused() {
    let sql = |source: Value| json!({ "init": { "sqlFrom": [source] } });
    let one: &[&str] = &["an entry of init.sqlFrom takes exactly one of configMapKeyRef and secretKeyRef"];
    let entry = json!({ "name": "sql", "key": "init.sql" });
    let node_port: &[&str] = &["service.nodePort requires service.type NodePort or LoadBalancer"];
    let class: &[&str] = &["service.loadBalancerClass requires service.type LoadBalancer"];
    let root: &[&str] = &["podSecurityContext must not request root"];
    let many: Vec<Value> = (0..17).map(|_| json!({ "configMapKeyRef": entry })).collect();
    let cases: Vec<(Value, &[&str])> = vec![
        (sql(json!({})), one),
        (sql(json!({ "configMapKeyRef": entry, "secretKeyRef": entry })), one),
        (sql(json!({ "configMapKeyRef": { "name": "sql" } })), &["key", "Required"]),
        (
            sql(json!({ "configMapKeyRef": { "name": "", "key": "a" } })),
            &["name must be the name of a ConfigMap or Secret"],
        ),
        (sql(json!({ "secretKeyRef": { "name": "sql", "key": "../a" } })), &["key must be the key of an entry"]),
        (json!({ "init": { "sqlFrom": many } }), &["spec.init.sqlFrom", "16"]),
        (json!({ "credentials": { "secretRef": {} } }), &["spec.credentials.secretRef.name", "Required"]),
        (
            json!({ "credentials": { "secretRef": { "name": "My Secret" } } }),
            &["secretRef.name must be the name of a Secret"],
        ),
        (json!({ "service": { "nodePort": 30432 } }), node_port),
        (json!({ "service": { "type": "ClusterIP", "nodePort": 30432 } }), node_port),
        (json!({ "service": { "loadBalancerClass": "example.com/internal" } }), class),
        (json!({ "service": { "type": "NodePort", "loadBalancerClass": "example.com/internal" } }), class),
        (
            json!({ "service": { "type": "LoadBalancer", "loadBalancerClass": "?" } }),
            &["loadBalancerClass must be a qualified Kubernetes name"],
        ),
        (json!({ "service": { "type": "ExternalName" } }), &["spec.service.type", "supported values"]),
        (json!({ "service": { "port": 0 } }), &["spec.service.port", "greater than or equal to 1"]),
        (json!({ "service": { "port": 65536 } }), &["spec.service.port", "less than or equal to 65535"]),
        (
            json!({ "service": { "annotations": { "a b": "c" } } }),
            &["service.annotations must have valid Kubernetes annotation keys"],
        ),
        (
            json!({ "service": { "annotations": { "multi-operator.example.com/hash": "c" } } }),
            &["service.annotations: multi-operator.example.com/* are reserved for the operator"],
        ),
        (json!({ "podSecurityContext": { "runAsUser": 0 } }), root),
        (json!({ "podSecurityContext": { "runAsNonRoot": false } }), root),
        (json!({ "nodeSelector": { "a b": "c" } }), &["nodeSelector must be valid Kubernetes labels"]),
        (json!({ "resources": { "requests": { "cpu": "lots" } } }), &["each value must be a quantity of 0 or more"]),
        (
            json!({ "resources": { "requests": { "cpu": 2 }, "limits": { "cpu": 1 } } }),
            &["a request in resources.requests must not exceed its limit"],
        ),
        (json!({ "backup": { "method": "Snapshot" } }), &["spec.backup.method", "supported values"]),
        (json!({ "backup": { "retention": { "keepLast": 0 } } }), &["keepLast", "greater than or equal to 1"]),
        (json!({ "backup": { "verify": { "mode": "Never" } } }), &["spec.backup.verify.mode", "supported values"]),
        (json!({ "backup": { "verify": { "everyNth": 0 } } }), &["everyNth", "greater than or equal to 1"]),
        (json!({ "backup": { "verify": { "checks": [{ "expect": "1" }] } } }), &["sql", "Required"]),
        (json!({ "backup": { "verify": { "checks": [{ "sql": "" }] } } }), &["checks[0].sql", "at least 1"]),
        (json!({ "upgrade": { "policy": "Never" } }), &["spec.upgrade.policy", "supported values"]),
        (json!({ "deletion": { "policy": "Keep" } }), &["spec.deletion.policy", "supported values"]),
        (json!({ "deletion": { "onSnapshotFailure": "Ignore" } }), &["onSnapshotFailure", "supported values"]),
        (json!({ "paused": "yes" }), &["spec.paused", "boolean"]),
    ];
    refused("sdb-fields", Kind::Database, &cases).await;
}

#[tokio::test]
async fn snapshots_that_cannot_be_are_refused() {
    let snapshot = |extra: Value| {
        let mut spec = json!({ "sampleDB": "web" });
        for (key, value) in extra.as_object().expect("fields") {
            spec[key] = value.clone();
        }
        spec
    };
    let of: &[&str] = &["spec.sampleDB must be the name of a SampleDB in the same namespace"];
    let cases: Vec<(Value, &[&str])> = vec![
        (json!({}), &["spec.sampleDB", "Required"]),
        (snapshot(json!({ "sampleDB": "" })), of),
        (snapshot(json!({ "sampleDB": "other/web" })), of),
        (snapshot(json!({ "sampleDB": "a".repeat(46) })), of),
        (snapshot(json!({ "sampleDBUID": "" })), &["spec.sampleDBUID must be the metadata.uid of a SampleDB"]),
        (snapshot(json!({ "method": "Incremental" })), &["spec.method", "supported values"]),
        (snapshot(json!({ "reason": "PreMigration" })), &["spec.reason", "supported values"]),
        (snapshot(json!({ "deletionPolicy": "Orphan" })), &["spec.deletionPolicy", "supported values"]),
        (snapshot(json!({ "retainUntil": "tomorrow" })), &["spec.retainUntil", "date-time"]),
        (snapshot(json!({ "retainUntil": "2026-01-31T06:00:00" })), &["spec.retainUntil"]),
    ];
    refused("sdb-snapshots", Kind::Snapshot, &cases).await;
}
