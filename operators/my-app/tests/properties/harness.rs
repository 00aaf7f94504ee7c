//! A MyApp and its operator in a cluster in memory.

use std::sync::Arc;
use std::time::Duration;

use jiff::ToSpan;
use my_app::plan::{self, DryRunFailure};
use my_app::{MyApp, MyAppOperator, Queries, RestartSource, SourceState};
use runtime::cache::{CacheEntry, Projection, Store};
use runtime::plan::{Create, Key};
use runtime::projections::{Deployment, Service};
use runtime::testing::FakeCluster;
use serde_json::{Value, json};

use crate::cluster;
use crate::observe::observe;
use crate::step::{Child, Step, add_to};

/// The object that `restartOn` names, by its content, if the API server answers. It accepts every pod.
struct Objects(Option<u8>);

impl Queries for Objects {
    async fn content(&self, _: &RestartSource) -> (SourceState, Duration) {
        (self.0.map_or(SourceState::Unknown, |content| SourceState::Content([content; 32])), Duration::from_secs(60))
    }

    async fn dry_run(&self, _: &Key, _: &Create) -> Option<DryRunFailure> {
        None
    }
}

pub struct Harness {
    pub cluster: FakeCluster,
    operator: MyAppOperator,
    apps: Arc<Store<MyApp>>,
    pub key: Key,
    /// The content of the object that `restartOn` names, if it can be read.
    pub content: Option<u8>,
}

impl Harness {
    pub fn new(app: Value) -> Self {
        let (cluster, operator, mut cache, key) = cluster::holding(app);
        Self { cluster, operator, apps: cache.store(), key, content: Some(0) }
    }

    pub fn take(&mut self, step: Step) {
        let key = self.key.clone();
        match step {
            Step::Edit(spec) => self.cluster.edit(MyApp::KIND, &key, |app| app["spec"] = spec),
            Step::Restart(at) => self.cluster.edit(MyApp::KIND, &key, |app| {
                app["metadata"]["annotations"] = json!({ "kubectl.kubernetes.io/restartedAt": at.to_string() });
            }),
            Step::Reconcile { sees, lives } => {
                self.cluster.deliver_events(sees);
                self.cluster.remaining_writes = lives;
                self.reconcile();
                self.cluster.remaining_writes = None;
            }
            Step::Rollout { ready } => self.roll_out(ready),
            Step::Content(content) => self.content = content,
            Step::HandEdit(child) => self.cluster.edit(child.kind(), &key, |child| {
                if child["metadata"]["labels"].is_object() {
                    child["metadata"]["labels"]["app.kubernetes.io/instance"] = json!("edited");
                }
                if child["spec"]["replicas"].is_number() {
                    child["spec"]["replicas"] = json!(7);
                    child["spec"]["paused"] = json!(true);
                }
            }),
            Step::HandAdd(child) if !self.is_foreign(child) => {
                self.cluster.edit_by_hand(child.kind(), &key, |live| add_to(child, &mut live["spec"]));
            }
            Step::HandAdd(_) => {}
            Step::HandDelete(child) if !self.is_foreign(child) => self.cluster.remove(child.kind(), &key),
            Step::HandDelete(_) => {}
            Step::Recreate => {
                let Some(app) = self.cluster.get(MyApp::KIND, &key).cloned() else { return };
                self.cluster.remove(MyApp::KIND, &key);
                self.cluster.create(MyApp::KIND, &key, json!({ "metadata": {}, "spec": app["spec"] }));
            }
            Step::ForeignObject => {
                if self.cluster.get(Service::KIND, &key).is_none() {
                    self.cluster.create(Service::KIND, &key, json!({ "metadata": {}, "spec": { "stranger": true } }));
                }
            }
        }
    }

    pub fn is_foreign(&self, child: Child) -> bool {
        self.cluster.get(child.kind(), &self.key).is_some_and(|child| child["spec"]["stranger"] == true)
    }

    /// One reconcile over what the stores hold.
    pub fn reconcile(&mut self) {
        if let Some(CacheEntry::Object(app)) = self.apps.get(&self.key) {
            let observed = observe(&self.operator, &app, &Objects(self.content), self.cluster.now);
            let planned = plan::plan(&observed, self.cluster.now);
            drop(self.cluster.reconcile(&*app, planned));
            self.complete();
        }
    }

    /// How the API server completes a Deployment: it drops a pause that is false, fills in type and pace of its strategy, and
    /// rejects Recreate with a pace.
    fn complete(&mut self) {
        let Some(deployment) = self.cluster.get(Deployment::KIND, &self.key) else { return };
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
            self.cluster.edit(Deployment::KIND, &self.key.clone(), |deployment| {
                deployment["spec"]["strategy"] = strategy;
                if resumed {
                    drop(deployment["spec"].as_object_mut().map(|spec| spec.remove("paused")));
                }
            });
        }
    }

    /// The Deployment's own controller.
    fn roll_out(&mut self, at_most: i32) {
        self.cluster.edit(Deployment::KIND, &self.key.clone(), |deployment| {
            let desired = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
            let ready = desired.min(i64::from(at_most));
            deployment["status"] = json!({
                "observedGeneration": deployment["metadata"]["generation"],
                "replicas": desired, "updatedReplicas": desired, "readyReplicas": ready,
            });
        });
    }

    /// Reconciles without faults until nothing changes.
    pub fn converge(&mut self) {
        if self.is_foreign(Child::Service) {
            self.cluster.remove(Service::KIND, &self.key.clone());
        }
        for _ in 0..8 {
            // Enough for what waits for a time, such as a route that has been replaced.
            self.cluster.now += 10.seconds();
            self.cluster.collect_garbage();
            self.cluster.deliver_all_events();
            self.reconcile();
            self.roll_out(i32::MAX);
        }
        self.cluster.deliver_all_events();
    }
}

/// The content of a world without the generations and times that its history left in status.
pub fn without_history(cluster: &FakeCluster) -> Value {
    let mut content: Value = cluster.content().into_iter().collect();
    for object in content.as_object_mut().into_iter().flat_map(|objects| objects.values_mut()) {
        // The API server does not store an empty one.
        if object["metadata"]["annotations"] == json!({}) {
            object["metadata"].as_object_mut().map(|metadata| metadata.remove("annotations"));
        }
        if let Some(status) = object["status"].as_object_mut() {
            status.remove("observedGeneration");
            // Of no pods, it is the image that ran last.
            if status.get("phase").is_some_and(|phase| phase == "ScaledToZero") {
                status.remove("image");
            }
            for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
                for field in ["observedGeneration", "lastTransitionTime"] {
                    condition.as_object_mut().map(|condition| condition.remove(field));
                }
            }
        }
    }
    content
}
