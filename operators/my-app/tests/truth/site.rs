//! A MyApp, a Deployment's controller and a kubelet in a cluster in memory, and the operator over stores that are behind.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use jiff::ToSpan;
use my_app::{MyApp, MyAppOperator, plan};
use proptest::prelude::*;
use runtime::cache::{Cache, Entry, Store, View};
use runtime::plan::{Key, Kind};
use runtime::testing::World;
use runtime::views::{Deployment, DisruptionBudget, Pod, Service};
use serde_json::{Value, json};

use crate::judge::Sample;

const REPLICA_SETS: Kind = Kind { group: "apps", version: "v1", kind: "ReplicaSet", plural: "replicasets" };

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Step {
    /// The user edits the spec.
    Edit(Value),
    /// The stores see that many events, and what the operator wrote itself; then it makes a pass.
    Pass { sees: usize },
    /// The Deployment's controller looks; a quota may refuse it pods.
    Look { refused: bool },
    /// The kubelet gets to that pod.
    Kubelet(usize, State),
    /// The rollout has had its time.
    TimeOut,
    /// Somebody changes the Deployment's image.
    HandEdit,
    /// Somebody deletes the Deployment.
    HandDelete,
    /// A Service of the name appears that is not ours, or goes.
    Stranger,
}

/// How a container is.
#[derive(Clone, Copy, Debug)]
pub enum State {
    Ready,
    PullFails,
    Ended,
    EndsAgain,
}

impl Step {
    /// A pass that has seen all.
    pub fn see_all() -> Self {
        Self::Pass { sees: usize::MAX }
    }

    /// That pod becomes ready.
    pub fn ready(pod: usize) -> Self {
        Self::Kubelet(pod, State::Ready)
    }
}

pub fn spec() -> impl Strategy<Value = Value> {
    let replicas = prop_oneof![1 => Just(Value::Null), 6 => (0..3).prop_map(Value::from)];
    let port = prop_oneof![2 => Just(Value::Null), 1 => Just(json!(80)), 1 => Just(json!(81))];
    let budget = prop_oneof![3 => Just(Value::Null), 1 => Just(json!({ "minAvailable": 1 }))];
    let rollback = prop_oneof![Just(json!("None")), Just(json!("Automatic"))];
    (0..3, replicas, port, budget, rollback, prop::bool::weighted(0.05)).prop_map(
        |(image, replicas, port, budget, rollback, paused)| {
            json!({ "image": format!("app:{image}"), "replicas": replicas, "port": port, "disruptionBudget": budget,
                "rollback": rollback, "progressDeadlineSeconds": 10, "paused": paused })
        },
    )
}

pub fn step() -> impl Strategy<Value = Step> {
    let state = prop_oneof![
        6 => Just(State::Ready),
        1 => Just(State::PullFails),
        1 => Just(State::Ended),
        1 => Just(State::EndsAgain),
    ];
    prop_oneof![
        3 => spec().prop_map(Step::Edit),
        8 => (0..8_usize).prop_map(|sees| Step::Pass { sees }),
        4 => Just(Step::see_all()),
        9 => prop::bool::weighted(0.15).prop_map(|refused| Step::Look { refused }),
        9 => (0..4_usize, state).prop_map(|(pod, state)| Step::Kubelet(pod, state)),
        2 => Just(Step::TimeOut),
        1 => Just(Step::HandEdit),
        1 => Just(Step::HandDelete),
        1 => Just(Step::Stranger),
    ]
}

/// The ReplicaSet of a Deployment's template.
fn replica_set(deployment: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    deployment["spec"]["template"].to_string().hash(&mut hasher);
    format!("app-{:x}", hasher.finish())
}

pub struct Site {
    world: World,
    operator: MyAppOperator,
    apps: Arc<Store<MyApp>>,
    key: Key,
    made: usize,
}

impl Site {
    pub fn new(spec: &Value) -> Self {
        let mut cache = Cache::new(&[]);
        let operator = MyAppOperator::new(&mut cache);
        let apps = cache.store::<MyApp>();
        let mut world = World::default();
        world.feed(&apps);
        world.feed(&cache.store::<Deployment>());
        world.feed(&cache.store::<Service>());
        world.feed(&cache.store::<DisruptionBudget>());
        world.feed(&cache.store::<Pod>());
        let key = Key::new("n", "app");
        world.create(MyApp::KIND, &key, json!({ "metadata": {}, "spec": spec }));
        Self { world, operator, apps, key, made: 0 }
    }

