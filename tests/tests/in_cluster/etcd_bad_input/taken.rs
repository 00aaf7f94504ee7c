//! What is taken: the archived operator's manifests, and what is new.

use e2e::etcd::OLD_EXAMPLE;
use e2e::namespace::Namespace;
use serde_json::{Value, json};

use super::{SAMPLE, taken};

#[tokio::test]
async fn what_the_archived_operator_documents_is_taken() {
    let anti_affinity = json!({
        "labelSelector": { "matchExpressions": [{ "key": "etcd_cluster", "operator": "In", "values": ["web"] }] },
        "topologyKey": "kubernetes.io/hostname",
    });
    taken(
        "etcd-old",
        &[
            json!({}),
            json!({ "version": "3.2.13" }),
            json!({ "pod": {
                "nodeSelector": { "diskType": "ssd" },
                "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [anti_affinity] } },
            } }),
            json!({ "pod": { "affinity": { "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 100, "podAffinityTerm": anti_affinity }],
            } } } }),
            json!({ "pod": { "resources": {
                "limits": { "cpu": "300m", "memory": "200Mi" },
                "requests": { "cpu": "200m", "memory": "100Mi" },
            } } }),
            json!({ "pod": { "etcdEnv": [{ "name": "ETCD_AUTO_COMPACTION_RETENTION", "value": "1" }] } }),
            json!({ "pod": { "annotations": { "prometheus.io/scrape": "true", "prometheus.io/port": "2379" } } }),
            json!({ "pod": { "securityContext": { "runAsNonRoot": true, "runAsUser": 9000, "fsGroup": 9000 } } }),
            json!({ "pod": { "persistentVolumeClaimSpec": {
                "storageClassName": "standard",
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "1Gi" } },
            } } }),
            json!({ "pod": {
                "antiAffinity": true,
                "tolerations": [{ "key": "dedicated", "operator": "Exists", "effect": "NoSchedule" }],
                "busyboxImage": "busybox:1.28.0-glibc",
                "DNSTimeoutInSecond": 30,
                "ClusterDomain": ".cluster.local",
                "labels": { "team": "storage" },
            } }),
            json!({ "TLS": { "static": {
                "member": { "peerSecret": "etcd-peer-tls", "serverSecret": "etcd-server-tls" },
                "operatorSecret": "etcd-client-tls",
            } } }),
        ],
    )
    .await;
    let ns = Namespace::new("etcd-examples").await;
    for manifest in [OLD_EXAMPLE, SAMPLE] {
        // Strictly: a field that is unknown would be an error.
        let apply = ["apply", "--dry-run=server", "--validate=strict", "--output=name", "--filename", "-"];
        let said = ns.kubectl_with(manifest, &apply).await.ok();
        assert_eq!(said.trim(), "etcdcluster.etcd.database.coreos.com/example-etcd-cluster");
    }
}

/// What the archived operator's repository has for backups, in examples and guides, with values for what it leaves to the user.
const BACKUPS: [(&str, &str, &str); 11] = [
    (
        "EtcdBackup",
        "backup_cr.yaml",
        "{etcdEndpoints: [ENDPOINT], storageType: S3, s3: {path: mybucket/etcd.backup, awsSecret: aws}}",
    ),
    (
        "EtcdBackup",
        "periodic_backup_cr.yaml",
        "{etcdEndpoints: [ENDPOINT], storageType: S3, backupPolicy: {backupIntervalInSecond: 125, maxBackups: 4}, \
         s3: {path: mybucket/etcd.backup, awsSecret: aws}}",
    ),
    (
        "EtcdBackup",
        "a backup over TLS",
        "{etcdEndpoints: ['https://example-client:2379'], clientTLSSecret: etcd-client-tls, storageType: S3, \
         s3: {path: mybucket/etcd.backup, awsSecret: aws, endpoint: 'http://minio:9000', forcePathStyle: true}}",
    ),
    (
        "EtcdBackup",
        "backup_cronjob/configmap.yaml",
        "{etcdEndpoints: [ENDPOINT], storageType: S3, s3: {path: mybucket/etcd.backup.2020-01-01-10:00:00, awsSecret: aws}}",
    ),
    (
        "EtcdBackup",
        "abs_backup.md",
        "{etcdEndpoints: [ENDPOINT], storageType: ABS, abs: {path: etcd-backups/etcd.backup, absSecret: abs-credentials}}",
    ),
    (
        "EtcdBackup",
        "gcs_backup.md",
        "{etcdEndpoints: [ENDPOINT], storageType: GCS, gcs: {path: my-etcd-backups-bucket/my-object, gcpSecret: gcp-credentials}}",
    ),
    (
        "EtcdBackup",
        "oss_backup.md",
        "{etcdEndpoints: [ENDPOINT], storageType: OSS, backupPolicy: {maxBackups: 4}, oss: {endpoint: \
         'http://oss-cn-hangzhou.aliyuncs.com', ossSecret: my-oss-credentials, path: my-etcd-backups-bucket/etcd.backup}}",
    ),
    (
        "EtcdRestore",
        "restore_cr.yaml",
        "{etcdCluster: CLUSTER, backupStorageType: S3, s3: {path: mybucket/etcd.backup, awsSecret: aws}}",
    ),
    (
        "EtcdRestore",
        "abs_backup.md",
        "{etcdCluster: CLUSTER, backupStorageType: ABS, abs: {path: etcd-backups/etcd.backup, absSecret: abs-credentials}}",
    ),
    (
        "EtcdRestore",
        "gcs_backup.md",
        "{etcdCluster: CLUSTER, backupStorageType: GCS, gcs: {path: my-etcd-backups-bucket/my-object, gcpSecret: gcp-credentials}}",
    ),
    (
        "EtcdRestore",
        "oss_backup.md",
        "{etcdCluster: CLUSTER, backupStorageType: OSS, oss: {path: my-etcd-backups-bucket/etcd.backup, ossSecret: \
         my-oss-credentials, endpoint: 'http://oss-cn-hangzhou.aliyuncs.com'}}",
    ),
];

