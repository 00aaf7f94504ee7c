//! What is refused at once.

use serde_json::{Value, json};

use super::refused;

#[tokio::test]
async fn sizes_versions_and_repositories_out_of_bounds_are_refused() {
    let mut cases: Vec<(Value, &[&str])> = vec![
        (json!({ "size": 0 }), &["spec.size", "greater than or equal to 1"]),
        (json!({ "size": -1 }), &["spec.size", "greater than or equal to 1"]),
        (json!({ "size": 8 }), &["spec.size", "less than or equal to 7"]),
        (json!({ "size": "3" }), &["spec.size", "integer"]),
        (json!({ "size": 2.5 }), &["spec.size", "integer"]),
        (json!({ "size": null }), &["spec.size", "Required"]),
    ];
    let wrong = [
        "latest",
        "3.6",
        "3",
        "03.6.1",
        "3.06.1",
        "",
        "v",
        "vv3.6.1",
        "V3.6.1",
        "3.6.1 ",
        "3.6.1\n",
        "3.6.1-",
        "3.6.1-rc..1",
        "3.6.1+build",
        "3.6.x",
        "3.6.1.1",
        "3.6.99999999999999999999",
    ];
    cases.extend(wrong.iter().map(|version| {
        let sentence: &[&str] = &["spec.version", "version must be a full etcd version, such as 3.6.16, v3.6.16"];
        (json!({ "version": version }), sentence)
    }));
    let wrong = [
        "",
        "quay.io/coreos/etcd:v3.6.16",
        "etcd:latest",
        "etcd@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "https://quay.io/coreos/etcd",
        "quay.io/CoreOS/etcd",
        "quay.io/coreos/etcd/",
        "quay.io/coreos etcd",
        "quay.io/coreos/etcd\n",
        ":5000/etcd",
    ];
    cases.extend(wrong.iter().map(|repository| {
        let sentence: &[&str] = &["spec.repository", "repository must be an image's name without tag or digest"];
        (json!({ "repository": repository }), sentence)
    }));
    refused("etcd-numbers", &cases).await;
}

