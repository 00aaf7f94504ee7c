//! Converged objects cause no writes, whatever a valid spec says and however the API server normalizes it.
//!
//! Specs are drawn at random (MULTI_OPERATOR_SEED repeats them) from values that API servers rewrite, default or drop. Once all
//! objects have converged, the manager writes nothing for them: not after an irrelevant edit, and not after a restart.

use std::time::Duration;

use api::my_app::{MyApp, MyAppPhase};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, phase};
use kube::api::{DeleteParams, ListParams, PostParams};
use proptest::prelude::Rng;
use proptest::test_runner::TestRng;
use serde_json::{Value, json};

use crate::manifest::my_app;
use crate::writes::{calls, lines, settled, to, writes};

const SPECS: usize = 30;
/// How long silence is listened to.
const SILENCE: Duration = Duration::from_secs(30);

/// What draws values, always the same for the same seed.
struct Dice(TestRng);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.next_u64() % end as u64).expect("it is below a usize")
    }

    fn of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }

    fn sometimes(&mut self) -> bool {
        self.0.next_u64().is_multiple_of(2)
    }
}

/// An optional field, and how its value is drawn.
type Field = (&'static str, fn(&mut Dice) -> Value);

fn spec(dice: &mut Dice) -> Value {
    let digest = format!("nginx@sha256:{}", "0a".repeat(32));
    let mut spec =
        json!({ "replicas": 0, "image": dice.of(&["nginx:1.25", "nginx", "docker.io/library/nginx:1.26", &digest]) });
    let fields: [Field; 8] = [
        ("port", |dice| json!(dice.of(&[1, 80, 8080, 65535]))),
        ("env", env),
        ("envFrom", env_from),
        ("resources", resources),
        ("probes", probes),
        ("disruptionBudget", |dice| {
            let amount = dice.of(&[json!(0), json!(1), json!("0%"), json!("50%"), json!("100%")]).clone();
            json!({ *dice.of(&["minAvailable", "maxUnavailable"]): amount })
        }),
        ("security", |dice| json!(dice.of(&["Baseline", "Restricted"]))),
        ("paused", |_| json!(false)),
    ];
    for (field, value) in fields {
        if dice.sometimes() {
            spec[field] = value(dice);
        }
    }
    spec
}

fn env(dice: &mut Dice) -> Value {
    let sources = [
        json!({ "value": "" }),
        json!({}),
        json!({ "value": "plain" }),
        json!({ "value": " blanks and \"quotes\"\n$(OTHER) $$(NOT) ✓ " }),
        json!({ "value": "true" }),
        json!({ "value": "1e3" }),
        json!({ "valueFrom": { "configMapKeyRef": { "name": "map", "key": "key" } } }),
        json!({ "valueFrom": { "configMapKeyRef": { "name": "map", "key": "key", "optional": false } } }),
        json!({ "valueFrom": { "secretKeyRef": { "name": "secret", "key": "key", "optional": true } } }),
        json!({ "valueFrom": { "fieldRef": { "fieldPath": "status.podIP" } } }),
        json!({ "valueFrom": { "fieldRef": { "fieldPath": "metadata.labels['app.kubernetes.io/name']" } } }),
    ];
    let names = ["Z", "A_B", "a.b-c", "_under", "OTHER", "m"];
    let mut list = Vec::new();
    for name in names.iter().take(dice.below(names.len() + 1)) {
        let mut variable = dice.of(&sources).clone();
        variable["name"] = json!(name);
        list.push(variable);
    }
    Value::Array(list)
}

fn env_from(dice: &mut Dice) -> Value {
    let all = [
        json!({ "configMapRef": { "name": "map" } }),
        json!({ "prefix": "P_", "configMapRef": { "name": "map", "optional": true } }),
        json!({ "secretRef": { "name": "secret", "optional": false } }),
        json!({ "secretRef": { "name": "secret" } }),
    ];
    Value::Array((0..dice.below(4)).map(|_| dice.of(&all).clone()).collect())
}

fn resources(dice: &mut Dice) -> Value {
    let cpu = [
        json!("1000m"),
        json!("0.5"),
        json!(1),
        json!("1"),
        json!("250m"),
        json!("0.1"),
        json!("1e-1"),
        json!("100000u"),
    ];
    let memory = [
        json!("1Gi"),
        json!("1024Mi"),
        json!("1073741824"),
        json!(134_217_728),
        json!("128974848"),
        json!("129e6"),
        json!("129M"),
        json!("1.5Gi"),
        json!("0"),
    ];
    let mut resources = json!({});
    if dice.sometimes() {
        resources["requests"] = json!({ "cpu": dice.of(&cpu), "memory": dice.of(&memory) });
    }
    if dice.sometimes() {
        // Above every request; with one that is a limit alone, which the API server copies to the requests of pods.
        resources["limits"] = json!({ "cpu": dice.of(&[json!(2), json!("2000m"), json!("2.0")]), "memory": dice.of(&[json!("2Gi"), json!("2048Mi"), json!("3e9")]), "ephemeral-storage": "1G" });
    }
    if dice.sometimes() && resources["limits"].is_object() {
        resources["requests"] = json!({});
    }
    resources
}

fn probes(dice: &mut Dice) -> Value {
    let mut probes = json!({});
    for kind in ["startup", "readiness", "liveness"] {
        if dice.sometimes() {
            probes[kind] = probe(dice, kind == "readiness");
        }
    }
    probes
}

fn probe(dice: &mut Dice, readiness: bool) -> Value {
    let mut probe = dice
        .of(&[
            json!({ "httpGet": { "port": 80 } }),
            json!({ "httpGet": { "path": "", "port": 8080 } }),
            json!({ "httpGet": { "path": "/healthz?full=1", "port": 443, "scheme": "HTTPS" } }),
            json!({ "httpGet": { "path": "/", "port": 80, "scheme": "HTTP" } }),
            json!({ "tcpSocket": { "port": 80 } }),
            json!({ "exec": { "command": ["cat", "", "/tmp/a b"] } }),
            json!({ "grpc": { "port": 9000 } }),
            json!({ "grpc": { "port": 9000, "service": "" } }),
            json!({ "grpc": { "port": 9000, "service": "ready" } }),
        ])
        .clone();
    // The first of each is the API server's default.
    let timings = [
        ("initialDelaySeconds", [0, 1]),
        ("periodSeconds", [10, 1]),
        ("timeoutSeconds", [1, 5]),
        ("failureThreshold", [3, 30]),
    ];
    for (field, values) in timings {
        if dice.sometimes() {
            probe[field] = json!(dice.of(&values));
        }
    }
    if dice.sometimes() {
        probe["successThreshold"] = json!(if readiness { *dice.of(&[1, 2]) } else { 1 });
    }
    probe
}

#[tokio::test]
async fn converged_objects_cause_no_writes() {
    let mut ns = Namespace::new("specs").await;
    let audit = cluster::audit();
    let mut dice = Dice(seed::rng!());
    let apps = ns.api::<MyApp>();
    let mut specs = Vec::new();
    for i in 0..SPECS {
        let (name, spec) = (format!("app-{i}"), spec(&mut dice));
        let app =
            json!({ "apiVersion": "example.com/v1", "kind": "MyApp", "metadata": { "name": name }, "spec": spec });
        let app: MyApp = serde_json::from_value(app).unwrap_or_else(|error| panic!("{spec} is no MyApp: {error}"));
        apps.create(&PostParams::default(), &app).await.unwrap_or_else(|error| panic!("{spec} was refused: {error}"));
        specs.push(spec);
    }
    for (i, spec) in specs.iter().enumerate() {
        ns.until::<MyApp, ()>(&format!("app-{i}"), &format!("{spec} to be done"), |app| {
            (app?.is_ready() && phase(app?) == Some(MyAppPhase::ScaledToZero)).then_some(())
        })
        .await;
    }
    settled(&audit, &ns).await;
    let first = writes(&audit, &ns);
    let created = to(&first, "deployments").len();
    assert_eq!(created, SPECS, "one write makes a Deployment:\n{}", lines(&first));

    let mark = audit.mark().expect("the audit log is there");
    drop(ns.kubectl(&["annotate", "myapps", "--all", "irrelevant=yes"]).await.ok());
    tokio::time::sleep(SILENCE).await;
    quiet(&mark, &ns, &specs, "after an irrelevant annotation");
    // Lists of a kind, or reads here: while members of an EtcdCluster join, the manager has to read single objects.
    let owned =
        |call: &e2e::call::Call| call.verb == "list" && (call.namespace.is_empty() || call.namespace == ns.name);
    let lists: Vec<_> = mark.calls().expect("the audit log can be read").into_iter().filter(owned).collect();
    assert!(lists.is_empty(), "idle, something was listed:\n{}", lines(&lists));

    ns.be_alone().await;
    let mark = audit.mark().expect("the audit log is there");
    restart_manager(&ns).await;
    settled(&mark, &ns).await;
    quiet(&mark, &ns, &specs, "after the manager's restart");
}

/// Fails naming the specs of the objects that were written to.
fn quiet(mark: &e2e::audit::Audit, ns: &Namespace, specs: &[Value], when: &str) {
    let written: Vec<_> = writes(mark, ns).into_iter().filter(|call| call.name != "probe").collect();
    let whose: Vec<_> =
        specs.iter().enumerate().filter(|(i, _)| written.iter().any(|call| call.name == format!("app-{i}"))).collect();
    assert!(written.is_empty(), "{when}, there were writes:\n{}\nfor {whose:#?}", lines(&written));
    println!(
        "{when}: 0 writes, {} other requests in the namespace",
        calls(mark, ns).iter().filter(|call| !call.is_write()).count()
    );
}

/// Replaces the manager's pod, and waits until the new one has worked off its queue.
async fn restart_manager(ns: &Namespace) {
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> = kube::Api::namespaced(ns.client.clone(), cluster::SYSTEM);
    let manager = ListParams::default().labels("app.kubernetes.io/component=manager");
    let old = pods.list(&manager).await.expect("pods can be listed");
    for pod in &old.items {
        let name = pod.metadata.name.as_deref().expect("a pod has a name");
        pods.delete(name, &DeleteParams::default()).await.expect("a pod can be deleted");
    }
    ns.eventually("the old manager to be deleted", || async {
        let now = pods.list(&manager).await.map_err(|error| error.to_string())?;
        let left = now.items.iter().any(|pod| old.items.iter().any(|old| old.metadata.uid == pod.metadata.uid));
        if left { Err("it is still there".to_owned()) } else { Ok(()) }
    })
    .await;
    cluster::start_manager(&ns.client).await;
    // Queues are processed in order, so everything that was queued earlier is done.
    ns.apply(&my_app("probe", "{replicas: 0, image: nginx:1.25}")).await;
    ns.until::<MyApp, ()>("probe", "the new manager to work", |app| app?.is_ready().then_some(())).await;
}
