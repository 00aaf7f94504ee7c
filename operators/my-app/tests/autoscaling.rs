//! Which client sets the number of pods, in a cluster in memory: after any change of the spec, any crash of the manager, and any
//! change by an autoscaler, a valid number stays.

use std::sync::Arc;

use my_app::{MyApp, MyAppOperator, plan};
use proptest::prelude::*;
use runtime::cache::{CacheEntry, Projection, Store};
use runtime::plan::Key;
use runtime::projections::{Autoscaler, Deployment};
use runtime::testing::{FakeCluster, NOW};
use serde_json::{Value, json};

mod cluster;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// The user edits the spec.
    Edit(Value),
    /// The stores receive that many events, then the operator reconciles, and crashes after that many writes.
    Reconcile { sees: usize, lives: Option<usize> },
    /// The autoscaler's controller sets that number of pods, if there is an autoscaler.
    Scale(i64),
    /// A user deletes the autoscaler, or changes its bounds.
    Meddle { deletes: bool },
    /// The Deployment's controller observes it.
    Sync,
}

fn spec() -> impl Strategy<Value = Value> {
    let replicas = (0..6).prop_map(|replicas| json!({ "image": "app", "replicas": replicas }));
    let bounds = (1..4, 0..4, any::<bool>()).prop_map(|(min, more, memory)| {
        let target = if memory { json!("1.5Gi") } else { Value::Null };
        json!({ "image": "app", "autoscaling": { "min": min, "max": min + more, "memory": target } })
    });
    prop_oneof![2 => replicas, 3 => bounds, 1 => Just(json!({ "image": "app" }))]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => spec().prop_map(Step::Edit),
        8 => (0..6_usize, prop::option::weighted(0.2, 0..3_usize)).prop_map(|(sees, lives)| Step::Reconcile { sees, lives }),
        2 => (0..8_i64).prop_map(Step::Scale),
        1 => any::<bool>().prop_map(|deletes| Step::Meddle { deletes }),
        2 => Just(Step::Sync),
    ]
}

struct Harness {
    cluster: FakeCluster,
    operator: MyAppOperator,
    apps: Arc<Store<MyApp>>,
    key: Key,
}

impl Harness {
    fn new(spec: &Value) -> Self {
        let (cluster, operator, mut cache, key) = cluster::holding(json!({ "metadata": {}, "spec": spec }));
        Self { cluster, operator, apps: cache.store(), key }
    }

    fn spec(&self) -> Value {
        self.cluster.get(MyApp::KIND, &self.key).map(|app| app["spec"].clone()).unwrap_or_default()
    }

    /// How many pods the Deployment requests.
    fn number(&self) -> Option<i64> {
        self.cluster.get(Deployment::KIND, &self.key).map(|live| live["spec"]["replicas"].as_i64().unwrap_or(1))
    }

    fn autoscaler(&self) -> Option<&Value> {
        self.cluster.get(Autoscaler::KIND, &self.key)
    }

    fn take(&mut self, step: Step) {
        let key = self.key.clone();
        match step {
            Step::Edit(spec) => self.cluster.edit(MyApp::KIND, &key, |app| app["spec"] = spec),
            Step::Reconcile { sees, lives } => {
                self.cluster.deliver_own_writes();
                self.cluster.deliver_events(sees);
                self.cluster.remaining_writes = lives;
                self.reconcile();
                self.cluster.remaining_writes = None;
            }
            Step::Scale(to) => {
                let Some(bounds) = self.autoscaler().map(|live| live["spec"].clone()) else { return };
                let bound = |name: &str| bounds[name].as_i64().unwrap_or(1);
                let to = to.min(bound("maxReplicas")).max(bound("minReplicas"));
                // None at all switches it off.
                if self.number() != Some(0) {
                    self.cluster.edit(Deployment::KIND, &key, |live| live["spec"]["replicas"] = json!(to));
                }
            }
            Step::Meddle { deletes: true } => self.cluster.remove(Autoscaler::KIND, &key),
            Step::Meddle { deletes: false } => {
                self.cluster.edit_by_hand(Autoscaler::KIND, &key, |live| live["spec"]["maxReplicas"] = json!(9));
            }
            Step::Sync => self.sync(),
        }
    }

