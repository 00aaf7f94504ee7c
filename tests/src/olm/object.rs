//! Objects as kubectl prints them: OLM's kinds have no types here, and tests read few fields of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::MANAGER;
use crate::kubectl::{kubectl, kubectl_with, kubectl_within};

/// Applies an object.
pub async fn apply(object: &Value) {
    let answer = kubectl_with(&object.to_string(), &["apply", "--server-side", "--filename", "-"]).await;
    drop(answer.ok());
}

/// The objects of a kind in a namespace, or in all if that is empty.
///
/// # Panics
/// If they cannot be listed.
pub async fn list(kind: &str, namespace: &str) -> Vec<Value> {
    let all = ["get", kind, "--all-namespaces", "--output=json"];
    let one = ["get", kind, "--namespace", namespace, "--output=json"];
    let answer = kubectl(if namespace.is_empty() { &all[..] } else { &one }).await.ok();
    let mut answer: Value = serde_json::from_str(&answer).expect("kubectl prints JSON");
    answer["items"].as_array_mut().map(std::mem::take).expect("a list has items")
}

/// An object, if it is there.
///
/// # Panics
/// If it cannot be read.
pub async fn get(kind: &str, namespace: &str, name: &str) -> Option<Value> {
    let get = ["get", kind, name, "--namespace", namespace, "--ignore-not-found", "--output=json"];
    let answer = kubectl(&get).await.ok();
    (!answer.trim().is_empty()).then(|| serde_json::from_str(&answer).expect("kubectl prints JSON"))
}

/// The status of a condition; empty without it.
#[must_use]
pub fn condition<'a>(object: &'a Value, type_: &str) -> &'a str {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == type_);
    found.and_then(|condition| condition["status"].as_str()).unwrap_or_default()
}

/// An object's uid.
#[must_use]
pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// The prefix of what the manager notes on custom resources; another version of it may note more.
const OUR_RECORDS: &str = "multi-operator.example.com/";

/// The kinds of config/samples, as kubectl names their objects.
pub const SAMPLES: [&str; 5] = [
    "myapp/sample-app",
    "sample/sample-resource-1",
    "etcdcluster/example-etcd-cluster",
    "sampledb/example-database",
    "sampledbsnapshot/example-database-by-hand",
];

/// config/samples in a namespace, and what runs for them.
pub struct Objects {
    /// Their namespace.
    pub namespace: String,
}

/// What must not change, whatever happens to the manager.
#[derive(Debug, PartialEq, Eq)]
pub struct Untouched {
    /// By pod: its uid, and how often its containers were started again. Pods of Jobs come and go.
    pub pods: BTreeMap<String, (String, i64)>,
    /// By custom resource: its uid, what people wrote, and finalizers.
    pub custom_resources: BTreeMap<String, Value>,
}

