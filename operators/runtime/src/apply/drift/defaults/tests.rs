//! Children as Kubernetes 1.36.3 makes them of a creation, with the ownership that it notes.

use std::time::Instant;

use serde_json::json;

use super::super::repair::gathering;
use super::*;
use crate::apply::drift::Fingerprint;
use crate::cache::Projection;
use crate::plan::meta::Key;
use crate::plan::{Apply, Reported};
use crate::projections::{ConfigMap, Deployment, Service};

mod seen;

const US: &str = "multi-operator-my-app";
const APP: &str = "k:{\"name\":\"app\"}";
const PORT: &str = "k:{\"containerPort\":80,\"protocol\":\"TCP\"}";

fn sent() -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": {
                    "containers": [{
                        "name": "app", "image": "nginx:1.25", "ports": [{ "containerPort": 80, "protocol": "TCP" }],
                        "readinessProbe": { "httpGet": { "port": 80 }, "periodSeconds": 5 },
                    }],
                    "terminationGracePeriodSeconds": 30,
                },
            },
        },
    })
}

/// What a Deployment of that is after its creation.
fn created() -> Value {
    let mut live = sent();
    let container = json!({
        "name": "app", "image": "nginx:1.25", "imagePullPolicy": "IfNotPresent", "resources": {},
        "ports": [{ "containerPort": 80, "protocol": "TCP" }],
        "readinessProbe": { "httpGet": { "port": 80, "path": "/", "scheme": "HTTP" }, "periodSeconds": 5,
            "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3 },
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    });
    live["spec"]["replicas"] = json!(1);
    live["spec"]["progressDeadlineSeconds"] = json!(600);
    live["spec"]["revisionHistoryLimit"] = json!(10);
    live["spec"]["strategy"] =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } });
    live["spec"]["template"]["spec"] = json!({
        "containers": [container], "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
        "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
    });
    let probe = json!({
        ".": {}, "f:failureThreshold": {}, "f:httpGet": { ".": {}, "f:path": {}, "f:port": {}, "f:scheme": {} },
        "f:periodSeconds": {}, "f:successThreshold": {}, "f:timeoutSeconds": {},
    });
    let container = json!({
        ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {},
        "f:ports": { ".": {}, PORT: { ".": {}, "f:containerPort": {}, "f:protocol": {} } }, "f:readinessProbe": probe,
        "f:resources": {}, "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
    });
    let fields = json!({
        "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
        "f:spec": {
            "f:progressDeadlineSeconds": {}, "f:replicas": {}, "f:revisionHistoryLimit": {}, "f:selector": {},
            "f:strategy": { "f:rollingUpdate": { ".": {}, "f:maxSurge": {}, "f:maxUnavailable": {} }, "f:type": {} },
            "f:template": {
                "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
                "f:spec": { "f:containers": { APP: container }, "f:dnsPolicy": {}, "f:restartPolicy": {},
                    "f:schedulerName": {}, "f:securityContext": {}, "f:terminationGracePeriodSeconds": {} },
            },
        },
    });
    named(live, json!([entry(US, "Update", &fields)]))
}

fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({ "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsV1": fields })
}

fn named(mut live: Value, managed: Value) -> Value {
    live["metadata"]["name"] = json!("a");
    live["metadata"]["namespace"] = json!("n");
    live["metadata"]["uid"] = json!("u");
    live["metadata"]["resourceVersion"] = json!("7");
    live["metadata"]["managedFields"] = managed;
    live
}

fn deployment(live: &Value) -> Deployment {
    Deployment::decode(&live.to_string()).unwrap()
}

/// What it takes to make it as `body` says.
fn over(live: &Deployment, body: &Value) -> Option<Apply> {
    let apply = Apply::new(Deployment::KIND, Key::new("n", "a"), body);
    apply.over(Some((&live.meta, live.fingerprint, &live.additions)))
}

/// Somebody changes a field, which is theirs then.
fn edited(mut live: Value, field: &str, value: Value, path: &[&str]) -> Value {
    *live.pointer_mut(field).unwrap() = value;
    let (last, parents) = path.split_last().unwrap();
    let ours = &mut live["metadata"]["managedFields"][0]["fieldsV1"];
    let place = parents.iter().fold(ours, |place, step| &mut place[*step]);
    place.as_object_mut().unwrap().remove(*last);
    live
}