    /// Does it. A pass that has said something is told of.
    pub fn take(&mut self, step: Step) -> Option<Sample> {
        let key = self.key.clone();
        self.world.now += 1.seconds();
        match step {
            Step::Edit(spec) => self.world.edit(MyApp::KIND, &key, |app| app["spec"] = spec),
            Step::Pass { sees } => {
                self.world.catch_up();
                self.world.deliver(sees);
                return self.pass();
            }
            Step::Look { refused } => self.look(refused),
            Step::Kubelet(number, state) => self.kubelet(number, state),
            Step::TimeOut => self.time_out(),
            Step::HandEdit => self.world.edit(Deployment::KIND, &key, |live| {
                live["spec"]["template"]["spec"]["containers"][0]["image"] = json!("app:by-hand");
            }),
            Step::HandDelete => self.world.remove(Deployment::KIND, &key),
            Step::Stranger => match self.world.get(Service::KIND, &key) {
                None => self.world.create(Service::KIND, &key, json!({ "metadata": {}, "spec": { "stranger": true } })),
                Some(service) if service["spec"]["stranger"] == true => self.world.remove(Service::KIND, &key),
                Some(_) => {}
            },
        }
        None
    }

    fn version(&self, kind: Kind) -> Value {
        self.world.get(kind, &self.key).map_or(Value::Null, |live| live["metadata"]["resourceVersion"].clone())
    }

    /// As the stores showed it, or as this pass has written it. What is not this MyApp's is none.
    fn child(&self, kind: Kind, before: &Value, app: &Value) -> (Option<Value>, bool) {
        let wrote = self.version(kind) != *before;
        let seen = if wrote { self.world.get(kind, &self.key) } else { self.world.shown(kind, &self.key) };
        let ours = seen.filter(|child| child["metadata"]["ownerReferences"][0]["uid"] == app["metadata"]["uid"]);
        (ours.cloned(), wrote)
    }

    fn pass(&mut self) -> Option<Sample> {
        let Some(Entry::Object(object)) = self.apps.get(&self.key) else { return None };
        let app = self.world.shown(MyApp::KIND, &self.key).cloned()?;
        let before = [Deployment::KIND, Service::KIND, DisruptionBudget::KIND].map(|kind| self.version(kind));
        let status = self.version(MyApp::KIND);
        let pods = self.world.all_shown(Pod::KIND).cloned().collect();
        drop(self.world.pass(&*object, plan::plan(&self.operator.look(&object), self.world.now)));
        if self.version(MyApp::KIND) == status {
            return None;
        }
        let (deployment, wrote_deployment) = self.child(Deployment::KIND, &before[0], &app);
        let (service, _) = self.child(Service::KIND, &before[1], &app);
        let (budget, _) = self.child(DisruptionBudget::KIND, &before[2], &app);
        let strangers = |kind| {
            let live = self.world.get(kind, &self.key);
            live.is_some_and(|live| live["metadata"]["ownerReferences"][0]["uid"] != app["metadata"]["uid"])
        };
        let sample = Sample {
            status: self.world.get(MyApp::KIND, &self.key)?["status"].clone(),
            name_taken: [Deployment::KIND, Service::KIND, DisruptionBudget::KIND].into_iter().any(strangers),
            replica_set: deployment.as_ref().map(replica_set).unwrap_or_default(),
            app,
            deployment,
            service,
            budget,
            pods,
            wrote_deployment,
        };
        Some(sample).filter(Sample::says_something)
    }

    fn pods(&self) -> Vec<(Key, String)> {
        let of = |pod: &Value| pod["metadata"]["ownerReferences"][0]["name"].as_str().unwrap_or_default().to_owned();
        self.world.all(Pod::KIND).map(|(key, pod)| (key.clone(), of(pod))).collect()
    }

