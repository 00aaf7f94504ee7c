//! What the API refuses, with a sentence that says what is allowed; and what it must not refuse.

use api::my_app::MyApp;
use e2e::namespace::Namespace;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::manifest::my_app;

/// A digest, but for its algorithm.
const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// What the API server says to it, without keeping it.
async fn tried(ns: &Namespace, name: &str, spec: Value) -> Result<(), String> {
    let object = json!({ "apiVersion": "example.com/v1", "kind": "MyApp", "metadata": { "name": name }, "spec": spec });
    let object: DynamicObject = serde_json::from_value(object).expect("an object");
    let apps: Api<DynamicObject> = Api::namespaced_with(ns.client.clone(), &ns.name, &ApiResource::erase::<MyApp>(&()));
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    match apps.create(&dry, &object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(refusal)) if refusal.code == 422 || refusal.code == 400 => Err(refusal.message.clone()),
        Err(other) => panic!("neither taken nor refused: {other}"),
    }
}

/// Tries each with an image, and gathers all that is wrong.
async fn refused(cases: &[(Value, &[&str])]) {
    let ns = Namespace::new("refused").await;
    let mut wrong = Vec::new();
    for (extra, words) in cases {
        let mut spec = json!({ "replicas": 1, "image": "nginx:1.25" });
        for (key, value) in extra.as_object().expect("fields") {
            spec[key] = value.clone();
        }
        spec.as_object_mut().expect("fields").retain(|_, value| !value.is_null());
        match tried(&ns, "web", spec).await {
            Ok(()) => wrong.push(format!("{extra} was taken")),
            Err(said) if words.iter().all(|word| said.contains(word)) => {}
            Err(said) => wrong.push(format!("{extra}: {words:?} is not in: {said}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn fields_out_of_bounds_are_refused() {
    let probe = |probe: Value| json!({ "probes": { "readiness": probe } });
    refused(&[
        (json!({ "replicas": -1 }), &["spec.replicas", "greater than or equal to 0"]),
        (json!({ "replicas": 1001 }), &["spec.replicas", "less than or equal to 1000"]),
        (json!({ "replicas": "three" }), &["spec.replicas", "integer"]),
        (json!({ "replicas": 1.5 }), &["spec.replicas", "integer"]),
        (json!({ "port": 0 }), &["spec.port", "greater than or equal to 1"]),
        (json!({ "port": 65536 }), &["spec.port", "less than or equal to 65535"]),
        (json!({ "security": "Privileged" }), &["spec.security", "\"Baseline\", \"Restricted\""]),
        (json!({ "env": [{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }] }), &["spec.env[1]", "Duplicate value"]),
        (json!({ "env": [{ "name": "1A", "value": "1" }] }), &["spec.env[0].name", "should match"]),
        (json!({ "env": [{ "name": "", "value": "1" }] }), &["spec.env[0].name"]),
        (json!({ "env": [{ "value": "1" }] }), &["spec.env[0].name", "Required"]),
        (
            json!({ "env": [{ "name": "A", "value": "1", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }] }),
            &["value or valueFrom, not both"],
        ),
        (json!({ "env": [{ "name": "A", "valueFrom": {} }] }), &["exactly one of configMapKeyRef, secretKeyRef, fieldRef and resourceFieldRef"]),
        (json!({ "envFrom": [{ "prefix": "A_" }] }), &["exactly one of configMapRef and secretRef"]),
        (
            json!({ "envFrom": [{ "configMapRef": { "name": "a" }, "secretRef": { "name": "a" } }] }),
            &["exactly one of configMapRef and secretRef"],
        ),
        (json!({ "disruptionBudget": {} }), &["exactly one of minAvailable and maxUnavailable"]),
        (
            json!({ "disruptionBudget": { "minAvailable": 1, "maxUnavailable": 1 } }),
            &["exactly one of minAvailable and maxUnavailable"],
        ),
        (json!({ "disruptionBudget": { "minAvailable": -1 } }), &["0 or more, or a percentage from 0% to 100%"]),
        (json!({ "disruptionBudget": { "maxUnavailable": "101%" } }), &["0 or more, or a percentage from 0% to 100%"]),
        (json!({ "disruptionBudget": { "maxUnavailable": "half" } }), &["0 or more, or a percentage from 0% to 100%"]),
        (probe(json!({})), &["exactly one of httpGet, tcpSocket, exec and grpc"]),
        (
            probe(json!({ "httpGet": { "port": 80 }, "tcpSocket": { "port": 80 } })),
            &["exactly one of httpGet, tcpSocket, exec and grpc"],
        ),
        (probe(json!({ "tcpSocket": { "port": 0 } })), &["tcpSocket.port", "greater than or equal to 1"]),
        (probe(json!({ "tcpSocket": { "port": 80 }, "periodSeconds": 0 })), &["periodSeconds", "greater than or equal to 1"]),
        (probe(json!({ "exec": { "command": [] } })), &["exec.command", "at least 1 items"]),
        (probe(json!({ "httpGet": { "port": 80, "scheme": "FTP" } })), &["scheme", "\"HTTP\", \"HTTPS\""]),
    ])
    .await;
}

#[tokio::test]
async fn ports_hooks_and_accounts_that_contradict_themselves_are_refused() {
    let ports = |ports: Value| json!({ "ports": ports });
    let resource = |resource: Value| json!({ "env": [{ "name": "A", "valueFrom": { "resourceFieldRef": resource } }] });
    refused(&[
        (json!({ "port": 80, "ports": [{ "name": "http", "port": 81 }] }), &["port is the short form of ports"]),
        (
            ports(json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 80, "protocol": "TCP" }])),
            &["two ports must not have the same port and protocol"],
        ),
        (
            ports(json!([{ "name": "a", "port": 80 }, { "name": "a", "port": 81 }])),
            &["spec.ports[1]", "Duplicate value"],
        ),
        (ports(json!([{ "name": "Http", "port": 80 }])), &["the name of a port must be 1 to 15"]),
        (ports(json!([{ "name": "80", "port": 80 }])), &["the name of a port must be 1 to 15"]),
        (
            ports(json!([{ "name": "a", "port": 80, "protocol": "SCTP" }])),
            &["spec.ports[0].protocol", "\"TCP\", \"UDP\""],
        ),
        (resource(json!({ "resource": "limits.gpu" })), &["resourceFieldRef.resource", "\"limits.memory\""]),
        (resource(json!({ "resource": "limits.memory", "divisor": "1m" })), &["divisor must be 1 or 1m for cpu"]),
        (json!({ "preStop": {} }), &["preStop takes exactly one of exec, httpGet and sleep"]),
        (json!({ "preStop": { "sleep": { "seconds": 31 } } }), &["must not exceed terminationGracePeriodSeconds"]),
        (json!({ "automountToken": true }), &["automountToken requires serviceAccountName"]),
        (json!({ "imagePullPolicy": "Sometimes" }), &["\"Always\", \"IfNotPresent\", \"Never\""]),
    ])
    .await;
}

#[tokio::test]
async fn overrides_of_what_finds_the_pods_and_sources_of_two_kinds_are_refused() {
    let metadata = |metadata: Value| json!({ "podOverrides": { "metadata": metadata } });
    let on = |on: Value| json!({ "restartOn": [on] });
    refused(&[
        (
            metadata(json!({ "labels": { "app.kubernetes.io/instance": "a" } })),
            &["labels that select the pods are reserved for the operator"],
        ),
        (
            metadata(json!({ "labels": { "multi-operator.example.com/whole": "true" } })),
            &["labels that select the pods"],
        ),
        (
            metadata(json!({ "annotations": { "kubectl.kubernetes.io/restartedAt": "now" } })),
            &["annotations that restart pods are reserved for the operator"],
        ),
        (metadata(json!({ "labels": { "a": 1 } })), &["spec.podOverrides.metadata.labels.a", "string"]),
        (json!({ "podOverrides": { "spec": [] } }), &["spec.podOverrides.spec", "object"]),
        (on(json!({})), &["restartOn takes exactly one of configMapRef and secretRef"]),
        (
            on(json!({ "configMapRef": { "name": "a" }, "secretRef": { "name": "a" } })),
            &["restartOn takes exactly one of configMapRef and secretRef"],
        ),
        (on(json!({ "secretRef": { "name": "" } })), &["restartOn[0].secretRef.name", "at least 1 chars"]),
        (on(json!({ "configMapRef": { "name": "my settings" } })), &["restartOn[0].configMapRef.name", "should match"]),
        (
            on(json!({ "configMapRef": { "name": "settings#prod" } })),
            &["restartOn[0].configMapRef.name", "should match"],
        ),
        (on(json!({ "secretRef": { "name": "../keys" } })), &["restartOn[0].secretRef.name", "should match"]),
    ])
    .await;
}

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
    refused(&[
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
    refused(&[
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
    refused(&[
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
    refused(&[
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
    refused(&[
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

#[tokio::test]
async fn images_are_taken_or_refused_as_container_runtimes_do() {
    let ns = Namespace::new("images").await;
    let long_tag = format!("nginx:{}", "t".repeat(128));
    let digest = format!("registry.example.com/team/app@sha256:{DIGEST}");
    let both = format!("nginx:1.25@sha256:{DIGEST}");
    let valid = [
        "nginx",
        "nginx:1.25",
        "library/nginx:latest",
        "docker.io/library/nginx:1.25",
        "localhost/multi-operator:dev",
        "localhost:5000/app",
        "registry.example.com:5000/team/app:v2",
        "Registry.Example.COM/app:V1_2.3-rc",
        "a/b/c/d/e:1",
        "my_app:1",
        "my__app:1",
        "my-app.web:1",
        "my--app",
        "10.0.0.1:5000/app:1",
        "gcr.io/k8s-minikube/storage:v5",
        "0:1",
        "app:_under",
        &long_tag,
        &digest,
        &both,
    ];
    let too_long = format!("nginx:{}", "t".repeat(129));
    let short_digest = format!("nginx@sha256:{}", &DIGEST[1..]);
    let capital_digest = format!("nginx@sha256:{}", DIGEST.to_uppercase());
    let huge = format!("{}:1", "a/".repeat(260) + "a");
    let malformed = [
        "",
        " ",
        "nginx ",
        " nginx",
        "nginx:",
        ":1.25",
        "nginx:1.25:2",
        "Nginx:1.25",
        "nginx/",
        "/nginx",
        "a//b",
        "nginx:-tag",
        "nginx:.tag",
        "nginx@",
        "nginx@sha256",
        "nginx@sha256:",
        "nginx@md5:abc",
        "http://nginx",
        "nginx:tag/with",
        "ng inx",
        "nginx:1.25\n",
        "nginx;reboot",
        "$(nginx)",
        "-nginx",
        "nginx-",
        "_nginx",
        ".nginx",
        "registry.example.com:port/app",
        "ngïnx",
        "nginx:täg",
        &too_long,
        &short_digest,
        &capital_digest,
        &huge,
    ];
    let mut wrong = Vec::new();
    for image in valid {
        if let Err(said) = tried(&ns, "web", json!({ "image": image })).await {
            wrong.push(format!("{image:?} was refused: {said}"));
        }
    }
    for image in malformed {
        match tried(&ns, "web", json!({ "image": image })).await {
            Ok(()) => wrong.push(format!("{image:?} was taken")),
            Err(said) if said.contains("image must be a reference such as nginx:1.25") || said.contains("Too long") => {
            }
            Err(said) if image.is_empty() && said.contains("at least 1 chars") => {}
            Err(said) => wrong.push(format!("{image:?} was refused without saying what is allowed: {said}")),
        }
    }
    let missing = tried(&ns, "web", json!({ "replicas": 1 })).await;
    if !missing.as_ref().is_err_and(|said| said.contains("spec.image: Required value")) {
        wrong.push(format!("no image at all: {missing:?}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn names_must_do_for_all_that_is_named_after_them() {
    let ns = Namespace::new("names").await;
    let (longest, longer) = ("n".repeat(63), "n".repeat(64));
    for name in ["a", "a1", "my-app", "a--b", &longest] {
        assert_eq!(tried(&ns, name, json!({ "image": "nginx" })).await, Ok(()), "{name}");
    }
    for name in ["my.app", "1app", &longer] {
        let said = tried(&ns, name, json!({ "image": "nginx" })).await.expect_err(name);
        assert!(said.contains("1 to 63 lower-case letters, digits or '-', start with a letter"), "{name}: {said}");
    }
    for name in ["MyApp", "-app", "app-", "my_app", "ä"] {
        let said = tried(&ns, name, json!({ "image": "nginx" })).await.expect_err(name);
        assert!(said.contains("lower case alphanumeric characters"), "{name}: {said}");
    }
    // As a user sees it; and nothing of a refused object exists.
    let said =
        ns.kubectl_with(&my_app("web", "{replicas: -1, image: nginx}"), &["apply", "--filename", "-"]).await.refused();
    assert!(said.contains("spec.replicas: Invalid value: -1"), "{said}");
    // A pod's name is longer than its MyApp's: the longest must run all the same.
    ns.apply(&my_app(&longest, "{replicas: 1, image: nginx:1.25, port: 80, disruptionBudget: {maxUnavailable: 1}}"))
        .await;
    ns.until::<MyApp, ()>(&longest, "it to run", |app| e2e::objects::runs(app?, 1).then_some(())).await;
}

#[tokio::test]
async fn an_edit_is_judged_as_a_create_is() {
    let ns = Namespace::new("edits").await;
    ns.apply(&my_app("web", "{replicas: 0, image: nginx:1.25}")).await;
    for patch in [
        json!({ "spec": { "replicas": -1 } }),
        json!({ "spec": { "image": "Bad Image" } }),
        json!({ "spec": { "image": null } }),
    ] {
        let said = ns.kubectl(&["patch", "myapp/web", "--type=merge", "--patch", &patch.to_string()]).await.refused();
        assert!(said.contains("is invalid"), "{said}");
    }
    let said = ns.kubectl(&["scale", "myapp/web", "--replicas=1001"]).await.refused();
    assert!(said.contains("1000"), "{said}");
    assert_eq!(ns.get::<MyApp>("web").await.metadata.generation, Some(1));
    let strict = my_app("web", "{replicas: 0, image: nginx:1.25, replica: 3}");
    let said = ns.kubectl_with(&strict, &["apply", "--filename", "-"]).await.refused();
    assert!(said.contains("unknown field \"spec.replica\""), "{said}");
}
