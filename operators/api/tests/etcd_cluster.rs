//! EtcdCluster against the type of the archived operator: every key of that one, spelled as there.

use api::etcd_cluster::{EtcdCluster, EtcdClusterPhase, EtcdClusterSpec, EtcdClusterStatus, OnDelete};
use serde_json::{Value, json};

/// Every field of the old type's spec.
fn old_spec() -> Value {
    json!({
        "size": 3,
        "repository": "quay.io/coreos/etcd",
        "version": "3.2.13",
        "paused": true,
        "pod": {
            "labels": { "team": "storage" },
            "annotations": { "prometheus.io/scrape": "true", "prometheus.io/port": "2379" },
            "nodeSelector": { "diskType": "ssd" },
            "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": { "matchExpressions": [{ "key": "etcd_cluster", "operator": "In", "values": ["web"] }] },
                "topologyKey": "kubernetes.io/hostname",
            }] } },
            "antiAffinity": true,
            "resources": { "limits": { "cpu": "300m", "memory": "200Mi" }, "requests": { "cpu": 1, "memory": "100Mi" } },
            "tolerations": [{ "key": "dedicated", "operator": "Exists", "effect": "NoSchedule" }],
            "etcdEnv": [
                { "name": "ETCD_AUTO_COMPACTION_RETENTION", "value": "1" },
                { "name": "ETCD_LOG_LEVEL", "valueFrom": { "configMapKeyRef": { "name": "etcd", "key": "level" } } },
            ],
            "persistentVolumeClaimSpec": {
                "storageClassName": "fast",
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "1Gi" } },
            },
            "busyboxImage": "busybox:1.28.0-glibc",
            "securityContext": { "runAsNonRoot": true, "runAsUser": 9000, "fsGroup": 9000 },
            "DNSTimeoutInSecond": 30,
            "ClusterDomain": ".cluster.local",
        },
        "TLS": { "static": {
            "member": { "peerSecret": "etcd-peer-tls", "serverSecret": "etcd-server-tls" },
            "operatorSecret": "etcd-client-tls",
        } },
    })
}

/// Every field of the old type's status.
fn old_status() -> Value {
    json!({
        "phase": "Running",
        "reason": "why it failed",
        "controlPaused": true,
        "conditions": [{
            "type": "Available",
            "status": "True",
            "lastUpdateTime": "2018-04-01T10:00:00Z",
            "lastTransitionTime": "2018-04-01T10:00:00Z",
            "reason": "Cluster available",
            "message": "",
        }],
        "size": 3,
        "serviceName": "web-client",
        "clientPort": 2379,
        "members": { "ready": ["web-cl2gpqsmsw"], "unready": ["web-cx2t6v8w78"] },
        "currentVersion": "3.2.13",
        "targetVersion": "",
    })
}

fn schema() -> Value {
    let crd = api::crds().into_iter().find(|crd| crd.spec.names.kind == "EtcdCluster").expect("a definition");
    serde_json::to_value(&crd.spec.versions[0].schema.as_ref().expect("a schema").open_api_v3_schema).expect("JSON")
}

/// Calls with every schema within a schema, and its path.
fn each(schema: &Value, path: &str, call: &mut impl FnMut(&str, &Value)) {
    call(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        each(field, &format!("{path}.{name}"), call);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[key].is_object() {
            each(&schema[key], &format!("{path}{mark}"), call);
        }
    }
}

