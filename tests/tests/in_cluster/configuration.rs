//! Optional fields: what they create, and that removing them removes it.

use api::my_app::MyApp;
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, container};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use crate::manifest::my_app;
use crate::running::{running, running_as, serving};

#[tokio::test]
async fn environment_comes_from_values_config_maps_secrets_and_the_pod() {
    let ns = Namespace::new("env").await;
    let spec = "
  replicas: 1
  image: nginx:1.25
  env:
  - {name: PLAIN, value: a b}
  - {name: COMPOSED, value: 'plain is $(PLAIN)'}
  - {name: EMPTY, value: ''}
  - {name: FROM_MAP, valueFrom: {configMapKeyRef: {name: settings, key: color}}}
  - {name: FROM_SECRET, valueFrom: {secretKeyRef: {name: keys, key: token}}}
  - {name: MISSING, valueFrom: {secretKeyRef: {name: none, key: none, optional: true}}}
  - {name: ITSELF, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
  envFrom:
  - {prefix: MAP_, configMapRef: {name: settings}}
  - {secretRef: {name: keys}}
  - {configMapRef: {name: none, optional: true}}
";
    ns.apply(&my_app("web", spec)).await;
    let message = ns
        .until::<MyApp, _>("web", "the missing ConfigMap in the conditions", |app| {
            app?.not_ready()
                // A busy kubelet may first report that it has not probed the pod yet.
                .filter(|(reason, said)| *reason == "CreateContainerConfigError" && said.contains("not found"))
                .map(|(_, said)| said.to_owned())
        })
        .await;
    assert!(message.contains("settings"), "{message}");
    drop(ns.kubectl(&["create", "configmap", "settings", "--from-literal=color=blue"]).await.ok());
    drop(ns.kubectl(&["create", "secret", "generic", "keys", "--from-literal=token=hush"]).await.ok());
    running_as(&ns, 1, 1).await;
    let seen = ns.kubectl(&["exec", "deployment/web", "--", "env"]).await.ok();
    for line in [
        "PLAIN=a b",
        "COMPOSED=plain is a b",
        "EMPTY=",
        "FROM_MAP=blue",
        "FROM_SECRET=hush",
        &format!("ITSELF={}", ns.name),
        "MAP_color=blue",
        "token=hush",
    ] {
        assert!(seen.lines().any(|seen| seen == line), "{line} is not in the container's environment:\n{seen}");
    }
    assert!(!seen.contains("MISSING"), "{seen}");
    let said = ns.kubectl(&["get", "myapp,deployment,event", "--output=yaml"]).await.ok();
    assert!(
        !said.contains("hush") && !e2e::cluster::manager_log(10_000).await.contains("hush"),
        "a secret was exposed"
    );

    ns.patch("myapp/web", &json!({ "spec": { "env": null, "envFrom": null } })).await;
    running_as(&ns, 2, 1).await;
    let deployment = ns.get::<Deployment>("web").await;
    assert!(container(&deployment).env.is_none() && container(&deployment).env_from.is_none());
}

#[tokio::test]
async fn a_port_makes_a_service_and_a_readiness_probe() {
    let ns = Namespace::new("port").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, port: 80}")).await;
    running_as(&ns, 1, 1).await;
    let deployment = ns.get::<Deployment>("web").await;
    let probe = container(&deployment).readiness_probe.as_ref().and_then(|probe| probe.tcp_socket.as_ref());
    assert_eq!(probe.map(|tcp| &tcp.port), Some(&IntOrString::Int(80)));
    // Through the Service, as the API server finds it.
    let path = format!("/api/v1/namespaces/{}/services/web:80/proxy/", ns.name);
    ns.eventually("a page from behind the Service", || async {
        let page = ns.kubectl(&["get", "--raw", &path]).await;
        if page.success && page.stdout.contains("nginx") { Ok(()) } else { Err(page.stdout + &page.stderr) }
    })
    .await;

    let before = ns.get::<Service>("web").await;
    ns.patch("myapp/web", &json!({ "spec": { "probes": { "readiness": { "httpGet": { "port": 80 } } } } })).await;
    running_as(&ns, 2, 1).await;
    let deployment = ns.get::<Deployment>("web").await;
    let readiness = container(&deployment).readiness_probe.as_ref().expect("the probe given");
    assert!(readiness.tcp_socket.is_none() && readiness.http_get.is_some(), "probes given replace the port's");
    assert_eq!(ns.get::<Service>("web").await.metadata.resource_version, before.metadata.resource_version);

    ns.patch("myapp/web", &json!({ "spec": { "port": null, "probes": null } })).await;
    ns.until_deleted::<Service>("web").await;
    running_as(&ns, 3, 1).await;
    let deployment = ns.get::<Deployment>("web").await;
    assert!(container(&deployment).ports.is_none() && container(&deployment).readiness_probe.is_none());
}

