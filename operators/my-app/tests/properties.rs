//! MyApp in a cluster in memory: whatever happens on the way, it ends as a fresh one of the same spec would, then is
//! silent; and nothing of a stranger's is ever touched.

use std::sync::Arc;

use my_app::{MyApp, MyAppOperator, plan};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use runtime::cache::{Cache, Entry, Store, View};
use runtime::plan::{Key, Kind};
use runtime::testing::{NOW, World};
use runtime::views::{Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, Pod, Service};
use serde_json::{Value, json};

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// The user edits the spec.
    Edit(Value),
    /// The user asks for a restart.
    Restart(u8),
    /// The stores see that many events, then the operator makes a pass, and dies after that many writes.
    Pass { sees: usize, lives: Option<usize> },
    /// The Deployment's own controller gets that far.
    Rollout { ready: i32 },
    /// What `restartOn` names changes, or cannot be read for a while.
    Content(Option<u8>),
    /// Somebody changes a field of ours in a child.
    HandEdit(Child),
    /// Somebody adds to a child where all is ours.
    HandAdd(Child),
    /// Somebody deletes a child.
    HandDelete(Child),
    /// The user deletes the MyApp and makes it again at once.
    Recreate,
    /// A Service of that name appears that is not ours, if there is none.
    Stranger,
}

#[derive(Clone, Copy, Debug)]
enum Child {
    Deployment,
    Service,
    Budget,
    Ingress,
    HttpRoute,
}

impl Child {
    fn kind(self) -> Kind {
        match self {
            Self::Deployment => Deployment::KIND,
            Self::Service => Service::KIND,
            Self::Budget => DisruptionBudget::KIND,
            Self::Ingress => Ingress::KIND,
            Self::HttpRoute => HttpRoute::KIND,
        }
    }
}

