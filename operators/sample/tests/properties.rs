//! Sample in a cluster in memory: whatever happens, the ConfigMap converges to the spec, and then the operator writes nothing.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use runtime::cache::{Cache, CacheEntry, Projection, Store};
use runtime::plan::{Key, ResourceKind};
use runtime::projections::ConfigMap;
use runtime::testing::{FakeCluster, NOW};
use sample::{Sample, SampleOperator, plan};
use serde_json::{Value, json};

/// Something that happens in the cluster.
#[derive(Clone, Debug)]
enum Step {
    Edit(String),
    Reconcile {
        sees: usize,
        lives: Option<usize>,
    },
    HandEdit,
    /// Moves the entry to where the API server does not allow it next to `data`.
    HandMove,
    HandDelete,
    Recreate,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-c]{0,3}".prop_map(Step::Edit),
        (0..4_usize, prop::option::of(0..3_usize)).prop_map(|(sees, lives)| Step::Reconcile { sees, lives }),
        Just(Step::HandEdit),
        Just(Step::HandMove),
        Just(Step::HandDelete),
        Just(Step::Recreate),
    ]
}

struct Harness {
    cluster: FakeCluster,
    operator: SampleOperator,
    samples: Arc<Store<Sample>>,
    key: Key,
}

impl Harness {
    fn new() -> Self {
        let mut cache = Cache::new(&[]);
        let operator = SampleOperator::new(&mut cache);
        let samples = cache.store::<Sample>();
        let mut cluster = FakeCluster::default();
        cluster.feed(&samples);
        cluster.feed(&cache.store::<ConfigMap>());
        let key = Key::new("n", "a");
        cluster.create(Sample::KIND, &key, json!({ "metadata": {}, "testString": "first" }));
        Self { cluster, operator, samples, key }
    }

    fn take(&mut self, step: Step) {
        let key = self.key.clone();
        match step {
            Step::Edit(string) => self.cluster.edit(Sample::KIND, &key, |sample| sample["testString"] = json!(string)),
            Step::Reconcile { sees, lives } => {
                self.cluster.deliver_events(sees);
                self.cluster.remaining_writes = lives;
                self.reconcile();
                self.cluster.remaining_writes = None;
            }
            Step::HandEdit => {
                self.cluster.edit(ConfigMap::KIND, &key, |map| map["data"][plan::ENTRY] = json!("by hand"))
            }
            Step::HandMove => self.cluster.edit_by_hand(ConfigMap::KIND, &key, |map| {
                drop(map["data"].as_object_mut().map(|data| data.remove(plan::ENTRY)));
                map["binaryData"][plan::ENTRY] = json!("eA==");
            }),
            Step::HandDelete => self.cluster.remove(ConfigMap::KIND, &key),
            Step::Recreate => {
                self.cluster.remove(Sample::KIND, &key);
                self.cluster.create(Sample::KIND, &key, json!({ "metadata": {}, "testString": "again" }));
            }
        }
    }

    fn reconcile(&mut self) {
        if let Some(CacheEntry::Object(sample)) = self.samples.get(&self.key) {
            let planned = plan::plan(&self.operator.read_stores(&sample), NOW);
            let before = [Sample::KIND, ConfigMap::KIND].map(|kind| self.version(kind));
            drop(self.cluster.reconcile(&*sample, planned));
            if self.version(Sample::KIND) != before[0] {
                self.judge(&before[1]);
            }
        }
    }

    fn version(&self, kind: ResourceKind) -> Value {
        self.cluster.get(kind, &self.key).map_or(Value::Null, |live| live["metadata"]["resourceVersion"].clone())
    }

    /// Checks the status that was just written, by the ConfigMap as the store held it, or as this reconcile wrote it.
    fn judge(&self, config_map_before: &Value) {
        let seen = self.cluster.cached(Sample::KIND, &self.key).expect("it was reconciled");
        let wrote = self.version(ConfigMap::KIND) != *config_map_before;
        let map = if wrote {
            self.cluster.get(ConfigMap::KIND, &self.key)
        } else {
            self.cluster.cached(ConfigMap::KIND, &self.key)
        };
        let status = &self.cluster.get(Sample::KIND, &self.key).expect("it was written")["status"];
        let reported = status["conditions"].as_array().and_then(|all| all.iter().find(|one| one["status"] == "True"));
        assert_eq!(status["observedGeneration"], seen["metadata"]["generation"], "{status}");
        if reported.is_some_and(|reported| reported["type"] == "Ready") {
            let map = map.unwrap_or_else(|| panic!("Ready without a ConfigMap: {status}"));
            assert_eq!(map["data"][plan::ENTRY], seen["testString"], "{status}");
            assert_eq!(map["metadata"]["ownerReferences"][0]["uid"], seen["metadata"]["uid"], "{status}");
        }
    }
}

/// By this name `scripts/test --all schedules` finds them.
mod properties {
    use super::*;

    proptest! {
        #![proptest_config(seed::properties!(500))]

        #[test]
        fn the_config_map_converges_and_then_nothing_is_written(
            steps in prop::collection::vec(step(), 0..30),
            last in "[a-z]{1,8}",
        ) {
            let mut harness = Harness::new();
            steps.into_iter().for_each(|step| harness.take(step));
            harness.take(Step::Edit(last.clone()));
            for _ in 0..5 {
                harness.cluster.collect_garbage();
                harness.cluster.deliver_all_events();
                harness.reconcile();
            }
            harness.cluster.deliver_all_events();
            let map = harness.cluster.get(ConfigMap::KIND, &harness.key).expect("it was created");
            prop_assert_eq!(&map["data"][plan::ENTRY], &json!(last));
            prop_assert_eq!(&map["binaryData"][plan::ENTRY], &json!(null));
            let sample = harness.cluster.get(Sample::KIND, &harness.key).expect("it was recreated");
            prop_assert_eq!(&sample["status"]["observedGeneration"], &sample["metadata"]["generation"]);
            prop_assert_eq!(&sample["status"]["conditions"][0]["status"], "True");
            let writes = harness.cluster.writes;
            harness.reconcile();
            prop_assert_eq!(harness.cluster.writes, writes);
        }
    }
}

/// The seed determines all steps, and the same steps lead to the same cluster.
#[test]
fn a_seed_repeats_its_clusters() {
    let worlds = |seed| {
        let mut runner = seed::runner_of(seed);
        [(); 20].map(|()| {
            let steps = prop::collection::vec(step(), 0..30).new_tree(&mut runner).expect("steps").current();
            let mut harness = Harness::new();
            steps.into_iter().for_each(|step| harness.take(step));
            (harness.cluster.content(), harness.cluster.writes)
        })
    };
    let seed = seed::seed();
    assert_eq!(worlds(seed), worlds(seed));
    assert_ne!(worlds(7), worlds(8));
}