    fn reconcile(&mut self) {
        if let Some(CacheEntry::Object(app)) = self.apps.get(&self.key) {
            let planned = plan::plan(&self.operator.read_stores(&app, NOW), NOW);
            drop(self.cluster.reconcile(&*app, planned));
        }
    }

    fn sync(&mut self) {
        self.cluster.edit(Deployment::KIND, &self.key.clone(), |live| {
            let number = live["spec"]["replicas"].as_i64().unwrap_or(1);
            live["status"] = json!({ "observedGeneration": live["metadata"]["generation"],
                "replicas": number, "updatedReplicas": number, "readyReplicas": number });
        });
    }

    fn converge(&mut self) {
        for _ in 0..6 {
            self.cluster.deliver_all_events();
            self.reconcile();
            self.sync();
        }
        self.cluster.deliver_all_events();
    }
}

/// What the number is to be, by a spec and the number before.
fn requested(spec: &Value, before: i64) -> i64 {
    let bounds = &spec["autoscaling"];
    match (spec["replicas"].as_i64(), bounds["min"].as_i64().zip(bounds["max"].as_i64())) {
        (Some(replicas), _) => replicas,
        (None, Some((min, max))) => before.min(max).max(min),
        (None, None) => before,
    }
}

/// The Deployment results from a creation, and an edit gives the operator ownership of its number by an apply, at the API server's
/// default.
#[test]
fn the_number_of_one_pod_is_handed_over_once() {
    let bare = json!({ "image": "app" });
    let scaled = json!({ "image": "app", "autoscaling": { "min": 1, "max": 3 } });
    for after in [bare, scaled] {
        let mut harness = Harness::new(&json!({ "image": "app", "replicas": 0 }));
        harness.converge();
        for spec in [&json!({ "image": "app", "replicas": 1 }), &after] {
            harness.take(Step::Edit(spec.clone()));
            harness.converge();
            assert_eq!(harness.number(), Some(1));
        }
        let writes = harness.cluster.writes;
        harness.reconcile();
        assert_eq!(harness.cluster.writes, writes, "a converged MyApp is silent: {after}");
    }
}

/// By this name `scripts/test --all schedules` finds them.
mod properties {
    use super::*;

    proptest! {
        #![proptest_config(seed::properties!(200))]

        /// With current stores, a reconcile changes the number only to the specified one. After convergence it is that, and nothing is
        /// written.
        #[test]
        fn a_valid_number_stays(first in spec(), steps in prop::collection::vec(step(), 0..40), last in spec()) {
            let mut harness = Harness::new(&first);
            harness.converge();
            for step in steps {
                let before = harness.number();
                let sees_all = matches!(step, Step::Reconcile { sees: 5.., .. });
                if sees_all {
                    harness.cluster.deliver_all_events();
                }
                let by_others = matches!(step, Step::Scale(_));
                harness.take(step);
                if let (Some(before), Some(after)) = (before, harness.number()) {
                    let allowed = by_others || after == before || !sees_all || after == requested(&harness.spec(), before);
                    prop_assert!(allowed, "{before} became {after} with {}", harness.spec());
                }
            }
            harness.converge();
            let before = harness.number().expect("there is a Deployment");
            harness.take(Step::Edit(last.clone()));
            harness.converge();
            prop_assert_eq!(harness.number(), Some(requested(&last, before)));
            prop_assert_eq!(harness.autoscaler().is_some(), last["autoscaling"].is_object());
            let app = harness.cluster.get(MyApp::KIND, &harness.key).cloned().unwrap_or_default();
            let ready = format!("{0}/{0}", requested(&last, before));
            prop_assert_eq!(&app["status"]["ready"], &json!(ready));
            let writes = harness.cluster.writes;
            harness.reconcile();
            prop_assert_eq!(harness.cluster.writes, writes, "a converged MyApp is silent");
        }
    }
}