impl Objects {
    /// Creates a namespace, with another name each time: finalizers may hold what an earlier test has left.
    pub async fn new(purpose: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("e2e-olm-{purpose}-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await;
        Self { namespace: name }
    }

    /// Applies config/samples.
    pub async fn apply_samples(&self) {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/samples");
        let samples = samples.to_str().expect("the path is text");
        drop(kubectl(&["apply", "--namespace", &self.namespace, "--kustomize", samples]).await.ok());
    }

    /// Applies a MyApp with all that the first release knew, and waits until it is Ready with its one pod.
    pub async fn apply_app_of_the_first_release(&self) {
        let by_port = json!({ "tcpSocket": { "port": 80 }, "periodSeconds": 2, "failureThreshold": 30 });
        let by_program = json!({ "exec": { "command": ["/bin/true"] }, "initialDelaySeconds": 1 });
        let probes = json!({ "startup": by_port, "readiness": by_port, "liveness": by_program });
        let spec = json!({
            "image": "nginx:1.25", "replicas": 1, "port": 80, "paused": false, "security": "Baseline", "probes": probes,
            "disruptionBudget": { "maxUnavailable": 1 },
            "env": [
                { "name": "PLAIN", "value": "a b" },
                { "name": "EMPTY" },
                { "name": "POD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
                { "name": "KEY", "valueFrom": { "secretKeyRef": { "name": "keys", "key": "key", "optional": true } } },
                { "name": "SETTING", "valueFrom": { "configMapKeyRef": { "name": "settings", "key": "key", "optional": true } } },
            ],
            "envFrom": [
                { "prefix": "P_", "configMapRef": { "name": "settings", "optional": true } },
                { "secretRef": { "name": "keys", "optional": true } },
            ],
            "resources": { "requests": { "cpu": "0.01", "memory": "16Mi" }, "limits": { "memory": "134217728" } },
        });
        let metadata = json!({ "name": "first-release", "namespace": self.namespace });
        apply(&json!({ "apiVersion": "example.com/v1", "kind": "MyApp", "metadata": metadata, "spec": spec })).await;
        drop(self.kubectl(&["wait", "--for=condition=Ready", "--timeout=120s", "myapp/first-release"]).await);
    }

    /// Waits until they are Ready.
    pub async fn samples_are_ready(&self) {
        let wait = ["wait", "--namespace", &self.namespace, "--for=condition=Ready"];
        let answer = kubectl_within(Duration::from_secs(240), &[&wait[..], &SAMPLES].concat()).await;
        if !answer.success {
            let around = kubectl(&[&["describe", "--namespace", &self.namespace][..], &SAMPLES].concat()).await;
            panic!("the samples did not get ready: {}\n{}", answer.stderr, around.stdout);
        }
    }

    /// kubectl in this namespace.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        kubectl(&[&["--namespace", self.namespace.as_str()], arguments].concat()).await.ok()
    }

    /// What it is now.
    pub async fn untouched(&self) -> Untouched {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of_job = |pod: &Value| {
            let owners = pod["metadata"]["ownerReferences"].as_array();
            owners.into_iter().flatten().any(|owner| owner["kind"] == "Job")
        };
        let pods = list("pods", &self.namespace).await;
        let restarts = |pod: &Value| {
            let containers = pod["status"]["containerStatuses"].as_array();
            containers.into_iter().flatten().filter_map(|container| container["restartCount"].as_i64()).sum()
        };
        let pods = pods.iter().filter(|pod| !of_job(pod));
        let pods = pods.map(|pod| (text(&pod["metadata"]["name"]), (text(&pod["metadata"]["uid"]), restarts(pod))));
        let mut custom_resources = BTreeMap::new();
        for sample in SAMPLES {
            let (kind, name) = sample.split_once('/').expect("kind and name");
            let object = get(kind, &self.namespace, name).await.unwrap_or_default();
            let meta = &object["metadata"];
            let mut annotations = meta["annotations"].clone();
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.retain(|key, _| !key.starts_with(OUR_RECORDS));
            }
            let kept = json!({
                "uid": meta["uid"], "generation": meta["generation"], "labels": meta["labels"],
                "annotations": annotations, "finalizers": meta["finalizers"],
                "spec": object["spec"], "testString": object["testString"],
            });
            custom_resources.insert(sample.to_owned(), kept);
        }
        Untouched { pods: pods.collect(), custom_resources }
    }

    /// The controllers' desired state: each object that creates and replaces pods, by kind and name, with its UID and its
    /// generation, which grows with each change of its spec.
    pub async fn children(&self) -> BTreeMap<String, Value> {
        let mut children = BTreeMap::new();
        for kind in ["deployments", "replicasets"] {
            for child in list(kind, &self.namespace).await {
                let meta = &child["metadata"];
                let name = meta["name"].as_str().unwrap_or_default();
                children.insert(format!("{kind}/{name}"), json!([meta["uid"], meta["generation"]]));
            }
        }
        children
    }

    /// The manager's pods in a namespace.
    pub async fn managers(namespace: &str) -> Vec<Value> {
        let mut pods = list("pods", namespace).await;
        pods.retain(|pod| pod["spec"]["serviceAccountName"] == MANAGER);
        pods
    }

    /// Deletes the namespace, and waits until it is deleted.
    pub async fn remove(self) {
        drop(kubectl_within(Duration::from_secs(180), &["delete", "namespace", &self.namespace]).await.ok());
    }
}
