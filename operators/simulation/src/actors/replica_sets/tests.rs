use serde_json::json;

use super::super::object::text;
use super::super::testing::{self, NAMESPACE};
use super::super::{conditions, object};
use super::*;

const NOW: &str = "2026-01-01T00:01:00Z";

fn replica_set(replicas: i64) -> Value {
    let deployment = testing::deployment("a", replicas);
    json!({
        "metadata": { "name": "a", "namespace": NAMESPACE, "uid": "r", "generation": 2 },
        "spec": deployment["spec"],
    })
}

fn pod(name: &str, ready_since: Option<&str>) -> Arc<Value> {
    let ready = ready_since.map(|since| json!({ "type": "Ready", "status": "True", "lastTransitionTime": since }));
    let conditions: Vec<Value> = ready.into_iter().collect();
    Arc::new(json!({
        "metadata": { "name": name, "uid": name, "labels": { "app": "a" } },
        "spec": { "nodeName": name },
        "status": { "phase": "Running", "conditions": conditions },
    }))
}

#[test]
fn the_status_counts_pods_and_omits_zeros() {
    let now: Timestamp = NOW.parse().unwrap();
    let mut set = replica_set(2);
    let (status, again) = status::of(&set, &[], None, now);
    assert_eq!((status, again), (json!({ "replicas": 0, "observedGeneration": 2 }), None));
    let pods = [pod("a", None), pod("b", Some("2026-01-01T00:00:00Z")), pod("c", Some("2026-01-01T00:00:50Z"))];
    let (status, again) = status::of(&set, &pods, None, now);
    let counts = json!({
        "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 2, "availableReplicas": 2, "observedGeneration": 2,
    });
    assert_eq!((status, again), (counts, None));
    set["spec"]["minReadySeconds"] = json!(30);
    let (status, again) = status::of(&set, &pods, None, now);
    assert_eq!((number(&status["availableReplicas"]), again), (1, Some(Duration::from_secs(20))));
}

#[test]
fn a_failure_is_a_condition_while_it_lasts() {
    let now: Timestamp = NOW.parse().unwrap();
    let mut set = replica_set(2);
    let failure = Failure { reason: "FailedCreate", message: "quota".to_owned() };
    set["status"] = status::of(&set, &[], Some(&failure), now).0;
    let condition = conditions::find(&set["status"], "ReplicaFailure").unwrap();
    assert_eq!((&condition["reason"], &condition["message"]), (&json!("FailedCreate"), &json!("quota")));
    assert_eq!(status::of(&set, &[], None, now).0, json!({ "replicas": 0, "observedGeneration": 2 }));
}

#[test]
fn pods_that_serve_least_are_deleted_first() {
    let names = |pods: &[Arc<Value>]| -> Vec<String> {
        members::least_wanted(pods).into_iter().map(|pod| object::name(pod).to_owned()).collect()
    };
    let edited = |mut pod: Arc<Value>, pointer: [&str; 2], value: Value| {
        set(Arc::make_mut(&mut pod), &pointer, value);
        pod
    };
    let long = || pod("long", Some("2026-01-01T00:00:00Z"));
    let unready = pod("unready", None);
    let pending = edited(pod("pending", None), ["status", "phase"], json!("Pending"));
    let nowhere = edited(pod("nowhere", None), ["spec", "nodeName"], Value::Null);
    let short = pod("short", Some("2026-01-01T00:00:50Z"));
    assert_eq!(names(&[long(), short, unready, pending, nowhere]), ["nowhere", "pending", "unready", "short", "long"]);
    let cheap =
        edited(long(), ["metadata", "annotations"], json!({ "controller.kubernetes.io/pod-deletion-cost": "-1" }));
    let cheap = edited(cheap, ["metadata", "name"], json!("cheap"));
    assert_eq!(names(&[pod("short", Some("2026-01-01T00:00:50Z")), cheap]), ["cheap", "short"]);
}

#[test]
fn a_pod_has_the_labels_of_the_template_and_its_owner() {
    let pod = members::pod(&replica_set(1));
    assert_eq!(pod["metadata"]["generateName"], "a-");
    assert_eq!(pod["metadata"]["labels"], json!({ "app": "a" }));
    assert_eq!(object::controller(&pod).map(|owner| text(&owner["uid"])), Some("r"));
    assert_eq!(pod["spec"]["containers"][0]["image"], "app:1");
}

#[test]
fn pods_are_created_replaced_and_deleted() {
    let server = testing::server();
    let mut random = Random::new(1);
    let mut step = || ReplicaSetController.step(&server, runtime::clock::now(), &mut random);
    let mut created = replica_set(2);
    created["metadata"] = json!({ "name": "a", "namespace": NAMESPACE });
    testing::create(&server, "replicasets", created);
    assert_eq!(step(), None);
    step();
    let pods = testing::list(&server, "pods");
    assert_eq!(pods.len(), 2);
    let reported = || number(&testing::get(&server, "replicasets", "a").unwrap()["status"]["replicas"]);
    assert_eq!(reported(), 2);
    testing::delete(&server, "pods", &pods[0], DeleteOptions { grace: Some(0), ..DeleteOptions::default() });
    step();
    assert_eq!(testing::list(&server, "pods").len(), 2);
    testing::merge(&server, "replicasets", "a", json!({ "spec": { "replicas": 0 } }));
    step();
    step();
    assert_eq!(reported(), 0);
    assert!(testing::list(&server, "pods").iter().all(|pod| is_deleting(pod)));
}
