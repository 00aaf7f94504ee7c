//! What the API refuses of an EtcdCluster, with a sentence that says what is wrong and what to do; and what the archived
//! operator took, which must not be refused. Nothing here runs: creates are dry, and what edits start from is paused.

use api::etcd_cluster::EtcdCluster;
use e2e::namespace::Namespace;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// The archived operator's example, as it stands there.
const OLD_EXAMPLE: &str = r#"apiVersion: "etcd.database.coreos.com/v1beta2"
kind: "EtcdCluster"
metadata:
  name: "example-etcd-cluster"
  ## Adding this annotation make this cluster managed by clusterwide operators
  ## namespaced operators ignore it
  # annotations:
  #   etcd.database.coreos.com/scope: clusterwide
spec:
  size: 3
  version: "3.2.13"
"#;
/// Ours.
const SAMPLE: &str = include_str!("../../../config/samples/etcd_cluster.yaml");

/// A manifest with that spec, in YAML's short form.
fn manifest(name: &str, spec: &str) -> String {
    let head = "apiVersion: etcd.database.coreos.com/v1beta2\nkind: EtcdCluster";
    format!("{head}\nmetadata:\n  name: {name}\nspec: {spec}\n")
}

fn clusters(ns: &Namespace) -> Api<DynamicObject> {
    Api::namespaced_with(ns.client.clone(), &ns.name, &ApiResource::erase::<EtcdCluster>(&()))
}

fn object(name: &str, spec: &Value) -> DynamicObject {
    let object = json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "metadata": { "name": name },
        "spec": spec,
    });
    serde_json::from_value(object).expect("an object")
}

/// A size, and what else is given.
fn spec(extra: &Value) -> Value {
    let mut spec = json!({ "size": 3, "paused": true });
    for (key, value) in extra.as_object().expect("fields") {
        spec[key] = value.clone();
    }
    spec
}

fn said(answer: kube::Result<DynamicObject>) -> Result<(), String> {
    match answer {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(refusal)) if refusal.code == 422 || refusal.code == 400 => Err(refusal.message.clone()),
        Err(other) => panic!("neither taken nor refused: {other}"),
    }
}

/// What the API server says to a new cluster, without keeping it.
async fn tried(ns: &Namespace, name: &str, spec: &Value) -> Result<(), String> {
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    said(clusters(ns).create(&dry, &object(name, spec)).await)
}