#[tokio::test]
async fn a_disruption_budget_is_created_changed_and_removed() {
    let ns = Namespace::new("budget").await;
    ns.apply(&my_app("web", "{replicas: 0, image: nginx:1.25, disruptionBudget: {maxUnavailable: 1}}")).await;
    let budget = |wanted: (Option<IntOrString>, Option<IntOrString>)| {
        let judge = move |budget: Option<&PodDisruptionBudget>| {
            let spec = budget?.spec.as_ref()?;
            ((&spec.min_available, &spec.max_unavailable) == (&wanted.0, &wanted.1)).then(|| spec.selector.clone())
        };
        ns.until::<PodDisruptionBudget, _>("web", "the disruption budget asked for", judge)
    };
    let selector = budget((None, Some(IntOrString::Int(1)))).await;
    let pods = ns.get::<Deployment>("web").await.spec.expect("a Deployment has a spec").selector;
    assert_eq!(selector, Some(pods), "it means the Deployment's pods");
    ns.apply(&my_app("web", "{replicas: 0, image: nginx:1.25, disruptionBudget: {minAvailable: 50%}}")).await;
    budget((Some(IntOrString::String("50%".into())), None)).await;
    ns.apply(&my_app("web", "{replicas: 0, image: nginx:1.25}")).await;
    ns.until_deleted::<PodDisruptionBudget>("web").await;
    assert!(ns.get::<MyApp>("web").await.status.is_some());
}

#[tokio::test]
async fn probes_and_resources_reach_the_container_and_leave_it() {
    let ns = Namespace::new("probes").await;
    let spec = "
  replicas: 1
  image: nginx:1.25
  probes:
    startup: {exec: {command: [test, -e, /run/nginx.pid]}, periodSeconds: 1, failureThreshold: 60}
    readiness: {httpGet: {path: /, port: 80}, periodSeconds: 1, successThreshold: 2}
    liveness: {tcpSocket: {port: 80}, initialDelaySeconds: 1, timeoutSeconds: 2}
  resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 128Mi, cpu: 1}}
";
    ns.apply(&my_app("web", spec)).await;
    running_as(&ns, 1, 1).await;
    let deployment = ns.get::<Deployment>("web").await;
    let app = container(&deployment);
    let exec = app.startup_probe.as_ref().and_then(|probe| probe.exec.as_ref()?.command.as_deref());
    assert_eq!(exec.map(<[String]>::len), Some(3));
    assert_eq!(app.readiness_probe.as_ref().and_then(|probe| probe.success_threshold), Some(2));
    assert_eq!(app.liveness_probe.as_ref().and_then(|probe| probe.initial_delay_seconds), Some(1));
    let limits = app.resources.as_ref().and_then(|resources| resources.limits.as_ref()).expect("limits");
    assert_eq!((limits["cpu"].0.as_str(), limits["memory"].0.as_str()), ("1", "128Mi"));
    let security = app.security_context.as_ref().expect("a security context");
    assert_eq!(security.allow_privilege_escalation, Some(false));

    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, resources: {requests: {cpu: 10m}}}")).await;
    running_as(&ns, 2, 1).await;
    let deployment = ns.get::<Deployment>("web").await;
    let app = container(&deployment);
    assert!(app.startup_probe.is_none() && app.readiness_probe.is_none() && app.liveness_probe.is_none());
    let resources = app.resources.clone().expect("requests are left");
    assert!(resources.limits.is_none(), "{resources:?}");
    assert_eq!(resources.requests.map(|requests| requests.len()), Some(1));
}

/// Whatever is missing is named, and the pods of before serve on.
#[tokio::test]
async fn files_and_variables_from_missing_sources_are_reported_and_the_old_pods_serve() {
    let ns = Namespace::new("missing").await;
    drop(ns.kubectl(&["create", "configmap", "settings", "--from-literal=color=blue"]).await.ok());
    drop(ns.kubectl(&["create", "secret", "generic", "keys", "--from-literal=token=hush"]).await.ok());
    ns.apply(&my_app("web", "{replicas: 1, image: 'nginx:1.25', port: 80}")).await;
    running_as(&ns, 1, 1).await;
    let before = serving(&ns).await;
    let file = |source: serde_json::Value| {
        let mut file = json!({ "mountPath": "/etc/web" });
        file.as_object_mut().expect("an object").extend(source.as_object().expect("an object").clone());
        json!({ "spec": { "files": [file], "env": null } })
    };
    let variable = json!({ "name": "A", "valueFrom": { "secretKeyRef": { "name": "keys", "key": "none" } } });
    for (patch, expected) in [
        (file(json!({ "configMap": { "name": "none" } })), ["ContainerCreating", "check that ConfigMap none exists"]),
        (file(json!({ "secret": { "name": "none" } })), ["ContainerCreating", "check that Secret none exists"]),
        (
            file(json!({ "configMap": { "name": "settings", "items": [{ "key": "none", "path": "x" }] } })),
            ["ContainerCreating", "ConfigMap settings exists, with the required keys"],
        ),
        (
            json!({ "spec": { "files": null, "env": [variable] } }),
            ["CreateContainerConfigError", "couldn't find key none"],
        ),
    ] {
        ns.patch("myapp/web", &patch).await;
        let what = format!("{expected:?} in the conditions");
        ns.until::<MyApp, _>("web", &what, |app| {
            let app = app?;
            let contract =
                app.contract().filter(|said| said.observed_generation == app.metadata.generation.unwrap_or(-1))?;
            let reported = |part: &&str| {
                contract.conditions.iter().any(|of| of.reason.contains(*part) || of.message.contains(*part))
            };
            expected.iter().all(reported).then_some(())
        })
        .await;
        assert_eq!(serving(&ns).await, before, "{patch}");
    }
    ns.patch("myapp/web", &json!({ "spec": { "files": null, "env": null } })).await;
    running(&ns, 1).await;
    assert_eq!(serving(&ns).await, before, "they are as asked for again");
}
