//! Sample in a cluster in memory: whatever happens on the way, the ConfigMap ends as asked, and then there is silence.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use runtime::cache::{Cache, Entry, Store, View};
use runtime::plan::{Key, Kind};
use runtime::testing::{NOW, World};
use runtime::views::ConfigMap;
use sample::{Sample, SampleOperator, plan};
use serde_json::{Value, json};

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    Edit(String),
    Pass {
        sees: usize,
        lives: Option<usize>,
    },
    HandEdit,
    /// To where the API server refuses it beside ours.
    HandMove,
    HandDelete,
    Recreate,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-c]{0,3}".prop_map(Step::Edit),
        (0..4_usize, prop::option::of(0..3_usize)).prop_map(|(sees, lives)| Step::Pass { sees, lives }),
        Just(Step::HandEdit),
        Just(Step::HandMove),
        Just(Step::HandDelete),
        Just(Step::Recreate),
    ]
}

struct Bench {
    world: World,
    operator: SampleOperator,
    samples: Arc<Store<Sample>>,
    key: Key,
}

impl Bench {
    fn new() -> Self {
        let mut cache = Cache::new(&[]);
        let operator = SampleOperator::new(&mut cache);
        let samples = cache.store::<Sample>();
        let mut world = World::default();
        world.feed(&samples);
        world.feed(&cache.store::<ConfigMap>());
        let key = Key::new("n", "a");
        world.create(Sample::KIND, &key, json!({ "metadata": {}, "testString": "first" }));
        Self { world, operator, samples, key }
    }

    fn take(&mut self, step: Step) {
        let key = self.key.clone();
        match step {
            Step::Edit(string) => self.world.edit(Sample::KIND, &key, |sample| sample["testString"] = json!(string)),
            Step::Pass { sees, lives } => {
                self.world.deliver(sees);
                self.world.lifetime = lives;
                self.pass();
                self.world.lifetime = None;
            }
            Step::HandEdit => self.world.edit(ConfigMap::KIND, &key, |map| map["data"][plan::ENTRY] = json!("by hand")),
            Step::HandMove => self.world.edit_by_hand(ConfigMap::KIND, &key, |map| {
                drop(map["data"].as_object_mut().map(|data| data.remove(plan::ENTRY)));
                map["binaryData"][plan::ENTRY] = json!("eA==");
            }),
            Step::HandDelete => self.world.remove(ConfigMap::KIND, &key),
            Step::Recreate => {
                self.world.remove(Sample::KIND, &key);
                self.world.create(Sample::KIND, &key, json!({ "metadata": {}, "testString": "again" }));
            }
        }
    }

    fn pass(&mut self) {
        if let Some(Entry::Object(sample)) = self.samples.get(&self.key) {
            let planned = plan::plan(&self.operator.look(&sample), NOW);
            let before = [Sample::KIND, ConfigMap::KIND].map(|kind| self.version(kind));
            drop(self.world.pass(&*sample, planned));
            if self.version(Sample::KIND) != before[0] {
                self.judge(&before[1]);
            }
        }
    }

    fn version(&self, kind: Kind) -> Value {
        self.world.get(kind, &self.key).map_or(Value::Null, |live| live["metadata"]["resourceVersion"].clone())
    }

    /// What has just been said of the Sample that was seen: it holds by the ConfigMap as it was seen, or as this pass wrote it.
    fn judge(&self, config_map_before: &Value) {
        let seen = self.world.shown(Sample::KIND, &self.key).expect("there was a pass over it");
        let wrote = self.version(ConfigMap::KIND) != *config_map_before;
        let map = if wrote {
            self.world.get(ConfigMap::KIND, &self.key)
        } else {
            self.world.shown(ConfigMap::KIND, &self.key)
        };
        let status = &self.world.get(Sample::KIND, &self.key).expect("it was written")["status"];
        let said = status["conditions"].as_array().and_then(|all| all.iter().find(|one| one["status"] == "True"));
        assert_eq!(status["observedGeneration"], seen["metadata"]["generation"], "{status}");
        if said.is_some_and(|said| said["type"] == "Ready") {
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
        fn the_config_map_ends_as_asked_and_then_there_is_silence(
            steps in prop::collection::vec(step(), 0..30),
            last in "[a-z]{1,8}",
        ) {
            let mut bench = Bench::new();
            steps.into_iter().for_each(|step| bench.take(step));
            bench.take(Step::Edit(last.clone()));
            for _ in 0..5 {
                bench.world.collect_garbage();
                bench.world.deliver_all();
                bench.pass();
            }
            bench.world.deliver_all();
            let map = bench.world.get(ConfigMap::KIND, &bench.key).expect("it was made");
            prop_assert_eq!(&map["data"][plan::ENTRY], &json!(last));
            prop_assert_eq!(&map["binaryData"][plan::ENTRY], &json!(null));
            let sample = bench.world.get(Sample::KIND, &bench.key).expect("nobody deleted it for good");
            prop_assert_eq!(&sample["status"]["observedGeneration"], &sample["metadata"]["generation"]);
            prop_assert_eq!(&sample["status"]["conditions"][0]["status"], "True");
            let writes = bench.world.writes;
            bench.pass();
            prop_assert_eq!(bench.world.writes, writes);
        }
    }
}

/// Nothing but the seed decides what happens: steps that are drawn again lead to the same world.
#[test]
fn a_seed_repeats_its_worlds() {
    let worlds = |seed| {
        let mut runner = seed::runner_of(seed);
        [(); 20].map(|()| {
            let steps = prop::collection::vec(step(), 0..30).new_tree(&mut runner).expect("steps").current();
            let mut bench = Bench::new();
            steps.into_iter().for_each(|step| bench.take(step));
            (bench.world.content(), bench.world.writes)
        })
    };
    let seed = seed::seed();
    assert_eq!(worlds(seed), worlds(seed));
    assert_ne!(worlds(7), worlds(8));
}