#[test]
fn what_a_creation_has_made_is_as_it_was_sent_by_whichever_manager() {
    let live = deployment(&created());
    assert_eq!(over(&live, &sent()), None);
    assert!(!live.owns_replicas, "they were filled in, and an autoscaler may have them");
    let mut explicit = sent();
    explicit["spec"]["replicas"] = json!(1);
    explicit["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!("IfNotPresent");
    assert_eq!(over(&live, &explicit), None, "what is filled in may be sent as well");
    explicit["spec"]["replicas"] = json!(2);
    assert!(over(&live, &explicit).is_some());
}

#[test]
fn what_was_sent_at_its_default_and_is_edited_comes_back() {
    let path = ["f:spec", "f:template", "f:spec", "f:terminationGracePeriodSeconds"];
    let live = edited(created(), "/spec/template/spec/terminationGracePeriodSeconds", json!(5), &path);
    let heal = over(&deployment(&live), &sent()).expect("it was sent");
    assert!(heal.unapplied && !heal.gathers, "an apply of the same takes nothing away, so one request is enough");
}

#[test]
fn what_was_sent_within_what_would_be_filled_in_empty_is_compared() {
    let (mut body, mut live) = (sent(), created());
    let context = json!({ "seccompProfile": { "type": "RuntimeDefault" } });
    let fields = json!({ ".": {}, "f:seccompProfile": { ".": {}, "f:type": {} } });
    body["spec"]["template"]["spec"]["securityContext"] = context.clone();
    live["spec"]["template"]["spec"]["securityContext"] = context;
    let ours = &mut live["metadata"]["managedFields"][0]["fieldsV1"];
    ours["f:spec"]["f:template"]["f:spec"]["f:securityContext"] = fields;
    assert_eq!(over(&deployment(&live), &body), None);
    assert!(over(&deployment(&live), &sent()).is_some());
}

#[test]
fn what_was_filled_in_and_is_edited_is_theirs() {
    let live = edited(created(), "/spec/replicas", json!(5), &["f:spec", "f:replicas"]);
    assert_eq!(over(&deployment(&live), &sent()), None);
    let mut live = created();
    live["spec"]["template"]["spec"]["securityContext"] = json!({ "fsGroup": 7 });
    assert_eq!(over(&deployment(&live), &sent()), None, "what is put into an empty struct that was filled in");
}

#[test]
fn what_is_sent_no_longer_is_gathered_and_goes() {
    let mut fewer = sent();
    fewer["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("readinessProbe");
    let mut live = deployment(&created());
    live.carry_over(Some(&deployment(&created())), Instant::now());
    assert!(over(&live, &fewer).unwrap().gathers);
    let patch = gathering(&Deployment::KIND, &created(), &fewer, Reported::Something).unwrap().unwrap();
    let managed = patch["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!((managed.len(), &managed[0]["operation"]), (1, &json!("Apply")));
    let spec = &managed[0]["fieldsV1"]["f:spec"];
    let container = &spec["f:template"]["f:spec"]["f:containers"][APP];
    assert_eq!(
        container["f:readinessProbe"],
        json!({ ".": {}, "f:httpGet": { ".": {}, "f:port": {} }, "f:periodSeconds": {} })
    );
    // What is at its default stays without an owner, as after an apply.
    assert_eq!((&spec["f:replicas"], &spec["f:strategy"]["f:type"]), (&Value::Null, &Value::Null));
    assert_eq!((&container["f:resources"], &container["f:imagePullPolicy"]), (&Value::Null, &Value::Null));
}

/// Else the apply of the other image would be followed by one that takes the policy away, and pods would be replaced twice.
#[test]
fn another_image_with_another_default_is_gathered_before_and_one_with_the_same_is_not() {
    let with = |image: &str| {
        let mut body = sent();
        body["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        gathering(&Deployment::KIND, &created(), &body, Reported::Something).unwrap()
    };
    assert_eq!(with("nginx:1.26"), None);
    let fields = &with("nginx:latest").unwrap()["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields["f:spec"]["f:template"]["f:spec"]["f:containers"][APP]["f:imagePullPolicy"], Value::Null);
}

#[test]
fn a_strategy_that_is_sent_has_no_pace_left_from_the_creation() {
    let mut body = sent();
    body["spec"]["strategy"] = json!({ "type": "Recreate" });
    let gathered = gathering(&Deployment::KIND, &created(), &body, Reported::Something).unwrap().unwrap();
    let fields = &gathered["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields["f:spec"]["f:strategy"], json!({ "f:rollingUpdate": { ".": {} } }), "so that it goes as a whole");
}

/// Else it would be ours for ever: a number that was sent once more would not be an autoscaler's.
#[test]
fn what_an_apply_has_sent_at_its_default_is_given_up_where_it_is_sent_no_longer() {
    let managed = |applied: Value| {
        let mut live = created();
        live["metadata"]["managedFields"].as_array_mut().unwrap().push(entry(US, "Apply", &applied));
        deployment(&live)
    };
    let live = managed(json!({ "f:spec": { "f:selector": {}, "f:replicas": {} } }));
    let mut explicit = sent();
    explicit["spec"]["replicas"] = json!(1);
    assert_eq!(over(&live, &explicit), None);
    assert!(live.owns_replicas && over(&live, &sent()).is_some());
    let after = managed(json!({ "f:spec": { "f:selector": {} } }));
    assert!(!after.owns_replicas && over(&after, &sent()).is_none(), "one write is enough");
    assert!(!live.additions.eq(&after.additions), "it is told though nothing else has changed");
}

#[test]
fn a_service_and_a_config_map_too() {
    let sent = json!({ "spec": { "selector": { "app": "web" },
        "ports": [{ "name": "app", "port": 80, "protocol": "TCP", "targetPort": 80 }] } });
    let port = json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} });
    let fields = json!({ "f:spec": { "f:internalTrafficPolicy": {}, "f:selector": {}, "f:sessionAffinity": {}, "f:type": {},
        "f:ports": { ".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": port } } });
    let mut live = sent.clone();
    live["spec"]["internalTrafficPolicy"] = json!("Cluster");
    live["spec"]["sessionAffinity"] = json!("None");
    live["spec"]["type"] = json!("ClusterIP");
    live["spec"]["clusterIP"] = json!("10.96.0.9");
    let live = Service::decode(&named(live, json!([entry(US, "Update", &fields)])).to_string()).unwrap();
    let apply = Apply::new(Service::KIND, Key::new("n", "a"), &sent);
    assert!(apply.has_made(live.fingerprint, &live.additions));

    let sent = json!({ "metadata": {}, "data": { "a": "b" } });
    let fields = json!({ "f:data": { ".": {}, "f:a": {} } });
    let live = named(sent.clone(), json!([entry(US, "Update", &fields)]));
    let live = ConfigMap::decode(&live.to_string()).unwrap();
    assert_eq!(live.fingerprint, Fingerprint::of_rendered(&sent), "nothing is filled in");
}

/// Both protocols on one port, and where one of them leads is edited.
#[test]
fn fields_at_their_default_in_two_ports_of_one_number_are_told_apart() {
    let port = |protocol: &str, target: u16| json!({ "name": protocol, "port": 53, "protocol": protocol, "targetPort": target });
    let sent = json!({ "metadata": {}, "spec": { "ports": [port("UDP", 53), port("TCP", 53)] } });
    let all = json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} });
    let mut fields = json!({ "f:spec": { "f:ports": {
        ".": {}, "k:{\"port\":53,\"protocol\":\"TCP\"}": all, "k:{\"port\":53,\"protocol\":\"UDP\"}": all,
    } } });
    let made = |spec: &Value, fields: &Value| {
        let live = named(json!({ "metadata": {}, "spec": spec }), json!([entry(US, "Update", fields)]));
        let live = Service::decode(&live.to_string()).unwrap();
        Apply::new(Service::KIND, Key::new("n", "a"), &sent).has_made(live.fingerprint, &live.additions)
    };
    assert!(made(&sent["spec"], &fields));
    drop(
        fields["f:spec"]["f:ports"]["k:{\"port\":53,\"protocol\":\"TCP\"}"]
            .as_object_mut()
            .unwrap()
            .remove("f:targetPort"),
    );
    assert!(!made(&json!({ "ports": [port("UDP", 53), port("TCP", 99)] }), &fields));
}

#[test]
fn how_an_image_is_pulled_by_default() {
    for (image, policy) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("registry:5000/nginx", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        ("registry:5000/nginx:1.25", "IfNotPresent"),
        ("nginx@sha256:0", "IfNotPresent"),
        ("nginx:1.25@sha256:0", "IfNotPresent"),
        ("nginx:latest@sha256:0", "Always"),
    ] {
        assert_eq!(pull_policy(image), policy, "{image}");
    }
}