/// Tries each with a size, and gathers those that are not taken.
async fn taken(purpose: &str, cases: &[Value]) {
    let ns = Namespace::new(purpose).await;
    let mut wrong = Vec::new();
    for extra in cases {
        if let Err(said) = tried(&ns, "web", &spec(extra)).await {
            wrong.push(format!("{extra}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tries each with a size, and gathers all that is wrong.
async fn refused(purpose: &str, cases: &[(Value, &[&str])]) {
    let ns = Namespace::new(purpose).await;
    let mut wrong = Vec::new();
    for (extra, words) in cases {
        match tried(&ns, "web", &spec(extra)).await {
            Ok(()) => wrong.push(format!("{extra} was taken")),
            Err(said) if words.iter().all(|word| said.contains(word)) => {}
            Err(said) => wrong.push(format!("{extra}: {words:?} is not in: {said}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Makes each cluster as the first says, tries to make it what the second says, and gathers all that is wrong. `None`: it
/// is to be taken.
async fn edited(purpose: &str, cases: &[(Value, Value, Option<&str>)]) {
    let ns = Namespace::new(purpose).await;
    let clusters = clusters(&ns);
    let mut wrong = Vec::new();
    for (index, (before, after, sentence)) in cases.iter().enumerate() {
        let name = format!("case-{index}");
        // As `kubectl apply --server-side` does: what is left out is taken away.
        let apply = |spec: &Value| Patch::Apply(object(&name, &self::spec(spec)));
        let manager = PatchParams::apply("a-user");
        let made = clusters.patch(&name, &manager, &apply(before)).await;
        made.unwrap_or_else(|error| panic!("{before} was refused: {error}"));
        let edit = said(clusters.patch(&name, &manager.dry_run(), &apply(after)).await);
        match (edit, sentence) {
            (Ok(()), None) => {}
            (Err(said), Some(sentence)) if said.contains(sentence) && !said.contains("evaluat") => {}
            (edit, _) => wrong.push(format!("{before} to {after}: {sentence:?} was due, not {edit:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

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
        let sentence: &[&str] = &["spec.version", "version must be a version of etcd in full, such as 3.6.16, v3.6.16"];
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
        let sentence: &[&str] = &["spec.options", "options takes auto-compaction-mode", "are the operator's own"];
        (json!({ "options": { *option: "true" } }), sentence)
    }));
    let variables = [
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
            &["spec.pod.etcdEnv[1].name", "leave this variable out of pod.etcdEnv, it would break membership or data"];
        (json!({ "pod": { "etcdEnv": [{ "name": "ETCD_LOG_LEVEL", "value": "warn" }, variable] } }), sentence)
    }));
    let log_level = json!({ "etcdEnv": [{ "name": "ETCD_LOG_LEVEL", "value": "warn" }] });
    let quota = json!({ "etcdEnv": [{ "name": "ETCD_QUOTA_BACKEND_BYTES", "value": "1000000000" }] });
    cases.extend([
        (json!({ "options": { "log-level": "warn" }, "pod": log_level }), &["given twice", "give it once"] as &[&str]),
        (json!({ "quota": "1Gi", "pod": quota }), &["given twice", "give it once"]),
        (json!({ "options": { "log-level": "" } }), &["an option's value must be 1 to 256 characters without blanks"]),
        (
            json!({ "options": { "log-level": "a b" } }),
            &["an option's value must be 1 to 256 characters without blanks"],
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
        let sentence: &[&str] = &["spec.pod.labels", "are the operator's own: choose other keys"];
        (json!({ "pod": { "labels": { *key: "x" } } }), sentence)
    }));
    cases.extend(["etcd.version", "multi-operator.example.com/x"].iter().map(|key| {
        let sentence: &[&str] = &["spec.pod.annotations", "are the operator's own: choose other keys"];
        (json!({ "pod": { "annotations": { *key: "x" } } }), sentence)
    }));
    let labels: &[&str] = &["must be labels as Kubernetes has them"];
    let pair: &[&str] =
        &["TLS.static.member.serverSecret and TLS.static.operatorSecret go together", "give both or neither"];
    cases.extend([
        (json!({ "pod": { "labels": { "a b": "x" } } }), labels),
        (json!({ "pod": { "labels": { "": "x" } } }), labels),
        (json!({ "pod": { "labels": { "team": "a b" } } }), labels),
        (json!({ "pod": { "labels": { "team": "-a" } } }), labels),
        (json!({ "pod": { "labels": { "team": "a".repeat(64) } } }), &["spec.pod.labels.team", "63"]),
        (json!({ "pod": { "nodeSelector": { "a/b/c": "x" } } }), labels),
        (
            json!({ "pod": { "annotations": { "a b": "x" } } }),
            &["pod.annotations must have keys as Kubernetes has them"],
        ),
        (json!({ "TLS": { "static": { "member": { "serverSecret": "server" } } } }), pair),
        (json!({ "TLS": { "static": { "operatorSecret": "client" } } }), pair),
        (json!({ "TLS": { "static": { "member": { "peerSecret": "peer" }, "operatorSecret": "client" } } }), pair),
        (json!({ "TLS": { "static": { "member": { "serverSecret": "" }, "operatorSecret": "client" } } }), pair),
        (
            json!({ "pod": { "ClusterDomain": "cluster.local" } }),
            &["a domain with its leading dot, such as .cluster.local"],
        ),
        (json!({ "pod": { "ClusterDomain": ".cluster.local." } }), &["a domain with its leading dot"]),
        (
            json!({ "pod": { "DNSTimeoutInSecond": -1 } }),
            &["spec.pod.DNSTimeoutInSecond", "greater than or equal to 0"],
        ),
        (
            json!({ "pod": { "resources": { "requests": { "cpu": 2 }, "limits": { "cpu": "1500m" } } } }),
            &["resources.requests must not be above resources.limits"],
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
                &["pod.persistentVolumeClaimSpec must ask for storage: set resources.requests.storage"],
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
    let asks: &[&str] = &["pod.persistentVolumeClaimSpec must ask for storage: set resources.requests.storage"];
    let writes: &[&str] = &["must allow writing: set accessModes to [ReadWriteOnce]"];
    let empty: &[&str] = &["must leave dataSource and dataSourceRef out", "the same foreign data"];
    let none: &[&str] = &["storage.ephemeral means that there is no volume"];
    let both = json!({ "storage": { "size": "1Gi" }, "pod": claim(json!({}))["pod"] });
    cases.extend([
        (claim(json!({ "resources": null })), asks),
        (claim(json!({ "resources": { "limits": { "storage": "1Gi" } } })), asks),
        (claim(json!({ "resources": { "requests": { "cpu": "1" } } })), asks),
        (claim(json!({ "accessModes": [] })), writes),
        (claim(json!({ "accessModes": ["ReadOnlyMany"] })), writes),
        (claim(json!({ "volumeMode": "Block" })), &["must ask for a file system: leave volumeMode out"]),
        (claim(json!({ "dataSource": { "kind": "PersistentVolumeClaim", "name": "other" } })), empty),
        (claim(json!({ "dataSourceRef": { "kind": "VolumeSnapshot", "name": "other" } })), empty),
        (json!({ "storage": { "ephemeral": true, "size": "1Gi" } }), none),
        (json!({ "storage": { "ephemeral": true, "storageClassName": "standard" } }), none),
        (json!({ "storage": { "onDelete": "Keep" } }), &["spec.storage.onDelete", "\"Retain\", \"Delete\""]),
        (json!({ "storage": { "storageClassName": "" } }), &["spec.storage.storageClassName"]),
        (both, &["both say what volumes to make: give one of them"]),
    ]);
    refused("etcd-storage", &cases).await;
}

#[tokio::test]
async fn volumes_and_names_of_members_stay_through_edits() {
    let claim = |size: &str, extra: Value| {
        let mut claim = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } } });
        for (key, value) in extra.as_object().expect("fields") {
            claim[key] = value.clone();
        }
        json!({ "pod": { "persistentVolumeClaimSpec": claim } })
    };
    let storage = |storage: Value| json!({ "storage": storage });
    let sparse =
        json!({ "pod": { "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": "1Gi" } } } } });
    let domain = |domain: &str| json!({ "pod": { "ClusterDomain": domain } });
    let plain = json!({});
    let shrink = Some("storage.size cannot shrink (unset, it is 1Gi): volumes only grow");
    let class = Some("cannot be changed, named later or taken away: members keep their volumes; make a new cluster");
    let ephemeral = Some("spec.storage.ephemeral cannot be changed: members would lose their data");
    let fixed = Some("accessModes, volumeName and selector of pod.persistentVolumeClaimSpec cannot be changed");
    let claim_shrinks = Some("resources.requests.storage of pod.persistentVolumeClaimSpec cannot shrink");
    let claim_stays = Some("spec.pod.persistentVolumeClaimSpec cannot be taken away, unless spec.storage.size takes");
    let claim_comes = Some("spec.pod.persistentVolumeClaimSpec cannot be added later");
    let named = Some("spec.pod.ClusterDomain cannot be changed: members are known by their names");
    let bytes = Some("storage.size must be a quantity of bytes from 1 to 1Pi");
    edited(
        "etcd-edits",
        &[
            // By storage.
            (storage(json!({ "size": "2Gi" })), storage(json!({ "size": "4Gi" })), None),
            (storage(json!({ "size": "1Gi" })), storage(json!({ "size": "1024Mi" })), None),
            (storage(json!({ "size": "2Gi" })), storage(json!({ "size": "2G" })), shrink),
            (storage(json!({ "size": "2Gi" })), storage(json!({})), shrink),
            (storage(json!({})), storage(json!({ "size": "512Mi" })), shrink),
            (storage(json!({})), storage(json!({ "size": "1Gi" })), None),
            (storage(json!({ "size": "512Mi" })), storage(json!({})), None),
            (storage(json!({ "size": "2Gi" })), storage(json!({ "size": "lots" })), bytes),
            (
                storage(json!({ "size": "2Gi" })),
                plain.clone(),
                Some("spec.storage cannot be taken away once it says a size"),
            ),
            (storage(json!({ "onDelete": "Delete" })), plain.clone(), None),
            (storage(json!({ "onDelete": "Delete" })), storage(json!({ "onDelete": "Retain" })), None),
            (plain.clone(), storage(json!({ "size": "2Gi", "onDelete": "Delete" })), None),
            (plain.clone(), storage(json!({ "ephemeral": true })), ephemeral),
            (storage(json!({ "ephemeral": true })), plain.clone(), ephemeral),
            (storage(json!({ "ephemeral": true })), storage(json!({ "size": "1Gi" })), ephemeral),
            (storage(json!({})), storage(json!({ "ephemeral": true })), ephemeral),
            // The class, whichever way it is named.
            (storage(json!({ "storageClassName": "a" })), storage(json!({ "storageClassName": "b" })), class),
            (storage(json!({ "storageClassName": "a" })), storage(json!({})), class),
            (storage(json!({ "storageClassName": "a" })), plain.clone(), class),
            (storage(json!({})), storage(json!({ "storageClassName": "a" })), class),
            (plain.clone(), storage(json!({ "storageClassName": "a" })), class),
            (claim("1Gi", json!({ "storageClassName": "a" })), claim("1Gi", json!({ "storageClassName": "b" })), class),
            (claim("1Gi", json!({ "storageClassName": "a" })), claim("1Gi", json!({})), class),
            (claim("1Gi", json!({ "storageClassName": "" })), claim("1Gi", json!({})), class),
            (claim("1Gi", json!({ "storageClassName": "a" })), storage(json!({ "size": "1Gi" })), class),
            // By a claim in full.
            (claim("1Gi", json!({})), claim("2Gi", json!({})), None),
            (claim("1073741824", json!({})), claim("1Gi", json!({})), None),
            (claim("2Gi", json!({})), claim("1Gi", json!({})), claim_shrinks),
            (claim("1Gi", json!({})), claim("1Gi", json!({ "accessModes": ["ReadWriteMany"] })), fixed),
            (claim("1Gi", json!({})), sparse, None),
            (claim("1Gi", json!({})), claim("1Gi", json!({ "volumeName": "pv-1" })), fixed),
            (claim("1Gi", json!({ "volumeName": "pv-1" })), claim("1Gi", json!({})), fixed),
            (claim("1Gi", json!({})), claim("1Gi", json!({ "selector": { "matchLabels": { "a": "b" } } })), fixed),
            (
                claim("1Gi", json!({ "selector": { "matchLabels": { "a": "b" } } })),
                claim("1Gi", json!({ "selector": { "matchLabels": { "a": "c" } } })),
                fixed,
            ),
            (claim("1Gi", json!({})), claim("1Gi", json!({ "volumeAttributesClassName": "gold" })), None),
            (claim("1Gi", json!({})), plain.clone(), claim_stays),
            (claim("2Gi", json!({})), storage(json!({ "size": "1Gi" })), claim_stays),
            (claim("2Gi", json!({})), storage(json!({})), claim_stays),
            (
                claim("2Gi", json!({ "storageClassName": "a" })),
                storage(json!({ "size": "3Gi", "storageClassName": "a" })),
                None,
            ),
            (plain.clone(), claim("1Gi", json!({})), claim_comes),
            (storage(json!({ "size": "1Gi" })), claim("1Gi", json!({})), claim_comes),
            // Names in DNS.
            (domain(".cluster.local"), domain(".example.com"), named),
            (domain(".cluster.local"), plain.clone(), named),
            (plain.clone(), domain(".cluster.local"), named),
            (plain.clone(), domain(""), None),
        ],
    )
    .await;
}

#[tokio::test]
async fn names_must_leave_room_for_what_is_named_after_them() {
    let ns = Namespace::new("etcd-names").await;
    let (longest, longer) = ("n".repeat(52), "n".repeat(53));
    for name in ["a", "a1", "my-etcd", "a--b", &longest] {
        assert_eq!(tried(&ns, name, &json!({ "size": 3 })).await, Ok(()), "{name}");
    }
    for name in ["my.etcd", "1etcd", &longer] {
        let said = tried(&ns, name, &json!({ "size": 3 })).await.expect_err(name);
        assert!(said.contains("1 to 52 lower-case letters, digits or '-', start with a letter"), "{name}: {said}");
    }
}

#[tokio::test]
async fn an_edit_of_an_etcd_cluster_is_judged_as_a_create_is() {
    let ns = Namespace::new("etcd-judged").await;
    ns.apply(&manifest("web", "{size: 3, version: 3.6.16, paused: true}")).await;
    for (patch, sentence) in [
        (json!({ "spec": { "size": 8 } }), "less than or equal to 7"),
        (json!({ "spec": { "version": "latest" } }), "version must be a version of etcd in full"),
        (json!({ "spec": { "options": { "data-dir": "/tmp" } } }), "options takes auto-compaction-mode"),
        (
            json!({ "spec": { "pod": { "etcdEnv": [{ "name": "ETCD_NAME", "value": "x" }] } } }),
            "leave this variable out",
        ),
        (json!({ "spec": { "pod": { "labels": { "app": "web" } } } }), "choose other keys"),
    ] {
        let said = ns.kubectl(&["patch", "etcd/web", "--type=merge", "--patch", &patch.to_string()]).await.refused();
        assert!(said.contains(sentence), "{patch}: {said}");
    }
    for replicas in ["--replicas=0", "--replicas=8"] {
        let said = ns.kubectl(&["scale", "etcd/web", replicas]).await.refused();
        assert!(said.contains("spec.size"), "{said}");
    }
    drop(ns.kubectl(&["scale", "etcd/web", "--replicas=5", "--dry-run=server"]).await.ok());
    assert_eq!(ns.get::<EtcdCluster>("web").await.metadata.generation, Some(1));
    let strict = manifest("web", "{size: 3, version: 3.6.16, paused: true, pod: {dnsTimeoutInSecond: 3}}");
    let said = ns.kubectl_with(&strict, &["apply", "--filename", "-"]).await.refused();
    assert!(said.contains("unknown field \"spec.pod.dnsTimeoutInSecond\""), "{said}");
}
