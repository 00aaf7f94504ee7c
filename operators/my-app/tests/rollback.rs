//! Rollouts that fail, in a cluster in memory: pods return to the previous image only after their own deadline, never run a given-up
//! image again until the spec changes, and the status is true, whatever is edited meanwhile and whenever the manager crashes.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::ToSpan;
use my_app::{MyApp, MyAppOperator, plan};
use proptest::prelude::*;
use runtime::cache::{CacheEntry, Projection, Store};
use runtime::plan::Key;
use runtime::projections::Deployment;
use runtime::testing::FakeCluster;
use serde_json::{Value, json};

mod cluster;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// The user edits the spec.
    Edit(Value),
    /// The user, or an autoscaler, changes the number of pods.
    Scale(i32),
    /// The stores receive that many events, then the operator reconciles, and crashes after that many writes.
    Reconcile { sees: usize, lives: Option<usize> },
    /// The Deployment's controller syncs; if the number of pods has changed too, it does not change its condition.
    Sync { scales: bool },
    /// It syncs, and then the deadline passes.
    TimeOut,
}

/// The image is good or bad; bad ones never become ready.
fn spec() -> impl Strategy<Value = Value> {
    let rollback = prop_oneof![3 => Just(json!("Automatic")), 1 => Just(json!("None"))];
    let env = prop_oneof![Just(json!([])), Just(json!([{ "name": "A", "value": "1" }]))];
    let image = prop_oneof![(0..2).prop_map(|n| format!("good:{n}")), (0..2).prop_map(|n| format!("bad:{n}"))];
    (image, env, rollback, 1..4, prop::bool::weighted(0.1)).prop_map(|(image, env, rollback, replicas, paused)| {
        json!({ "image": image, "env": env, "rollback": rollback, "replicas": replicas, "paused": paused,
            "progressDeadlineSeconds": 10 })
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => spec().prop_map(Step::Edit),
        1 => (1..5).prop_map(Step::Scale),
        8 => (0..6_usize, prop::option::weighted(0.2, 0..3_usize)).prop_map(|(sees, lives)| Step::Reconcile { sees, lives }),
        4 => any::<bool>().prop_map(|scales| Step::Sync { scales }),
        3 => Just(Step::TimeOut),
    ]
}

struct Harness {
    cluster: FakeCluster,
    operator: MyAppOperator,
    apps: Arc<Store<MyApp>>,
    key: Key,
    /// Templates that have exceeded their deadline.
    failed: BTreeSet<String>,
    /// What was given up with which spec, once the pods have left it.
    left: Option<(String, Value)>,
}

/// The spec without what is no new try.
fn essence(spec: &Value) -> Value {
    let mut essence = spec.clone();
    drop(essence.as_object_mut().map(|spec| (spec.remove("replicas"), spec.remove("paused"))));
    essence
}

impl Harness {
    fn new(spec: &Value) -> Self {
        let (cluster, operator, mut cache, key) = cluster::holding(json!({ "metadata": {}, "spec": spec }));
        Self { cluster, operator, apps: cache.store(), key, failed: BTreeSet::new(), left: None }
    }

    fn app(&self) -> Value {
        self.cluster.get(MyApp::KIND, &self.key).cloned().unwrap_or_default()
    }

    fn deployment(&self) -> Value {
        self.cluster.get(Deployment::KIND, &self.key).cloned().unwrap_or_default()
    }

    fn image(&self) -> String {
        let image = &self.deployment()["spec"]["template"]["spec"]["containers"][0]["image"];
        image.as_str().unwrap_or_default().to_owned()
    }

    fn take(&mut self, step: Step) {
        let key = self.key.clone();
        match step {
            Step::Edit(spec) => {
                // Also an edit that is reverted before the stores have it: a reconcile may see the state in between.
                if self.left.as_ref().is_some_and(|(_, of)| *of != essence(&spec)) {
                    self.left = None;
                }
                self.cluster.edit(MyApp::KIND, &key, |app| app["spec"] = spec);
            }
            Step::Scale(to) => self.cluster.edit(MyApp::KIND, &key, |app| app["spec"]["replicas"] = json!(to)),
            Step::Reconcile { sees, lives } => {
                self.cluster.deliver_own_writes();
                self.cluster.deliver_events(sees);
                self.cluster.remaining_writes = lives;
                self.reconcile();
                self.cluster.remaining_writes = None;
            }
            Step::Sync { scales } => self.sync(scales),
            Step::TimeOut => {
                self.sync(false);
                // No store is behind by as much as a deadline.
                self.cluster.deliver_all_events();
                self.cluster.now += 11.seconds();
                self.time_out();
            }
        }
    }

    /// One reconcile over what the stores hold, and what must hold after it.
    fn reconcile(&mut self) {
        let Some(CacheEntry::Object(app)) = self.apps.get(&self.key) else { return };
        let before = self.app()["status"].clone();
        let template = self.deployment()["spec"]["template"].to_string();
        drop(
            self.cluster
                .reconcile(&*app, plan::plan(&self.operator.read_stores(&app, self.cluster.now), self.cluster.now)),
        );
        let now = self.app();
        let (spec, status) = (&now["spec"], &now["status"]);
        let gives_up = before["rolledBackFrom"].is_null() && !status["rolledBackFrom"].is_null();
        assert!(!gives_up || self.failed.contains(&template), "given up before its time: {status}");
        if self.left.as_ref().is_some_and(|(_, of)| *of != essence(spec)) {
            self.left = None;
        }
        let image = self.image();
        assert!(self.left.as_ref().is_none_or(|(given_up, _)| *given_up != image), "tried again: {status}");
        let from = &status["rolledBackFrom"];
        let given_up = from["image"].as_str().filter(|_| from["generation"] == now["metadata"]["generation"]);
        if let Some(given_up) = given_up.filter(|given_up| *given_up != image && spec["image"] == **given_up) {
            self.left = Some((given_up.to_owned(), essence(spec)));
        }
        self.is_true(&before, &now);
    }

    /// What was written is so.
    fn is_true(&self, before: &Value, now: &Value) {
        let status = &now["status"];
        if status == before || status["observedGeneration"] != now["metadata"]["generation"] {
            return;
        }
        let condition = |type_: &str| {
            let all = status["conditions"].as_array().into_iter().flatten();
            all.filter(|c| c["type"] == type_ && c["status"] == "True").map(|c| c["reason"].clone()).next()
        };
        if condition("Ready").is_some_and(|reason| reason != "Paused") {
            assert_eq!(json!(self.image()), now["spec"]["image"], "Ready with another image: {status}");
            assert_eq!(status["image"], now["spec"]["image"]);
        }
        let stalled = condition("Stalled");
        assert_eq!(
            stalled == Some(json!("RolledBack")),
            !status["rolledBackFrom"].is_null() && now["spec"]["paused"] != true
        );
        if stalled == Some(json!("ProgressDeadlineExceeded")) {
            let template = self.deployment()["spec"]["template"].to_string();
            assert!(self.failed.contains(&template), "Stalled before its time: {status}");
        }
    }

    /// The Deployment's own controller, as far as it matters here.
    fn sync(&mut self, scales: bool) {
        let now = self.cluster.now;
        self.cluster.edit(Deployment::KIND, &self.key.clone(), |deployment| {
            let template = deployment["spec"]["template"].to_string();
            // As the API server fills it in.
            let strategy = &mut deployment["spec"]["strategy"];
            if strategy["type"] != "Recreate" && strategy["rollingUpdate"].is_null() {
                *strategy = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } });
            }
            let desired = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
            let status = deployment["status"].clone();
            deployment["status"]["observedGeneration"] = deployment["metadata"]["generation"].clone();
            let same = status["of"] == *template;
            if scales && !same && !status.is_null() {
                deployment["status"]["updatedReplicas"] = json!(0);
                return;
            }
            let bad = template.contains("bad:");
            let was = &status["conditions"][0];
            let condition = match bad && same {
                true => was.clone(),
                false => json!({ "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": "",
                    "lastTransitionTime": if was["status"] == "True" { was["lastTransitionTime"].clone() } else { json!(now) } }),
            };
            let old = status["readyReplicas"].as_i64().unwrap_or(0).min(desired);
            let numbers = if bad { [old + 1, 1, old] } else { [desired; 3] };
            deployment["status"] = json!({
                "observedGeneration": deployment["metadata"]["generation"], "of": template, "conditions": [condition],
                "replicas": numbers[0], "updatedReplicas": numbers[1], "readyReplicas": numbers[2],
            });
        });
    }

    /// It finds that a rollout has exceeded its deadline.
    fn time_out(&mut self) {
        let now = self.cluster.now;
        let mut failed = None;
        self.cluster.edit(Deployment::KIND, &self.key.clone(), |deployment| {
            let template = deployment["spec"]["template"].to_string();
            if template.contains("bad:") {
                if deployment["status"]["conditions"][0]["status"] == "True" {
                    deployment["status"]["conditions"][0] = json!({ "type": "Progressing", "status": "False",
                        "reason": "ProgressDeadlineExceeded", "message": "it has timed out", "lastTransitionTime": now });
                }
                failed = Some(template);
            }
        });
        self.failed.extend(failed);
    }

    /// Reconciles without faults until nothing changes.
    fn converge(&mut self) {
        for _ in 0..8 {
            self.cluster.deliver_all_events();
            self.reconcile();
            self.take(Step::TimeOut);
        }
        self.cluster.deliver_all_events();
    }
}

