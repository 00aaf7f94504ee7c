use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::object::later;
use super::super::testing::{self, NAMESPACE};
use super::super::{Actor, conditions};
use super::content::Find;
use super::life::Life;
use super::needs::{Missing, missing};
use super::*;
use crate::api_server::request::DeleteOptions;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

const NOW: &str = "2026-01-01T00:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn pod(image: &str) -> Value {
    json!({
        "metadata": { "name": "a", "namespace": NAMESPACE },
        "spec": { "containers": [{ "name": "app", "image": image }], "terminationGracePeriodSeconds": 30 },
    })
}

fn actors() -> Vec<Box<dyn Actor>> {
    vec![Box::new(Scheduler::default()), Box::new(Kubelet::default())]
}

fn live(server: &SimulatedApiServer) -> Arc<Value> {
    testing::get(server, "pods", "a").unwrap()
}

/// The states of a pod on a node, as they change, with the seconds since its start.
fn story(pod: &Value, seconds: u64) -> Vec<(u64, String)> {
    let mut pod = pod.clone();
    let mut random = Random::new(1);
    let mut life = Life::new(&pod, "10.0.0.1".to_owned(), now(), &mut random);
    let mut story: Vec<(u64, String)> = Vec::new();
    for tick in 0..seconds * 10 {
        let at = later(now(), tick * 100);
        life.advance(&Missing::default(), at, &mut random);
        pod["status"] = status::of(&pod, &life, at);
        let container = &pod["status"]["containerStatuses"][0];
        let state = container["state"].as_object().unwrap().iter().next().unwrap();
        let reason = state.1["reason"].as_str().unwrap_or(state.0);
        let described = format!("{reason} {} {}", container["restartCount"], container["ready"]);
        if story.last().is_none_or(|(_, last)| *last != described) {
            story.push((tick / 10, described));
        }
    }
    story
}

fn states(story: &[(u64, String)]) -> Vec<&str> {
    story.iter().map(|(_, state)| state.as_str()).collect()
}

#[test]
fn a_container_starts_and_gets_ready() {
    assert_eq!(states(&story(&pod("app:1"), 20)), ["ContainerCreating 0 false", "running 0 true"]);
    let mut probed = pod("app:1");
    probed["spec"]["containers"][0]["readinessProbe"] = json!({ "tcpSocket": { "port": 80 } });
    assert_eq!(states(&story(&probed, 20)), ["ContainerCreating 0 false", "running 0 false", "running 0 true"]);
}

#[test]
fn an_image_that_does_not_exist_is_never_pulled() {
    let story = story(&pod("nope:1"), 120);
    assert_eq!(states(&story), ["ContainerCreating 0 false", "ErrImagePull 0 false", "ImagePullBackOff 0 false"]);
}

#[test]
fn a_crashing_container_is_restarted_ever_later() {
    let story = story(&pod("crash:1"), 100);
    let expected = [
        "ContainerCreating 0 false",
        "running 0 true",
        "Error 0 false",
        "running 1 true",
        "CrashLoopBackOff 1 false",
        "running 2 true",
        "CrashLoopBackOff 2 false",
        "running 3 true",
        "CrashLoopBackOff 3 false",
    ];
    assert_eq!(states(&story)[..9], expected);
    let waited = |from: usize| story[from + 1].0 - story[from].0;
    assert!((9..=11).contains(&waited(4)), "{story:?}");
    assert!((19..=21).contains(&waited(6)), "{story:?}");
}

#[test]
fn containers_end_for_good_as_the_pod_says() {
    let last = |image: &str, policy: &str| {
        let mut pod = pod(image);
        pod["spec"]["restartPolicy"] = json!(policy);
        story(&pod, 60).pop().unwrap().1
    };
    assert_eq!(last("app:1", "Never"), "Completed 0 false");
    assert_eq!(last("app:1", "OnFailure"), "Completed 0 false");
    assert_eq!(last("app:1", "Always"), "running 0 true");
    assert_eq!(last("crash:1", "Never"), "Error 0 false");
    assert_ne!(last("crash:1", "OnFailure"), "Error 0 false");
}

