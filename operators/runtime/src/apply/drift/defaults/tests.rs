//! Children as Kubernetes 1.36.3 creates them, with the ownership that it records.

use tokio::time::Instant;

use serde_json::json;

use super::super::repair::ownership_migration;
use super::*;
use crate::apply::drift::Fingerprint;
use crate::cache::Projection;
use crate::plan::meta::Key;
use crate::plan::{Apply, Reported};
use crate::projections::{ConfigMap, Deployment, Service};

mod carried_over;

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

/// The Deployment after its creation.
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

/// The apply that makes the live Deployment match `body`.
fn over(live: &Deployment, body: &Value) -> Option<Apply> {
    let apply = Apply::new(Deployment::KIND, Key::new("n", "a"), body);
    apply.if_drifted(Some((&live.meta, live.fingerprint, &live.additions)))
}

/// Another manager changes a field, and owns it from then on.
fn edited(mut live: Value, field: &str, value: Value, path: &[&str]) -> Value {
    *live.pointer_mut(field).unwrap() = value;
    let (last, parents) = path.split_last().unwrap();
    let ours = &mut live["metadata"]["managedFields"][0]["fieldsV1"];
    let place = parents.iter().fold(ours, |place, step| &mut place[*step]);
    place.as_object_mut().unwrap().remove(*last);
    live
}

#[test]
fn the_result_of_a_creation_matches_what_was_sent() {
    let live = deployment(&created());
    assert_eq!(over(&live, &sent()), None);
    assert!(!live.owns_replicas, "they were filled in, and an autoscaler may own them");
    let mut explicit = sent();
    explicit["spec"]["replicas"] = json!(1);
    explicit["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!("IfNotPresent");
    assert_eq!(over(&live, &explicit), None, "defaults may be sent as well");
    explicit["spec"]["replicas"] = json!(2);
    assert!(over(&live, &explicit).is_some());
}

#[test]
fn an_edited_field_that_was_sent_at_its_default_is_restored() {
    let path = ["f:spec", "f:template", "f:spec", "f:terminationGracePeriodSeconds"];
    let live = edited(created(), "/spec/template/spec/terminationGracePeriodSeconds", json!(5), &path);
    let repair_apply = over(&deployment(&live), &sent()).expect("it was sent");
    assert!(
        repair_apply.unapplied && !repair_apply.migrates_ownership,
        "an apply of the same removes nothing, so one request is enough"
    );
}

#[test]
fn fields_sent_within_a_struct_that_defaults_to_empty_are_compared() {
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
fn an_edited_default_belongs_to_its_editor() {
    let live = edited(created(), "/spec/replicas", json!(5), &["f:spec", "f:replicas"]);
    assert_eq!(over(&deployment(&live), &sent()), None);
    let mut live = created();
    live["spec"]["template"]["spec"]["securityContext"] = json!({ "fsGroup": 7 });
    assert_eq!(over(&deployment(&live), &sent()), None, "a field within a struct that was filled in empty");
}

#[test]
fn ownership_of_a_field_that_is_no_longer_sent_is_migrated() {
    let mut fewer = sent();
    fewer["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("readinessProbe");
    let mut live = deployment(&created());
    live.carry_over(Some(&deployment(&created())), Instant::now());
    assert!(over(&live, &fewer).unwrap().migrates_ownership);
    let patch = ownership_migration(&Deployment::KIND, &created(), &fewer, Reported::Something).unwrap().unwrap();
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

/// Otherwise, the apply of the new image would be followed by one that removes the policy, and pods would be replaced twice.
#[test]
fn ownership_is_migrated_before_an_image_with_another_default_policy() {
    let with = |image: &str| {
        let mut body = sent();
        body["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        ownership_migration(&Deployment::KIND, &created(), &body, Reported::Something).unwrap()
    };
    assert_eq!(with("nginx:1.26"), None);
    let fields = &with("nginx:latest").unwrap()["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(fields["f:spec"]["f:template"]["f:spec"]["f:containers"][APP]["f:imagePullPolicy"], Value::Null);
}

#[test]
fn a_strategy_that_is_sent_has_no_rolling_update_left_from_the_creation() {
    let mut body = sent();
    body["spec"]["strategy"] = json!({ "type": "Recreate" });
    let migrated = ownership_migration(&Deployment::KIND, &created(), &body, Reported::Something).unwrap().unwrap();
    let fields = &migrated["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(
        fields["f:spec"]["f:strategy"],
        json!({ "f:rollingUpdate": { ".": {} } }),
        "so that it is removed as a whole"
    );
}

/// Otherwise, we would own it forever: an autoscaler could never own a number that was sent once.
#[test]
fn a_default_that_an_apply_sent_is_given_up_when_it_is_no_longer_sent() {
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
    assert!(
        !live.additions.eq(&after.additions),
        "the change of ownership is noticed although nothing else has changed"
    );
}

#[test]
fn created_services_and_config_maps_match_too() {
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
    assert!(apply.matches(live.fingerprint, &live.additions));

    let sent = json!({ "metadata": {}, "data": { "a": "b" } });
    let fields = json!({ "f:data": { ".": {}, "f:a": {} } });
    let live = named(sent.clone(), json!([entry(US, "Update", &fields)]));
    let live = ConfigMap::decode(&live.to_string()).unwrap();
    assert_eq!(live.fingerprint, Fingerprint::of_rendered(&sent), "a ConfigMap has no defaults");
}

/// Both protocols on one port number, and the target of one is edited.
#[test]
fn defaults_in_two_ports_of_one_number_are_distinguished() {
    let port = |protocol: &str, target: u16| json!({ "name": protocol, "port": 53, "protocol": protocol, "targetPort": target });
    let sent = json!({ "metadata": {}, "spec": { "ports": [port("UDP", 53), port("TCP", 53)] } });
    let all = json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} });
    let mut fields = json!({ "f:spec": { "f:ports": {
        ".": {}, "k:{\"port\":53,\"protocol\":\"TCP\"}": all, "k:{\"port\":53,\"protocol\":\"UDP\"}": all,
    } } });
    let made = |spec: &Value, fields: &Value| {
        let live = named(json!({ "metadata": {}, "spec": spec }), json!([entry(US, "Update", fields)]));
        let live = Service::decode(&live.to_string()).unwrap();
        Apply::new(Service::KIND, Key::new("n", "a"), &sent).matches(live.fingerprint, &live.additions)
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
fn the_default_pull_policy_depends_on_the_tag() {
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