    /// The Deployment's controller: one step towards as many pods of its template, and what it says of that.
    fn look(&mut self, refused: bool) {
        let Some(live) = self.world.get(Deployment::KIND, &self.key).cloned() else { return };
        let (set, wanted) = (replica_set(&live), live["spec"]["replicas"].as_u64().unwrap_or(1));
        let wanted = usize::try_from(wanted).expect("a few");
        let set_key = self.key.sibling(&set);
        if self.world.get(REPLICA_SETS, &set_key).is_none() {
            let owner = json!([{ "apiVersion": "apps/v1", "kind": "Deployment", "name": &*self.key.name,
                "uid": live["metadata"]["uid"], "controller": true }]);
            self.world.create(REPLICA_SETS, &set_key, json!({ "metadata": { "ownerReferences": owner } }));
        }
        let mut present = 0;
        for (pod, of) in self.pods() {
            present += usize::from(of == set);
            if of != set || present > wanted {
                self.world.remove(Pod::KIND, &pod);
            }
        }
        if !refused {
            let uid = self.world.get(REPLICA_SETS, &set_key).map_or(Value::Null, |set| set["metadata"]["uid"].clone());
            (present..wanted).for_each(|_| self.make_pod(&live, &set, &uid));
        }
        let pods: Vec<&Value> = self.world.all(Pod::KIND).map(|(_, pod)| pod).collect();
        let ready = pods.iter().filter(|pod| pod["status"]["containerStatuses"][0]["ready"] == true).count();
        let (count, now) = (pods.len(), self.world.now);
        let mut conditions = vec![json!({ "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
            "message": format!("ReplicaSet \"{set}\" is progressing."), "lastTransitionTime": now })];
        if refused && count < wanted {
            conditions.push(json!({ "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
                "message": "exceeded quota", "lastTransitionTime": now }));
        }
        self.world.edit(Deployment::KIND, &self.key.clone(), |live| {
            live["status"] = json!({ "observedGeneration": live["metadata"]["generation"], "replicas": count,
                "updatedReplicas": count, "readyReplicas": ready, "availableReplicas": ready, "conditions": conditions });
        });
    }

    fn make_pod(&mut self, deployment: &Value, set: &str, uid: &Value) {
        self.made += 1;
        let owner =
            json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set, "uid": uid, "controller": true }]);
        let template = &deployment["spec"]["template"];
        let pod = json!({ "metadata": { "labels": template["metadata"]["labels"], "ownerReferences": owner },
            "spec": template["spec"], "status": { "phase": "Pending" } });
        self.world.create(Pod::KIND, &self.key.sibling(&format!("{set}-{}", self.made)), pod);
    }

    fn kubelet(&mut self, number: usize, state: State) {
        let pods = self.pods();
        let Some((pod, _)) = pods.get(number % pods.len().max(1)) else { return };
        let now = self.world.now;
        let ended = json!({ "terminated": { "reason": "Error", "exitCode": 1, "startedAt": now, "finishedAt": now } });
        self.world.edit(Pod::KIND, pod, |pod| {
            let image = pod["spec"]["containers"][0]["image"].clone();
            let restarts = pod["status"]["containerStatuses"][0]["restartCount"].as_i64().unwrap_or(0);
            let waits = |reason: &str| json!({ "waiting": { "reason": reason, "message": "why" } });
            let (ready, restarts, state, last) = match state {
                State::Ready => (true, restarts, json!({ "running": { "startedAt": now } }), json!({})),
                State::PullFails => (false, restarts, waits("ImagePullBackOff"), json!({})),
                State::Ended => (false, restarts, ended.clone(), json!({})),
                State::EndsAgain => (false, restarts + 1, waits("CrashLoopBackOff"), ended.clone()),
            };
            pod["status"] = json!({ "phase": "Running", "containerStatuses": [{ "name": "app", "image": image,
                "ready": ready, "restartCount": restarts, "state": state, "lastState": last }] });
        });
    }

    /// What is being made has had its time, and its controller has looked.
    fn time_out(&mut self) {
        self.look(false);
        self.world.deliver_all();
        self.world.now += 11.seconds();
        let now = self.world.now;
        self.world.edit(Deployment::KIND, &self.key.clone(), |live| {
            let done = live["status"]["readyReplicas"] == live["status"]["replicas"];
            if let Some(progressing) = live["status"]["conditions"].get_mut(0).filter(|_| !done) {
                progressing["status"] = json!("False");
                progressing["reason"] = json!("ProgressDeadlineExceeded");
                progressing["lastTransitionTime"] = json!(now);
            }
        });
    }
}
