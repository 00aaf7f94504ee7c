//! Children that result from fields of a MyApp, case by case. Complete children are in `tests/golden`.

use std::sync::Arc;

use runtime::cache::Projection;
use serde_json::{Value, json};

use crate::MyApp;

fn app(spec: &Value) -> Arc<MyApp> {
    let metadata = json!({ "name": "web", "namespace": "n", "uid": "u", "generation": 1 });
    Arc::new(MyApp::decode(&json!({ "metadata": metadata, "spec": spec }).to_string()).unwrap())
}

fn pod(spec: &Value) -> Value {
    super::deployment(&app(spec), "i").body["spec"]["template"]["spec"].clone()
}

fn container(spec: &Value) -> Value {
    pod(spec)["containers"][0].clone()
}

#[test]
fn a_named_port_equals_the_short_form() {
    let short = json!({ "image": "i", "port": 80 });
    let named = json!({ "image": "i", "ports": [{ "name": "app", "port": 80 }] });
    let service = |spec| super::service(&app(spec)).unwrap().body;
    assert_eq!(service(&short), service(&named));
    assert_eq!(container(&short)["readinessProbe"], container(&named)["readinessProbe"]);
    assert_eq!(container(&named)["ports"], json!([{ "name": "app", "containerPort": 80, "protocol": "TCP" }]));
}

#[test]
fn without_a_port_there_is_no_service_and_without_a_tcp_port_no_probe() {
    assert!(super::service(&app(&json!({ "image": "i", "ports": [] }))).is_none());
    let udp = json!({ "image": "i", "ports": [{ "name": "dns", "port": 53, "protocol": "UDP" }] });
    assert!(super::service(&app(&udp)).is_some() && container(&udp)["readinessProbe"].is_null());
    let none = json!({ "image": "i", "probes": {}, "ports": [{ "name": "http", "port": 80 }] });
    assert!(container(&none)["readinessProbe"].is_null());
}

#[test]
fn two_ports_of_the_service_may_have_the_same_target() {
    let spec = json!({ "image": "i", "ports": [
        { "name": "http", "port": 80, "targetPort": 8080 }, { "name": "alt", "port": 8080 },
        { "name": "quic", "port": 80, "targetPort": 8080, "protocol": "UDP" },
    ] });
    let ports =
        container(&spec)["ports"].as_array().unwrap().iter().map(|port| port["name"].clone()).collect::<Vec<_>>();
    assert_eq!(ports, ["http", "quic"], "number and protocol are the key of the list");
    assert_eq!(super::service(&app(&spec)).unwrap().body["spec"]["ports"].as_array().unwrap().len(), 3);
    assert_eq!(container(&spec)["readinessProbe"]["tcpSocket"]["port"], 8080);
}

#[test]
fn a_service_has_only_the_type_and_annotations_of_the_spec() {
    let service = |extra: Value| {
        let mut spec = json!({ "image": "i", "port": 80 });
        if let (Some(spec), Value::Object(extra)) = (spec.as_object_mut(), extra) {
            spec.extend(extra);
        }
        super::service(&app(&spec)).unwrap().body
    };
    let plain = service(json!({}));
    assert!(plain["spec"]["type"].is_null() && plain["metadata"]["annotations"].is_null());
    assert_eq!(service(json!({ "service": {} })), plain);
    let given = service(json!({ "service": { "type": "LoadBalancer", "annotations": { "a": "b" } } }));
    assert_eq!((&given["spec"]["type"], &given["metadata"]["annotations"]["a"]), (&json!("LoadBalancer"), &json!("b")));
}

#[test]
fn the_token_of_a_service_account_is_mounted_only_if_requested() {
    let pod = pod(&json!({ "image": "i", "serviceAccountName": "reader" }));
    assert_eq!(pod["automountServiceAccountToken"], false);
    // The operator owns both names of the field, so that it removes both.
    assert_eq!([&pod["serviceAccountName"], &pod["serviceAccount"]], ["reader", "reader"]);
}

#[test]
fn the_name_of_a_volume_depends_on_its_kind_and_not_on_other_volumes() {
    let files = |source: &str| json!({ "mountPath": "/etc/app", source: { "name": "settings" } });
    let of = |spec: &Value| {
        let volumes = pod(spec)["volumes"].clone();
        let name = volumes.as_array().unwrap().last().unwrap()["name"].clone();
        let mounts = container(spec)["volumeMounts"].clone();
        assert_eq!(mounts.as_array().unwrap().last().unwrap()["name"], name);
        name
    };
    let alone = of(&json!({ "image": "i", "files": [files("configMap")] }));
    let other = json!({ "mountPath": "/etc/other", "secret": { "name": "keys" } });
    assert_eq!(of(&json!({ "image": "i", "files": [other, files("configMap")] })), alone);
    assert_ne!(of(&json!({ "image": "i", "files": [files("secret")] })), alone);
}

#[test]
fn values_that_the_api_server_does_not_store_are_not_sent() {
    let spec = json!({ "image": "i", "minReadySeconds": 0, "files": [], "args": [], "strategy": {},
        "persistentVolumeClaims": [{ "name": "data", "mountPath": "/data", "readOnly": false }] });
    assert_eq!(container(&spec)["volumeMounts"][0]["readOnly"], Value::Null);
    assert!(container(&spec).get("args").is_none());
    assert!(super::deployment(&app(&spec), "i").body["spec"].get("minReadySeconds").is_none());
}