fn spec() -> impl Strategy<Value = Value> {
    let replicas = prop_oneof![Just(Value::Null), (0..4).prop_map(Value::from)];
    let port = prop_oneof![Just(Value::Null), Just(json!(80)), Just(json!(8080))];
    let budget =
        prop_oneof![Just(Value::Null), Just(json!({ "minAvailable": 1 })), Just(json!({ "maxUnavailable": "25%" }))];
    let env =
        prop_oneof![Just(json!([])), Just(json!([{ "name": "A", "value": "1" }])), Just(json!([{ "name": "A" }]))];
    let strategy = prop_oneof![
        3 => Just(Value::Null),
        1 => Just(json!({ "type": "Recreate" })),
        1 => Just(json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": "10%" } })),
    ];
    let files = prop_oneof![
        2 => Just(json!([])),
        1 => Just(json!([{ "mountPath": "/etc/app", "configMap": { "name": "settings" } }])),
        1 => Just(json!([{ "mountPath": "/etc/app", "secret": { "name": "keys" } }])),
    ];
    let service = prop_oneof![
        2 => Just(Value::Null),
        1 => Just(json!({ "type": "NodePort" })),
        1 => Just(json!({ "type": "LoadBalancer", "annotations": { "pool": "blue" } })),
    ];
    let route = prop_oneof![
        3 => Just(Value::Null),
        1 => Just(json!({ "host": "a.b" })),
        1 => Just(json!({ "host": "a.b", "tlsSecret": "a" })),
        1 => Just(json!({ "host": "a.b", "gateway": { "name": "public" } })),
    ];
    let restart_on = prop_oneof![2 => Just(json!([])), 1 => Just(json!([{ "configMapRef": { "name": "settings" } }]))];
    let pods = (overrides(), restart_on);
    let ways_in = (service, route);
    (0..3, replicas, port, budget, env, prop::bool::weighted(0.1), strategy, files, ways_in, pods).prop_map(
        |(image, replicas, port, budget, env, paused, strategy, files, (service, route), (overrides, restart_on))| {
            json!({
                "image": format!("app:{image}"), "replicas": replicas, "port": port, "disruptionBudget": budget,
                "env": env, "paused": paused, "strategy": strategy, "files": files, "service": service,
                "route": route, "podOverrides": overrides, "restartOn": restart_on,
            })
        },
    )
}

/// Some of them are refused.
fn overrides() -> impl Strategy<Value = Value> {
    let spread = json!([{ "maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule" }]);
    prop_oneof![
        4 => Just(Value::Null),
        1 => Just(json!({ "metadata": { "labels": { "team": "a" } }, "spec": { "tolerations": [{ "operator": "Exists" }] } })),
        1 => Just(json!({ "metadata": { "annotations": { "a": "b" } }, "spec": { "topologySpreadConstraints": spread } })),
        1 => Just(json!({ "spec": { "topologySpreadConstraints": [], "schedulerName": "other" } })),
        1 => Just(json!({ "spec": { "unknown": 1 } })),
        1 => Just(json!({ "spec": { "hostNetwork": true } })),
    ]
}

fn child() -> impl Strategy<Value = Child> {
    prop_oneof![
        Just(Child::Deployment),
        Just(Child::Service),
        Just(Child::Budget),
        Just(Child::Ingress),
        Just(Child::HttpRoute),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => spec().prop_map(Step::Edit),
        1 => any::<u8>().prop_map(Step::Restart),
        8 => (0..6_usize, prop::option::of(0..4_usize)).prop_map(|(sees, lives)| Step::Pass { sees, lives }),
        3 => (0..4).prop_map(|ready| Step::Rollout { ready }),
        1 => prop::option::of(0..3_u8).prop_map(Step::Content),
        1 => child().prop_map(Step::HandEdit),
        1 => child().prop_map(Step::HandAdd),
        1 => child().prop_map(Step::HandDelete),
        1 => Just(Step::Recreate),
        1 => Just(Step::Stranger),
    ]
}

/// What the API server takes, and an apply would leave or be refused for.
fn add_to(child: Child, spec: &mut Value) {
    match child {
        Child::Service => {
            spec["type"] = json!("LoadBalancer");
            spec["selector"]["x"] = json!("y");
            if let Some(ports) = spec["ports"].as_array_mut() {
                ports[0]["port"] = json!(81);
                ports.push(json!({ "name": "more", "port": 82, "protocol": "UDP" }));
            }
        }
        Child::Deployment => {
            spec["minReadySeconds"] = json!(3);
            spec["template"]["spec"]["serviceAccountName"] = json!("root");
            spec["template"]["spec"]["containers"][0]["command"] = json!(["sleep"]);
            spec["template"]["spec"]["containers"][0]["lifecycle"] =
                json!({ "preStop": { "sleep": { "seconds": 1 } } });
        }
        Child::Budget => {
            drop(spec.as_object_mut().map(|spec| spec.remove("minAvailable")));
            spec["maxUnavailable"] = json!(3);
        }
        Child::Ingress => {
            spec["tls"] = json!([{ "secretName": "theirs" }]);
            spec["defaultBackend"] = json!({ "service": { "name": "theirs" } });
        }
        Child::HttpRoute => spec["hostnames"] = json!(["theirs.example.com"]),
    }
}

struct Bench {
    world: World,
    operator: MyAppOperator,
    apps: Arc<Store<MyApp>>,
    key: Key,
    /// What is read of the objects that `restartOn` names, if it can be read.
    content: Option<u8>,
}

impl Bench {
    fn new(app: Value) -> Self {
        let mut cache = Cache::new(&[]);
        let operator = MyAppOperator::new(&mut cache);
        let apps = cache.store::<MyApp>();
        let mut world = World::default();
        world.feed(&apps);
        world.feed(&cache.store::<Deployment>());
        world.feed(&cache.store::<Service>());
        world.feed(&cache.store::<DisruptionBudget>());
        world.feed(&cache.store::<Autoscaler>());
        world.feed(&cache.store::<Ingress>());
        world.feed(&cache.store::<HttpRoute>());
        world.feed(&cache.store::<Pod>());
        let key = Key::new("n", "app");
        world.create(MyApp::KIND, &key, app);
        Self { world, operator, apps, key, content: Some(0) }
    }

    fn take(&mut self, step: Step) {
        let key = self.key.clone();
        match step {
            Step::Edit(spec) => self.world.edit(MyApp::KIND, &key, |app| app["spec"] = spec),
            Step::Restart(at) => self.world.edit(MyApp::KIND, &key, |app| {
                app["metadata"]["annotations"] = json!({ "kubectl.kubernetes.io/restartedAt": at.to_string() });
            }),
            Step::Pass { sees, lives } => {
                self.world.deliver(sees);
                self.world.lifetime = lives;
                self.pass();
                self.world.lifetime = None;
            }
            Step::Rollout { ready } => self.roll_out(ready),
            Step::Content(content) => self.content = content,
            Step::HandEdit(child) => self.world.edit(child.kind(), &key, |child| {
                if child["metadata"]["labels"].is_object() {
                    child["metadata"]["labels"]["app.kubernetes.io/instance"] = json!("edited");
                }
                if child["spec"]["replicas"].is_number() {
                    child["spec"]["replicas"] = json!(7);
                    child["spec"]["paused"] = json!(true);
                }
            }),
            Step::HandAdd(child) if !self.is_strangers(child) => {
                self.world.edit_by_hand(child.kind(), &key, |live| add_to(child, &mut live["spec"]));
            }
            Step::HandAdd(_) => {}
            Step::HandDelete(child) if !self.is_strangers(child) => self.world.remove(child.kind(), &key),
            Step::HandDelete(_) => {}
            Step::Recreate => {
                let Some(app) = self.world.get(MyApp::KIND, &key).cloned() else { return };
                self.world.remove(MyApp::KIND, &key);
                self.world.create(MyApp::KIND, &key, json!({ "metadata": {}, "spec": app["spec"] }));
            }
            Step::Stranger => {
                if self.world.get(Service::KIND, &key).is_none() {
                    self.world.create(Service::KIND, &key, json!({ "metadata": {}, "spec": { "stranger": true } }));
                }
            }
        }
    }

    fn is_strangers(&self, child: Child) -> bool {
        self.world.get(child.kind(), &self.key).is_some_and(|child| child["spec"]["stranger"] == true)
    }

    /// One pass over what the stores hold.
    fn pass(&mut self) {
        if let Some(Entry::Object(app)) = self.apps.get(&self.key) {
            let mut observed = self.operator.look(&app);
            observed.contents.digest = self.content.map(|content| content.to_string());
            let planned = plan::plan(&observed, NOW);
            drop(self.world.pass(&*app, planned));
            self.complete();
        }
    }

    /// What the API server makes of a Deployment: it keeps no pause that is none, fills in type and pace of its strategy, and
    /// refuses Recreate beside a pace.
    fn complete(&mut self) {
        let Some(deployment) = self.world.get(Deployment::KIND, &self.key) else { return };
        let resumed = deployment["spec"]["paused"] == false;
        let before = &deployment["spec"]["strategy"];
        let mut strategy = if before.is_object() { before.clone() } else { json!({}) };
        let pace = strategy["rollingUpdate"].as_object().cloned().unwrap_or_default();
        if strategy["type"] == "Recreate" && pace.is_empty() {
            drop(strategy.as_object_mut().map(|strategy| strategy.remove("rollingUpdate")));
        } else {
            strategy["type"] = json!("RollingUpdate");
            for value in ["maxSurge", "maxUnavailable"] {
                strategy["rollingUpdate"][value] = pace.get(value).cloned().unwrap_or_else(|| json!("25%"));
            }
        }
        if resumed || strategy != *before {
            self.world.edit(Deployment::KIND, &self.key.clone(), |deployment| {
                deployment["spec"]["strategy"] = strategy;
                if resumed {
                    drop(deployment["spec"].as_object_mut().map(|spec| spec.remove("paused")));
                }
            });
        }
    }

    /// The Deployment's own controller.
    fn roll_out(&mut self, at_most: i32) {
        self.world.edit(Deployment::KIND, &self.key.clone(), |deployment| {
            let wanted = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
            let ready = wanted.min(i64::from(at_most));
            deployment["status"] = json!({
                "observedGeneration": deployment["metadata"]["generation"],
                "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": ready,
            });
        });
    }

    /// Lets everything come to rest, without faults.
    fn settle(&mut self) {
        if self.is_strangers(Child::Service) {
            self.world.remove(Service::KIND, &self.key.clone());
        }
        for round in 0..8 {
            // A way in that another has taken the place of goes only then.
            if round == 4 {
                self.world.now += jiff::SignedDuration::from_secs(10);
            }
            self.world.collect_garbage();
            self.world.deliver_all();
            self.pass();
            self.roll_out(i32::MAX);
        }
        self.world.deliver_all();
    }
}

/// By this name `scripts/test --all schedules` finds them.
mod properties {
    use super::*;

    proptest! {
        #![proptest_config(seed::properties!(400))]

        /// Crashes between any two effects, stale stores, edits by hand, strangers: the end is that of a fresh MyApp.
        #[test]
        fn ends_like_a_fresh_one_and_then_is_silent(
            first in spec(),
            steps in prop::collection::vec(step(), 0..40),
            mut last in spec(),
            replicas in 0..4,
        ) {
            let mut bench = Bench::new(json!({ "metadata": {}, "spec": first }));
            for step in steps {
                let strangers = bench.is_strangers(Child::Service).then(|| bench.world.get(Service::KIND, &bench.key).cloned());
                let by_hand = matches!(step, Step::HandEdit(Child::Service));
                bench.take(step);
                if let Some(stranger) = strangers.filter(|_| !by_hand) {
                    prop_assert_eq!(bench.world.get(Service::KIND, &bench.key).cloned(), stranger, "a stranger was touched");
                }
            }
            last["replicas"] = json!(replicas);
            last["paused"] = json!(false);
            let refused = |spec: &Value| ["unknown", "hostNetwork"].iter().any(|field| !spec["podOverrides"]["spec"][field].is_null());
            if refused(&last) {
                last["podOverrides"] = Value::Null;
            }
            bench.take(Step::Content(Some(7)));
            bench.take(Step::Edit(last));
            bench.settle();
            let app = bench.world.get(MyApp::KIND, &bench.key).cloned().expect("nobody deleted it for good");
            let annotations = app["metadata"].get("annotations").cloned();
            let metadata = annotations.map_or_else(|| json!({}), |annotations| json!({ "annotations": annotations }));
            let mut fresh = Bench::new(json!({ "metadata": metadata, "spec": app["spec"] }));
            fresh.content = bench.content;
            fresh.settle();
            prop_assert_eq!(without_status_generation(&bench.world), without_status_generation(&fresh.world));

            let writes = bench.world.writes;
            bench.pass();
            prop_assert_eq!(bench.world.writes, writes, "a converged MyApp is silent");
            let phase = if replicas == 0 { "ScaledToZero" } else { "Running" };
            prop_assert_eq!(&app["status"]["phase"], phase);
        }

        /// Every crash point: the operator dies after each number of writes, and another one takes over.
        #[test]
        fn any_crash_point_converges(spec in spec()) {
            let mut whole = Bench::new(json!({ "metadata": {}, "spec": spec }));
            whole.settle();
            for lives in 0..whole.world.writes {
                let mut bench = Bench::new(json!({ "metadata": {}, "spec": spec }));
                bench.take(Step::Pass { sees: 9, lives: Some(lives) });
                bench.settle();
                prop_assert_eq!(without_status_generation(&bench.world), without_status_generation(&whole.world));
            }
        }
    }
}

/// What a type needed goes with it, also from a Service that was made with it.
#[test]
fn a_service_of_other_types_ends_like_a_fresh_one() {
    let with = |service: Value| json!({ "image": "app", "port": 80, "replicas": 1, "service": service });
    let balanced = || with(json!({ "type": "LoadBalancer", "annotations": { "pool": "blue" } }));
    let (node_port, plain) = (|| with(json!({ "type": "NodePort" })), || with(Value::Null));
    for specs in [vec![balanced(), node_port()], vec![balanced(), plain(), node_port(), plain()]] {
        let mut fresh = Bench::new(json!({ "metadata": {}, "spec": specs.last() }));
        fresh.settle();
        let mut bench = Bench::new(json!({ "metadata": {}, "spec": specs[0] }));
        bench.settle();
        for spec in specs {
            bench.take(Step::Edit(spec));
            bench.settle();
        }
        assert_eq!(without_status_generation(&bench.world), without_status_generation(&fresh.world));
    }
}

/// Nothing but the seed decides what happens: steps that are drawn again lead to the same world.
#[test]
fn a_seed_repeats_its_worlds() {
    let worlds = |seed| {
        let mut runner = seed::runner_of(seed);
        [(); 20].map(|()| {
            let drawn = (spec(), prop::collection::vec(step(), 0..40)).new_tree(&mut runner).expect("steps");
            let (spec, steps) = drawn.current();
            let mut bench = Bench::new(json!({ "metadata": {}, "spec": spec }));
            steps.into_iter().for_each(|step| bench.take(step));
            (bench.world.content(), bench.world.writes)
        })
    };
    let seed = seed::seed();
    assert_eq!(worlds(seed), worlds(seed));
    assert_ne!(worlds(7), worlds(8));
}

/// The content of a world without the generations that its history left in status.
fn without_status_generation(world: &World) -> Value {
    let mut content: Value = world.content().into_iter().collect();
    for object in content.as_object_mut().into_iter().flat_map(|objects| objects.values_mut()) {
        // The API server keeps none that is empty.
        if object["metadata"]["annotations"] == json!({}) {
            object["metadata"].as_object_mut().map(|metadata| metadata.remove("annotations"));
        }
        if let Some(status) = object["status"].as_object_mut() {
            status.remove("observedGeneration");
            for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
                condition.as_object_mut().map(|condition| condition.remove("observedGeneration"));
            }
        }
    }
    content
}