/// The keys of a value that its schema does not know.
fn unknown(value: &Value, schema: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| {
                let path = format!("{path}.{key}");
                match schema["properties"].get(key).or_else(|| schema.get("additionalProperties")) {
                    Some(schema) => unknown(value, schema, &path),
                    None => vec![path],
                }
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(|item| unknown(item, &schema["items"], path)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_example_of_the_archived_operator_is_read() {
    let example = json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "metadata": { "name": "example-etcd-cluster" },
        "spec": { "size": 3, "version": "3.2.13" },
    });
    let cluster: EtcdCluster = serde_json::from_value(example).expect("an EtcdCluster");
    assert_eq!(cluster.metadata.name.as_deref(), Some("example-etcd-cluster"));
    let spec = EtcdClusterSpec { size: 3, version: Some("3.2.13".into()), ..EtcdClusterSpec::default() };
    assert_eq!(cluster.spec, spec);
}

#[test]
fn every_key_of_the_archived_spec_is_read_and_written_unchanged() {
    let spec: EtcdClusterSpec = serde_json::from_value(old_spec()).expect("a spec");
    let mut written = old_spec();
    // A number that is a quantity is kept as the text that Kubernetes makes of it.
    written["pod"]["resources"]["requests"]["cpu"] = "1".into();
    assert_eq!(serde_json::to_value(&spec).expect("JSON"), written);
    let pod = spec.pod.as_ref().expect("a pod");
    assert_eq!((pod.dns_timeout_in_second, pod.cluster_domain.as_str()), (30, ".cluster.local"));
    let tls = spec.tls.and_then(|tls| tls.static_).expect("TLS");
    assert_eq!(tls.operator_secret.as_deref(), Some("etcd-client-tls"));
    assert_eq!(unknown(&old_spec(), &schema()["properties"]["spec"], "spec"), [] as [&str; 0]);
}

#[test]
fn every_key_of_the_archived_status_is_read_and_written_unchanged() {
    let status: EtcdClusterStatus = serde_json::from_value(old_status()).expect("a status");
    assert_eq!((status.phase, status.members.unready.len()), (Some(EtcdClusterPhase::Running), 1));
    let mut written = serde_json::to_value(&status).expect("JSON");
    // Of ours, only what says that we have not written it yet.
    let ours = written.as_object_mut().and_then(|fields| fields.remove("observedGeneration"));
    assert_eq!((ours, written), (Some(json!(-1)), old_status()));
    assert_eq!(unknown(&old_status(), &schema()["properties"]["status"], "status"), [] as [&str; 0]);
}

#[test]
fn the_first_status_of_the_archived_operator_is_read() {
    let untouched = json!({ "phase": "", "size": 0, "members": {}, "currentVersion": "", "targetVersion": "" });
    let status: EtcdClusterStatus = serde_json::from_value(untouched).expect("a status");
    assert_eq!(status.phase, None);
    assert!(serde_json::from_value::<EtcdClusterStatus>(json!({ "phase": "Sleeping" })).is_err());
}

#[test]
fn quantities_may_be_numbers_and_unset_fields_are_not_written() {
    let spec = json!({
        "size": 1,
        "pod": { "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": 1_073_741_824 } } } },
    });
    let spec: EtcdClusterSpec = serde_json::from_value(spec).expect("a spec");
    let claim = spec.pod.and_then(|pod| pod.persistent_volume_claim_spec).and_then(|claim| claim.resources);
    assert_eq!(claim.and_then(|claim| claim.requests).expect("requests")["storage"].0, "1073741824");

    let sparse = json!({ "size": 1, "storage": {}, "pod": {} });
    let spec: EtcdClusterSpec = serde_json::from_value(sparse.clone()).expect("a spec");
    assert_eq!(spec.storage.as_ref().map(|storage| storage.on_delete), Some(OnDelete::Retain));
    assert_eq!(serde_json::to_value(&spec).expect("JSON"), sparse);
}

#[test]
fn the_schema_is_structural_and_every_rule_has_a_message() {
    let mut wrong = Vec::new();
    each(&schema(), "", &mut |path, schema| {
        if !schema["type"].is_string() && schema["x-kubernetes-int-or-string"] != json!(true) {
            wrong.push(format!("{path} has no type"));
        }
        if ["$ref", "oneOf", "anyOf", "allOf", "not"].iter().any(|key| schema.get(key).is_some()) {
            wrong.push(format!("{path} has more than a type"));
        }
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            if rule["message"].as_str().is_none_or(|message| message.split(' ').count() < 6) {
                wrong.push(format!("{path}: {} says too little", rule["rule"]));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn own_fields_have_descriptions_and_fields_of_kubernetes_have_none() {
    let of_kubernetes = |path: &str| {
        let field = path.strip_prefix(".spec.pod.").and_then(|path| path.split_once(['.', '[', '{']));
        field.is_some_and(|(field, _)| {
            [
                "affinity",
                "etcdEnv",
                "imagePullSecrets",
                "persistentVolumeClaimSpec",
                "securityContext",
                "tolerations",
                "topologySpreadConstraints",
            ]
            .contains(&field)
        })
    };
    let mut wrong = Vec::new();
    each(&schema(), "", &mut |path, schema| {
        let item = path.ends_with("[]") || path.ends_with("{}");
        if !item && of_kubernetes(path) == schema["description"].is_string() {
            wrong.push(path.to_owned());
        }
    });
    assert!(
        wrong.is_empty(),
        "described though a type of Kubernetes, or not described though a type of this project: {}",
        wrong.join(" ")
    );
}
