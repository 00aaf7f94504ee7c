//! What the API rejects, with a message that says what is allowed; and what it must not reject.

use api::my_app::MyApp;
use e2e::namespace::Namespace;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::manifest::my_app;

mod pods;

/// A digest without its algorithm.
const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Creates a MyApp in a dry run; returns the message of a rejection.
async fn create_dry_run(ns: &Namespace, name: &str, spec: Value) -> Result<(), String> {
    let object = json!({ "apiVersion": "example.com/v1", "kind": "MyApp", "metadata": { "name": name }, "spec": spec });
    let object: DynamicObject = serde_json::from_value(object).expect("an object");
    let apps: Api<DynamicObject> = Api::namespaced_with(ns.client.clone(), &ns.name, &ApiResource::erase::<MyApp>(&()));
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    match apps.create(&dry, &object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(refusal)) if refusal.code == 422 || refusal.code == 400 => Err(refusal.message.clone()),
        Err(other) => panic!("neither accepted nor rejected: {other}"),
    }
}

/// Checks that each of these specs, with an image, is rejected with these texts.
async fn rejected(cases: &[(Value, &[&str])]) {
    let ns = Namespace::new("refused").await;
    let mut wrong = Vec::new();
    for (extra, expected) in cases {
        let mut spec = json!({ "replicas": 1, "image": "nginx:1.25" });
        for (key, value) in extra.as_object().expect("fields") {
            spec[key] = value.clone();
        }
        spec.as_object_mut().expect("fields").retain(|_, value| !value.is_null());
        match create_dry_run(&ns, "web", spec).await {
            Ok(()) => wrong.push(format!("{extra} was accepted")),
            Err(message) if expected.iter().all(|part| message.contains(part)) => {}
            Err(message) => wrong.push(format!("{extra}: {expected:?} is not in: {message}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn fields_out_of_bounds_are_refused() {
    let probe = |probe: Value| json!({ "probes": { "readiness": probe } });
    rejected(&[
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
    rejected(&[
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
    rejected(&[
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
        if let Err(message) = create_dry_run(&ns, "web", json!({ "image": image })).await {
            wrong.push(format!("{image:?} was refused: {message}"));
        }
    }
    for image in malformed {
        match create_dry_run(&ns, "web", json!({ "image": image })).await {
            Ok(()) => wrong.push(format!("{image:?} was taken")),
            Err(message)
                if message.contains("image must be a reference such as nginx:1.25") || message.contains("Too long") => {
            }
            Err(message) if image.is_empty() && message.contains("at least 1 chars") => {}
            Err(message) => wrong.push(format!("{image:?} was refused without saying what is allowed: {message}")),
        }
    }
    let missing = create_dry_run(&ns, "web", json!({ "replicas": 1 })).await;
    if !missing.as_ref().is_err_and(|message| message.contains("spec.image: Required value")) {
        wrong.push(format!("no image at all: {missing:?}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn names_must_do_for_all_that_is_named_after_them() {
    let ns = Namespace::new("names").await;
    let (longest, longer) = ("n".repeat(63), "n".repeat(64));
    for name in ["a", "a1", "my-app", "a--b", &longest] {
        assert_eq!(create_dry_run(&ns, name, json!({ "image": "nginx" })).await, Ok(()), "{name}");
    }
    for name in ["my.app", "1app", &longer] {
        let message = create_dry_run(&ns, name, json!({ "image": "nginx" })).await.expect_err(name);
        assert!(
            message.contains("1 to 63 lower-case letters, digits or '-', start with a letter"),
            "{name}: {message}"
        );
    }
    for name in ["MyApp", "-app", "app-", "my_app", "ä"] {
        let message = create_dry_run(&ns, name, json!({ "image": "nginx" })).await.expect_err(name);
        assert!(message.contains("lower case alphanumeric characters"), "{name}: {message}");
    }
    // As a user sees it; and nothing of a refused object exists.
    let message =
        ns.kubectl_with(&my_app("web", "{replicas: -1, image: nginx}"), &["apply", "--filename", "-"]).await.refused();
    assert!(message.contains("spec.replicas: Invalid value: -1"), "{message}");
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
        let message =
            ns.kubectl(&["patch", "myapp/web", "--type=merge", "--patch", &patch.to_string()]).await.refused();
        assert!(message.contains("is invalid"), "{message}");
    }
    let message = ns.kubectl(&["scale", "myapp/web", "--replicas=1001"]).await.refused();
    assert!(message.contains("1000"), "{message}");
    assert_eq!(ns.get::<MyApp>("web").await.metadata.generation, Some(1));
    let strict = my_app("web", "{replicas: 0, image: nginx:1.25, replica: 3}");
    let message = ns.kubectl_with(&strict, &["apply", "--filename", "-"]).await.refused();
    assert!(message.contains("unknown field \"spec.replica\""), "{message}");
}