/// By this name `scripts/test --all schedules` finds them.
mod properties {
    use super::*;

    proptest! {
        #![proptest_config(seed::properties!(200))]

        /// Crashes between any two effects, stale stores, edits: it ends with the specified image, or the last that was Ready.
        #[test]
        fn what_fails_is_left_once_and_for_the_last_image_that_was_ready(
            first in spec(),
            steps in prop::collection::vec(step(), 0..60),
            mut last in spec(),
        ) {
            let mut harness = Harness::new(&first);
            for step in steps {
                harness.take(step);
            }
            last["paused"] = json!(false);
            harness.take(Step::Edit(last.clone()));
            harness.converge();
            let app = harness.app();
            let good = last["image"].as_str().is_some_and(|image| image.starts_with("good"));
            let ready = app["status"]["image"].as_str().unwrap_or_default();
            let back = !good && last["rollback"] == "Automatic" && !ready.is_empty();
            let reason = match (good, back) {
                (true, _) => "Running",
                (_, true) => "RolledBack",
                _ => "ProgressDeadlineExceeded",
            };
            let conditions = app["status"]["conditions"].as_array().cloned().unwrap_or_default();
            prop_assert!(conditions.iter().all(|condition| condition["reason"] == reason), "{app}");
            prop_assert_eq!(json!(harness.image()), if back { json!(ready) } else { last["image"].clone() });
            let writes = harness.cluster.writes;
            harness.take(Step::TimeOut);
            harness.cluster.deliver_all_events();
            harness.reconcile();
            prop_assert_eq!(harness.cluster.writes, writes, "nothing is written after convergence");
            // A change of the spec is tried.
            last["image"] = json!("good:9");
            harness.take(Step::Edit(last));
            harness.converge();
            prop_assert_eq!(&harness.app()["status"]["phase"], "Running");
            prop_assert_eq!(harness.image(), "good:9");
        }
    }
}

/// An autoscaler, for example, changes the number of pods before the operator has observed the rollback, while the Deployment's own
/// controller is stuck.
#[test]
fn a_change_of_replicas_right_after_a_rollback_does_not_retry_the_image() {
    let spec = |image: &str| {
        json!({ "image": image, "env": [], "rollback": "Automatic", "replicas": 1, "paused": false,
            "progressDeadlineSeconds": 10, "strategy": { "type": "Recreate" } })
    };
    let pass = |sees| Step::Reconcile { sees, lives: None };
    let mut harness = Harness::new(&spec("good:0"));
    let rolls = [pass(1), pass(9), Step::Sync { scales: false }, pass(9)];
    let fails = [Step::Edit(spec("bad:0")), pass(9), Step::TimeOut, Step::TimeOut, pass(9), pass(9)];
    for step in rolls.into_iter().chain(fails).chain([Step::Scale(2), pass(1), pass(9)]) {
        harness.take(step);
    }
    assert_eq!(harness.image(), "good:0");
}
