//! What is taken.

use e2e::namespace::Namespace;
use serde_json::{Value, json};

use super::{Kind, SAMPLES, taken};

#[tokio::test]
async fn an_empty_spec_is_enough_and_so_is_none() {
    let ns = Namespace::new("sdb-examples").await;
    let bare = "apiVersion: example.com/v1alpha1\nkind: SampleDB\nmetadata:\n  name: bare\n".to_owned();
    let empty = format!("{bare}spec: {{}}\n");
    let all = [
        (bare, "sampledb.example.com/bare"),
        (empty, "sampledb.example.com/bare"),
        (SAMPLES[0].to_owned(), "sampledb.example.com/example-database"),
        (SAMPLES[1].to_owned(), "sampledbsnapshot.example.com/example-database-by-hand"),
    ];
    for (manifest, name) in all {
        // Strictly: a field that is unknown would be an error.
        let apply = ["apply", "--dry-run=server", "--validate=strict", "--output=name", "--filename", "-"];
        assert_eq!(ns.kubectl_with(&manifest, &apply).await.ok().trim(), name);
    }
}

#[tokio::test]
async fn what_is_documented_is_taken() {
    let schedules = [
        "",
        "0 2 * * *",
        "*/15 8-18 * * MON-FRI",
        "0,30 0-23/2 1,15 jan-mar,12 *",
        "05 02 01 01 7",
        "0  2 * *  *",
        "* * * * *",
        "0 0 30 2 *",
    ];
    let mut all: Vec<Value> = schedules.iter().map(|schedule| json!({ "backup": { "schedule": schedule } })).collect();
    let zones = ["Etc/UTC", "UTC", "Europe/Paris", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Not/There"];
    all.extend(zones.map(|zone| json!({ "backup": { "timeZone": zone } })));
    all.extend(
        ["", "10", "17", "15.18", "17.0", "18.3", "99.999"].map(|version| json!({ "engine": { "version": version } })),
    );
    let images =
        ["", "postgres", "postgres:17.5-alpine", "docker.io/library/postgres:17", "r.example.com:5000/a/b@sha256:"];
    all.extend(images.map(|image| {
        let digest = if image.ends_with(':') { "0".repeat(64) } else { String::new() };
        json!({ "engine": { "image": format!("{image}{digest}") } })
    }));
    all.extend(
        ["app", "_app", "a", "shop_2", "user", "postgres_app"].map(|name| json!({ "bootstrap": { "database": name } })),
    );
    all.extend(["64Mi", "1Gi", "1.5Gi", "1073741824", "2T"].map(|size| json!({ "storage": { "size": size } })));
    all.extend([
        json!({ "engine": { "version": "", "image": "postgres:17" } }),
        json!({ "engine": { "parameters": {
            "shared_buffers": "256MB",
            "max_connections": "200",
            "jit": "off",
            "timezone": "Europe/Paris",
            "shared_preload_libraries": "pg_stat_statements",
            "pg_stat_statements.max": "10000",
            "log_line_prefix": "%m [%p] 'a' \\ ü ",
            "search_path": "",
            "wal_level": "logical",
        } } }),
        json!({ "bootstrap": { "fromSnapshot": { "name": "web-2611211500" } } }),
        json!({ "bootstrap": { "fromSnapshot": { "ofSampleDB": "web" } } }),
        json!({ "bootstrap": { "fromSnapshot": { "ofSampleDB": "web", "before": "2026-01-31T06:00:00.5+02:00" } } }),
        json!({ "init": { "sqlFrom": [
            { "configMapKeyRef": { "name": "sql", "key": "01_schema.sql" } },
            { "secretKeyRef": { "name": "sql", "key": "users.sql" } },
        ] } }),
        json!({ "credentials": { "secretRef": { "name": "mine" } } }),
        json!({ "backup": {
            "method": "Physical",
            "suspend": true,
            "immediate": false,
            "startingDeadlineSeconds": 600,
            "deadlineSeconds": 7200,
            "retention": { "keepLast": 30, "maxAge": "52w" },
            "storage": { "existingClaim": "mine" },
            "verify": { "mode": "None", "everyNth": 7, "checks": [{ "sql": "SELECT count(*) > 0 FROM t", "expect": "t" }] },
        } }),
        json!({ "upgrade": {
            "policy": "Manual",
            "strategy": "DumpRestore",
            "windows": [],
            "snapshotBefore": false,
            "rollbackOnFailure": false,
            "keepPreviousVolumeFor": "0s",
        } }),
        json!({ "service": { "type": "NodePort", "port": 5433, "nodePort": 30432 } }),
        json!({ "service": {
            "type": "LoadBalancer",
            "loadBalancerClass": "example.com/internal",
            "annotations": { "service.beta.kubernetes.io/Scheme": "internal" },
            "readOnly": false,
        } }),
        json!({ "deletion": {
            "policy": "Retain",
            "protection": true,
            "onSnapshotFailure": "Proceed",
            "timeoutSeconds": 60,
            "keepFinalSnapshotFor": "2w",
        } }),
        json!({
            "replicas": 1,
            "paused": true,
            "drills": [],
            "resources": { "requests": { "cpu": 1, "memory": "256Mi" }, "limits": { "memory": "1Gi" } },
            "nodeSelector": { "disktype": "ssd" },
            "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [
                { "matchExpressions": [{ "key": "zone", "operator": "In", "values": ["a"] }] },
            ] } } },
            "tolerations": [{ "key": "dedicated", "operator": "Exists", "effect": "NoSchedule" }],
            "topologySpreadConstraints": [
                { "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway" },
            ],
            "priorityClassName": "system-cluster-critical",
            "podSecurityContext": { "runAsNonRoot": true, "runAsUser": 999, "fsGroup": 999 },
            "imagePullSecrets": [{ "name": "registry" }],
        }),
        // What is null is as if it were not there.
        json!({ "engine": null, "replicas": null, "storage": { "size": null }, "bootstrap": null,
            "backup": { "schedule": null, "storage": null }, "upgrade": { "windows": null }, "tls": null,
            "failover": null, "migrations": null, "drills": null, "podSecurityContext": null,
            "credentials": { "secretRef": null, "rotateEvery": null } }),
    ]);
    taken("sdb-taken", Kind::Database, &all).await;
    let snapshots = [
        json!({ "sampleDB": "web" }),
        json!({
            "sampleDB": "web",
            "sampleDBUID": "8b0b3b0e-0000-4000-8000-000000000001",
            "method": "Physical",
            "reason": "Final",
            "retainUntil": "2036-01-31T06:00:00Z",
            "deletionPolicy": "Delete",
        }),
    ];
    taken("sdb-snapshots-taken", Kind::Snapshot, &snapshots).await;
}
