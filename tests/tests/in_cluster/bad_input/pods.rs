//! What the API rejects of pods, rollouts, replicas, routes and resources.

use serde_json::{Value, json};

use super::rejected;

#[tokio::test]
async fn mounts_that_cannot_be_are_refused() {
    let map = json!({ "name": "settings" });
    let files = |path: &str, source: Value| {
        let mut files = source;
        files["mountPath"] = json!(path);
        json!({ "files": [files] })
    };
    let at = |path: &str| files(path, json!({ "configMap": map }));
    let both = json!({ "files": [{ "mountPath": "/a", "configMap": map }], "scratch": [{ "mountPath": "/a", "sizeLimit": "1Gi" }] });
    let path: &[&str] = &["mountPath must be an absolute path other than /"];
    let scratch = |scratch: Value| json!({ "scratch": [scratch] });
    rejected(&[
        (at("etc"), path),
        (at("/"), path),
        (at("/etc/"), path),
        (at("/a/../b"), path),
        (at("/a:b"), path),
        (files("/a", json!({})), &["files take exactly one of configMap, secret and projected"]),
        (
            files("/a", json!({ "configMap": map, "secret": map })),
            &["files take exactly one of configMap, secret and projected"],
        ),
        (files("/a", json!({ "configMap": map, "subPath": "../b" })), &["must be a relative path without '..'"]),
        (
            files("/a", json!({ "projected": [{ "serviceAccountToken": { "path": "token" } }] })),
            &["files with a serviceAccountToken require serviceAccountName"],
        ),
        (both, &["must not share a mountPath"]),
        (scratch(json!({ "mountPath": "/a" })), &["spec.scratch[0].sizeLimit", "Required value"]),
        (scratch(json!({ "mountPath": "/a", "sizeLimit": "0" })), &["sizeLimit must be a quantity above 0"]),
        (files("/a", json!({ "hostPath": { "path": "/" } })), &["files take exactly one of"]),
    ])
    .await;
}

#[tokio::test]
async fn rollouts_that_could_not_end_are_refused() {
    let pace = |surge: Value, unavailable: Value| json!({ "strategy": { "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } } });
    let none: &[&str] = &["maxSurge and maxUnavailable must not both be 0"];
    rejected(&[
        (pace(json!(0), json!(0)), none),
        (pace(json!("0%"), json!(0)), none),
        (pace(json!(-1), json!(1)), &["0 or more, or a percentage from 0% to 100%"]),
        (
            json!({ "strategy": { "type": "Recreate", "rollingUpdate": { "maxSurge": 1 } } }),
            &["strategy.rollingUpdate requires the type RollingUpdate"],
        ),
        (json!({ "strategy": { "type": "BlueGreen" } }), &["\"RollingUpdate\", \"Recreate\""]),
        (
            json!({ "minReadySeconds": 600 }),
            &["progressDeadlineSeconds (600 by default) must be greater than minReadySeconds"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn numbers_of_pods_that_contradict_themselves_are_refused() {
    let scaled = |autoscaling: Value| json!({ "replicas": null, "autoscaling": autoscaling });
    let target: &[&str] = &["must be a percentage of the pods' requests, such as 80%"];
    rejected(&[
        (json!({ "autoscaling": { "max": 3 } }), &["replicas and autoscaling are mutually exclusive"]),
        (scaled(json!({})), &["spec.autoscaling.max", "Required value"]),
        (scaled(json!({ "min": 4, "max": 3 })), &["autoscaling.min (1 by default) must not exceed autoscaling.max"]),
        (scaled(json!({ "min": 0, "max": 3 })), &["spec.autoscaling.min", "greater than or equal to 1"]),
        (scaled(json!({ "max": 1001 })), &["spec.autoscaling.max", "less than or equal to 1000"]),
        (scaled(json!({ "max": 3, "cpu": "lots" })), target),
        (scaled(json!({ "max": 3, "cpu": "0%" })), target),
        (scaled(json!({ "max": 3, "cpu": 0 })), target),
        (scaled(json!({ "max": 3, "memory": "-1Gi" })), target),
        (scaled(json!({ "max": 3, "memory": "" })), target),
        (
            scaled(json!({ "max": 3, "metrics": [{ "type": "Foo" }] })),
            &["spec.autoscaling.metrics[0].type", "\"Pods\""],
        ),
        (scaled(json!({ "max": 3, "metrics": [{}] })), &["spec.autoscaling.metrics[0].type", "Required value"]),
    ])
    .await;
}

#[tokio::test]
async fn ways_in_that_lead_nowhere_are_refused() {
    let route = |route: Value| json!({ "port": 80, "route": route });
    let path: &[&str] = &["path must start with '/'"];
    let at = |path: &str| route(json!({ "host": "a.b", "path": path }));
    let gateway = json!({ "name": "public" });
    let udp = json!([{ "name": "dns", "port": 53, "protocol": "UDP" }]);
    rejected(&[
        (json!({ "service": { "type": "NodePort" } }), &["service requires port or ports"]),
        (json!({ "port": 80, "service": { "type": "ExternalName" } }), &["spec.service.type", "\"NodePort\""]),
        (
            json!({ "port": 80, "service": { "annotations": { "a b": "c" } } }),
            &["service.annotations must have valid Kubernetes annotation keys"],
        ),
        (json!({ "route": { "host": "a.b" } }), &["route requires port, or a TCP port in ports"]),
        (json!({ "ports": udp, "route": { "host": "a.b" } }), &["route requires port, or a TCP port in ports"]),
        (route(json!({})), &["spec.route.host", "Required value"]),
        (route(json!({ "host": "A.b" })), &["spec.route.host", "should match"]),
        (route(json!({ "host": "a.*.b" })), &["spec.route.host", "should match"]),
        (at("shop"), path),
        (at("/a//b"), path),
        (at("/a/../b"), path),
        (at("/a/."), path),
        (at("/a%2Fb"), path),
        (
            route(json!({ "host": "a.b", "gateway": gateway, "ingressClassName": "nginx" })),
            &["route takes gateway or ingressClassName, not both"],
        ),
        (
            route(json!({ "host": "a.b", "gateway": gateway, "tlsSecret": "a" })),
            &["route.tlsSecret applies only to an Ingress"],
        ),
        (route(json!({ "host": "a.b", "gateway": {} })), &["spec.route.gateway.name", "Required value"]),
    ])
    .await;
}

#[tokio::test]
async fn resources_that_contradict_themselves_are_refused() {
    let resources = |requests: Value, limits: Value| json!({ "resources": { "requests": requests, "limits": limits } });
    let above: &[&str] = &["a request in resources.requests must not exceed its limit"];
    let quantity: &[&str] = &["each value must be a quantity of 0 or more, such as 250m, 1 or 128Mi"];
    rejected(&[
        (resources(json!({ "cpu": "2" }), json!({ "cpu": "1500m" })), above),
        (resources(json!({ "memory": "1Gi" }), json!({ "memory": "1G" })), above),
        (resources(json!({ "cpu": 2 }), json!({ "cpu": 1 })), above),
        (resources(json!({ "cpu": "-1" }), json!({})), quantity),
        (resources(json!({ "memory": -5 }), json!({})), quantity),
        (resources(json!({}), json!({ "memory": "many" })), quantity),
        (resources(json!({}), json!({ "memory": "" })), quantity),
        (resources(json!({}), json!({ "memory": "1 Gi" })), quantity),
    ])
    .await;
}