#[tokio::test]
async fn what_the_archived_operator_documents_of_backups_is_taken() {
    let ns = Namespace::new("etcd-old-backups").await;
    for (kind, origin, spec) in BACKUPS {
        let spec = spec
            .replace("ENDPOINT", "'http://example-etcd-cluster-client:2379'")
            .replace("CLUSTER", "{name: example-etcd-cluster}");
        let head = format!(
            "apiVersion: etcd.database.coreos.com/v1beta2\nkind: {kind}\nmetadata: {{name: example-etcd-cluster}}"
        );
        let create = ["create", "--dry-run=server", "--validate=strict", "--output=name", "--filename", "-"];
        let said = ns.kubectl_with(&format!("{head}\nspec: {spec}\n"), &create).await;
        assert!(said.success, "{origin}: {said:?}");
    }
}

#[tokio::test]
async fn what_is_new_is_taken() {
    let mut all: Vec<Value> =
        ["3.2.13", "v3.6.16", "3.7.0-rc.0", "3.6.0-alpha.1", "0.0.1"].iter().map(|v| json!({ "version": v })).collect();
    all.extend((1..=7).map(|size| json!({ "size": size })));
    all.extend(
        ["quay.io/coreos/etcd", "etcd", "registry.k8s.io/etcd", "localhost:5000/team/etcd", "10.0.0.1:5000/etcd"]
            .iter()
            .map(|repository| json!({ "repository": repository })),
    );
    all.extend([
        json!({ "storage": {} }),
        json!({ "storage": { "size": "2Gi", "storageClassName": "standard", "onDelete": "Delete" } }),
        json!({ "storage": { "ephemeral": true } }),
        json!({ "storage": { "size": "1.5Gi" } }),
        json!({ "quota": "8Gi" }),
        json!({ "replaceAfter": "10m" }),
        json!({ "defragmentation": { "unusedPercent": 60,
            "window": { "schedule": "0 2 * * 6", "timeZone": "Europe/Berlin", "duration": "2h" } } }),
        json!({ "quota": "8589934592" }),
        json!({ "quota": "500M" }),
        json!({ "options": { "auto-compaction-mode": "periodic", "auto-compaction-retention": "1h", "log-level": "warn" } }),
        json!({ "options": { "auto-compaction-retention": "1h" },
            "pod": { "etcdEnv": [{ "name": "ETCD_AUTO_COMPACTION_MODE", "value": "periodic" }] } }),
        json!({ "pod": { "etcdEnv": [
            { "name": "ETCD_LOG_LEVEL", "valueFrom": { "configMapKeyRef": { "name": "etcd", "key": "level" } } },
            // Not etcd's own: it reads names in capitals only.
            { "name": "etcd_name", "value": "x" },
            { "name": "GOMEMLIMIT", "value": "1GiB" },
            { "name": "ETCD_QUOTA_BACKEND_BYTES", "value": "8589934592" },
        ] } }),
        json!({ "pod": { "resources": { "requests": { "cpu": 1, "memory": 134_217_728 } } } }),
        json!({ "pod": { "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": "1Gi" } } } } }),
        json!({ "pod": { "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": "1Gi" } } } },
            "storage": { "onDelete": "Delete" } }),
        json!({ "pod": { "persistentVolumeClaimSpec": {
            "accessModes": ["ReadWriteOncePod"],
            "resources": { "requests": { "storage": 1_073_741_824 } },
        } } }),
        json!({ "pod": {
            "topologySpreadConstraints": [
                { "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule" },
            ],
            "priorityClassName": "system-cluster-critical",
            "imagePullSecrets": [{ "name": "registry" }],
            "labels": { "application": "web", "example.com/team": "Storage_1", "empty": "" },
            "annotations": { "Example.com/Note": "anything at all, ü" },
        } }),
        // What is null is as if it were not there.
        json!({ "version": null, "repository": null, "quota": null, "options": null, "TLS": { "static": null },
            "storage": { "size": null, "storageClassName": null, "ephemeral": null, "onDelete": null },
            "pod": { "labels": null, "etcdEnv": null, "ClusterDomain": null, "persistentVolumeClaimSpec": null } }),
    ]);
    taken("etcd-new", &all).await;
}