#[test]
fn missing_objects_hold_the_start_of_a_pod() {
    let mut needy = pod("app:1");
    needy["spec"]["volumes"] = json!([
        { "name": "a", "configMap": { "name": "map", "items": [{ "key": "k", "path": "p" }] } },
        { "name": "b", "secret": { "secretName": "other", "optional": true } },
    ]);
    let absent = missing(&needy, &|_, _| None);
    assert!(absent.volumes && absent.environment.is_empty());
    let other_key = |_: &str, _: &str| Some(Arc::new(json!({ "data": { "other": "" } })));
    assert!(missing(&needy, &other_key).volumes);
    let found = |plural: &str, name: &str| {
        let map = json!({ "data": { "k": "" } });
        (plural == "configmaps" && name == "map").then(|| Arc::new(map))
    };
    assert_eq!(missing(&needy, &found), Missing::default());
    needy["spec"]["volumes"] = Value::Null;
    needy["spec"]["containers"][0]["env"] = json!([
        { "name": "A", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } },
    ]);
    let message = |found: &Find<'_>| missing(&needy, found).message("app").map(ToOwned::to_owned);
    assert_eq!(message(&found).as_deref(), Some("secret \"s\" not found"));
    assert_eq!(message(&other_key).as_deref(), Some("couldn't find key k in Secret test/s"));
}

#[test]
fn a_pod_goes_to_the_emptiest_node_that_it_selects() {
    let find = |_: &str, _: &str| None;
    let place = |selector: Value, full: &'static str| {
        let mut pod = pod("app:1");
        pod["spec"]["nodeSelector"] = selector;
        placement::place(&pod, &find, |node| usize::from(node == full))
    };
    assert_eq!(place(Value::Null, "node-0"), Ok("node-1"));
    assert_eq!(place(json!({ "kubernetes.io/hostname": "node-0" }), "node-0"), Ok("node-0"));
    assert!(place(json!({ "disk": "fast" }), "").unwrap_err().contains("didn't match Pod's node affinity/selector"));
    let mut claiming = pod("app:1");
    claiming["spec"]["volumes"] = json!([{ "name": "a", "persistentVolumeClaim": { "claimName": "c" } }]);
    let error = placement::place(&claiming, &find, |_| 0).unwrap_err();
    assert!(error.contains("persistentvolumeclaim \"c\" not found"), "{error}");
}

#[test]
fn readiness_gates_and_conditions_of_others_are_respected() {
    let mut gated = pod("app:1");
    gated["spec"]["readinessGates"] = json!([{ "conditionType": "gate" }]);
    gated["status"]["conditions"] = json!([{ "type": "gate", "status": "False" }]);
    let mut random = Random::new(1);
    let mut life = Life::new(&gated, String::new(), now(), &mut random);
    for second in 0..20 {
        life.advance(&Missing::default(), later(now(), second * 1000), &mut random);
    }
    let at = later(now(), 20_000);
    let status = status::of(&gated, &life, at);
    assert!(conditions::has_reason(&status, "Ready", "ReadinessGatesNotReady"));
    assert!(conditions::is_true(&status, "ContainersReady"));
    gated["status"]["conditions"][0]["status"] = json!("True");
    let status = status::of(&gated, &life, at);
    assert!(conditions::is_true(&status, "Ready") && conditions::is_true(&status, "gate"));
}

#[test]
fn what_is_not_modelled_is_noted_once() {
    let server = testing::server();
    let mut required = pod("app:1");
    required["spec"]["affinity"] = json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
        { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "a" } } },
    ] } });
    assert_eq!(unmodelled::of_pod(&required), ["required podAntiAffinity"]);
    assert_eq!(unmodelled::of_pod(&pod("app:1")), Vec::<String>::new());
    testing::create(&server, "pods", required);
    testing::settle(&server, &mut actors(), runtime::clock::now());
    assert_eq!(server.read(|state| state.unmodelled().len()), 1);
}

#[test]
fn a_pod_runs_waits_for_its_finalizers_and_goes() {
    let server = testing::server();
    let mut held = pod("app:1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    testing::create(&server, "pods", held);
    let mut actors = actors();
    let now = testing::settle(&server, &mut actors, runtime::clock::now());
    let status = live(&server)["status"].clone();
    assert_eq!(status["phase"], "Running");
    assert!(["PodScheduled", "Initialized", "Ready"].iter().all(|type_| conditions::is_true(&status, type_)));
    assert_eq!(live(&server)["spec"]["nodeName"], "node-0");
    testing::delete(&server, "pods", &live(&server), DeleteOptions::default());
    assert_eq!(live(&server)["metadata"]["deletionGracePeriodSeconds"], 30);
    let now = testing::settle(&server, &mut actors, now);
    assert_eq!(live(&server)["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(live(&server)["status"]["phase"], "Failed");
    let ended = live(&server)["status"]["containerStatuses"][0]["state"]["terminated"].clone();
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(137), &json!("Error")));
    testing::merge(&server, "pods", "a", json!({ "metadata": { "finalizers": null } }));
    testing::settle(&server, &mut actors, now);
    assert_eq!(testing::get(&server, "pods", "a"), None);
    assert_eq!(server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
}