#[tokio::test]
async fn what_would_break_membership_is_refused() {
    let mut cases: Vec<(Value, &[&str])> = Vec::new();
    let options = [
        "force-new-cluster",
        "data-dir",
        "wal-dir",
        "name",
        "initial-cluster",
        "initial-cluster-state",
        "initial-cluster-token",
        "initial-advertise-peer-urls",
        "listen-peer-urls",
        "listen-client-urls",
        "listen-metrics-urls",
        "advertise-client-urls",
        "strict-reconfig-check",
        "unsafe-no-fsync",
        "quota-backend-bytes",
        "config-file",
        "--log-level",
        "log_level",
        "",
    ];
    cases.extend(options.iter().map(|option| {
        let sentence: &[&str] =
            &["spec.options", "options must be among auto-compaction-mode", "the operator manages membership"];
        (json!({ "options": { *option: "true" } }), sentence)
    }));
    let variables = [
        "POD_IP",
        "TERMINATION_LOG",
        "MULTI_OPERATOR_START",
        "ETCD_FORCE_NEW_CLUSTER",
        "ETCD_DATA_DIR",
        "ETCD_WAL_DIR",
        "ETCD_NAME",
        "ETCD_INITIAL_CLUSTER",
        "ETCD_INITIAL_CLUSTER_STATE",
        "ETCD_INITIAL_CLUSTER_TOKEN",
        "ETCD_INITIAL_ADVERTISE_PEER_URLS",
        "ETCD_LISTEN_PEER_URLS",
        "ETCD_LISTEN_CLIENT_URLS",
        "ETCD_LISTEN_CLIENT_HTTP_URLS",
        "ETCD_LISTEN_METRICS_URLS",
        "ETCD_ADVERTISE_CLIENT_URLS",
        "ETCD_STRICT_RECONFIG_CHECK",
        "ETCD_UNSAFE_NO_FSYNC",
        "ETCD_CONFIG_FILE",
        "ETCD_DISCOVERY",
        "ETCD_DISCOVERY_SRV",
        "ETCD_PROXY",
        "ETCD_HOST_WHITELIST",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "FORWARD_PROXY",
        "ETCD_CERT_FILE",
        "ETCD_TRUSTED_CA_FILE",
        "ETCD_CLIENT_CERT_AUTH",
        "ETCD_PEER_AUTO_TLS",
        "ETCD_MAX_LEARNERS",
        "ETCD_EXPERIMENTAL_MAX_LEARNERS",
    ];
    let by_value = variables.iter().map(|name| json!({ "name": name, "value": "true" }));
    let by_reference = json!({ "name": "ETCD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } });
    cases.extend(by_value.chain([by_reference]).map(|variable| {
        let sentence: &[&str] =
            &["spec.pod.etcdEnv[1].name", "omit this variable from pod.etcdEnv: it would break membership or data"];
        (json!({ "pod": { "etcdEnv": [{ "name": "ETCD_LOG_LEVEL", "value": "warn" }, variable] } }), sentence)
    }));
    let log_level = json!({ "etcdEnv": [{ "name": "ETCD_LOG_LEVEL", "value": "warn" }] });
    let quota = json!({ "etcdEnv": [{ "name": "ETCD_QUOTA_BACKEND_BYTES", "value": "1000000000" }] });
    cases.extend([
        (json!({ "options": { "log-level": "warn" }, "pod": log_level }), &["set twice", "set it once"] as &[&str]),
        (json!({ "quota": "1Gi", "pod": quota }), &["set twice", "set it once"]),
        (json!({ "replaceAfter": "soon" }), &["replaceAfter must be a whole number above 0 and a unit", "such as 10m"]),
        (json!({ "replaceAfter": "0s" }), &["replaceAfter must be a whole number above 0 and a unit"]),
        (json!({ "defragmentation": { "unusedPercent": 5 } }), &["should be greater than or equal to 10"]),
        (
            json!({ "defragmentation": { "window": { "schedule": "0 2 * * 6" } } }),
            &["spec.defragmentation.window.duration: Required value"],
        ),
        (json!({ "options": { "log-level": "" } }), &["an option's value must be 1 to 256 characters without spaces"]),
        (
            json!({ "options": { "log-level": "a b" } }),
            &["an option's value must be 1 to 256 characters without spaces"],
        ),
        (json!({ "options": { "log-level": "a".repeat(257) } }), &["spec.options.log-level", "256"]),
        (json!({ "options": { "snapshot-count": 10000 } }), &["spec.options.snapshot-count", "string"]),
        (json!({ "pod": { "etcdEnv": [{ "name": "", "value": "1" }] } }), &["spec.pod.etcdEnv[0].name"]),
        (
            json!({ "pod": { "etcdEnv": [{ "name": "ETCD_NAME ", "value": "1" }] } }),
            &["spec.pod.etcdEnv[0].name", "match"],
        ),
        (
            json!({ "pod": { "etcdEnv": [{ "name": "ETCD_NAME=x", "value": "1" }] } }),
            &["spec.pod.etcdEnv[0].name", "match"],
        ),
        (json!({ "pod": { "etcdEnv": [{ "value": "1" }] } }), &["spec.pod.etcdEnv[0].name", "Required"]),
    ]);
    refused("etcd-membership", &cases).await;
}

#[tokio::test]
async fn what_is_the_operators_own_is_refused() {
    let mut cases: Vec<(Value, &[&str])> = Vec::new();
    let reserved = [
        "app",
        "etcd_cluster",
        "etcd_node",
        "etcd_anything",
        "multi-operator.example.com/x",
        "app.kubernetes.io/name",
        "app.kubernetes.io/instance",
        "app.kubernetes.io/managed-by",
    ];
    cases.extend(reserved.iter().map(|key| {
        let sentence: &[&str] = &["spec.pod.labels", "are reserved for the operator: use other keys"];
        (json!({ "pod": { "labels": { *key: "x" } } }), sentence)
    }));
    cases.extend(["etcd.version", "multi-operator.example.com/x"].iter().map(|key| {
        let sentence: &[&str] = &["spec.pod.annotations", "are reserved for the operator: use other keys"];
        (json!({ "pod": { "annotations": { *key: "x" } } }), sentence)
    }));
    let labels: &[&str] = &["must be valid Kubernetes labels"];
    let pair: &[&str] =
        &["TLS.static.member.serverSecret and TLS.static.operatorSecret belong together", "set both or neither"];
    cases.extend([
        (json!({ "pod": { "labels": { "a b": "x" } } }), labels),
        (json!({ "pod": { "labels": { "": "x" } } }), labels),
        (json!({ "pod": { "labels": { "team": "a b" } } }), labels),
        (json!({ "pod": { "labels": { "team": "-a" } } }), labels),
        (json!({ "pod": { "labels": { "team": "a".repeat(64) } } }), &["spec.pod.labels.team", "63"]),
        (json!({ "pod": { "nodeSelector": { "a/b/c": "x" } } }), labels),
        (
            json!({ "pod": { "annotations": { "a b": "x" } } }),
            &["pod.annotations must have valid Kubernetes annotation keys"],
        ),
        (json!({ "TLS": { "static": { "member": { "serverSecret": "server" } } } }), pair),
        (json!({ "TLS": { "static": { "operatorSecret": "client" } } }), pair),
        (json!({ "TLS": { "static": { "member": { "peerSecret": "peer" }, "operatorSecret": "client" } } }), pair),
        (json!({ "TLS": { "static": { "member": { "serverSecret": "" }, "operatorSecret": "client" } } }), pair),
        (
            json!({ "pod": { "ClusterDomain": "cluster.local" } }),
            &["a domain with a leading dot, such as .cluster.local"],
        ),
        (json!({ "pod": { "ClusterDomain": ".cluster.local." } }), &["a domain with a leading dot"]),
        (
            json!({ "pod": { "DNSTimeoutInSecond": -1 } }),
            &["spec.pod.DNSTimeoutInSecond", "greater than or equal to 0"],
        ),
        (
            json!({ "pod": { "resources": { "requests": { "cpu": 2 }, "limits": { "cpu": "1500m" } } } }),
            &["a request in resources.requests must not exceed its limit"],
        ),
        (
            json!({ "pod": { "resources": { "requests": { "memory": "much" } } } }),
            &["each value must be a quantity of 0 or more, such as 250m, 1 or 128Mi"],
        ),
    ]);
    refused("etcd-reserved", &cases).await;
}

#[tokio::test]
async fn storage_that_could_not_be_is_refused() {
    let mut cases: Vec<(Value, &[&str])> = Vec::new();
    for quantity in ["", "many", "0", "-1Gi", "2 Gi", "500m", "0.5", "2GiB"] {
        cases.extend([
            (
                json!({ "storage": { "size": quantity } }),
                &["spec.storage.size", "must be a quantity of bytes from 1 to 1Pi, such as 2Gi"] as &[&str],
            ),
            (
                json!({ "quota": quantity }),
                &["spec.quota", "quota must be a quantity of bytes from 1 to 1Pi, such as 8Gi"],
            ),
            (
                json!({ "pod": { "persistentVolumeClaimSpec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": { "requests": { "storage": quantity } },
                } } }),
                &["pod.persistentVolumeClaimSpec must request storage: set resources.requests.storage"],
            ),
        ]);
    }
    for size in ["1e9", "1E", "2Pi", "1.2345Gi", "99999999999999999999999999"] {
        cases.push((
            json!({ "storage": { "size": size } }),
            &["must be a quantity of bytes from 1 to 1Pi, such as 2Gi"],
        ));
    }
    let claim = |extra: Value| {
        let mut claim = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
        for (key, value) in extra.as_object().expect("fields") {
            claim[key] = value.clone();
        }
        json!({ "pod": { "persistentVolumeClaimSpec": claim } })
    };
    let asks: &[&str] = &["pod.persistentVolumeClaimSpec must request storage: set resources.requests.storage"];
    let writes: &[&str] = &["must be writable: set accessModes to [ReadWriteOnce]"];
    let empty: &[&str] = &["must omit dataSource and dataSourceRef", "the same data instead of its own"];
    let none: &[&str] = &["storage.ephemeral means that there is no volume"];
    let both = json!({ "storage": { "size": "1Gi" }, "pod": claim(json!({}))["pod"] });
    cases.extend([
        (claim(json!({ "resources": null })), asks),
        (claim(json!({ "resources": { "limits": { "storage": "1Gi" } } })), asks),
        (claim(json!({ "resources": { "requests": { "cpu": "1" } } })), asks),
        (claim(json!({ "accessModes": [] })), writes),
        (claim(json!({ "accessModes": ["ReadOnlyMany"] })), writes),
        (claim(json!({ "volumeMode": "Block" })), &["must request a file system: omit volumeMode"]),
        (claim(json!({ "dataSource": { "kind": "PersistentVolumeClaim", "name": "other" } })), empty),
        (claim(json!({ "dataSourceRef": { "kind": "VolumeSnapshot", "name": "other" } })), empty),
        (json!({ "storage": { "ephemeral": true, "size": "1Gi" } }), none),
        (json!({ "storage": { "ephemeral": true, "storageClassName": "standard" } }), none),
        (json!({ "storage": { "onDelete": "Keep" } }), &["spec.storage.onDelete", "\"Retain\", \"Delete\""]),
        (json!({ "storage": { "storageClassName": "" } }), &["spec.storage.storageClassName"]),
        (both, &["both define the volumes: set one of them"]),
    ]);
    refused("etcd-storage", &cases).await;
}
