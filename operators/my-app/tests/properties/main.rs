//! MyApp in a cluster in memory: whatever happens on the way, it ends as a fresh one of the same spec would, then is
//! silent; and nothing of a stranger's is ever touched.

mod bench;
#[path = "../cluster/mod.rs"]
mod cluster;
mod step;

use bench::{Bench, without_history};
use my_app::MyApp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use runtime::cache::View;
use runtime::views::Service;
use serde_json::{Value, json};
use step::{Child, Step, spec, step};

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
            prop_assert_eq!(without_history(&bench.world), without_history(&fresh.world));

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
                prop_assert_eq!(without_history(&bench.world), without_history(&whole.world));
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
        assert_eq!(without_history(&bench.world), without_history(&fresh.world));
    }
}

/// No pass follows a write of our own: what is put back and what is not asked for any more are one pass.
#[test]
fn a_service_that_somebody_added_to_loses_what_is_not_asked_for_in_the_same_pass() {
    let with = |service: Value| json!({ "image": "app", "port": 80, "replicas": 1, "service": service });
    let mut bench = Bench::new(
        json!({ "metadata": {}, "spec": with(json!({ "type": "LoadBalancer", "annotations": { "pool": "blue" } })) }),
    );
    bench.settle();
    bench.take(Step::HandAdd(Child::Service));
    bench.take(Step::Edit(with(Value::Null)));
    bench.take(Step::Pass { sees: 9, lives: None });
    let service = bench.world.get(Service::KIND, &bench.key).unwrap();
    assert_eq!(
        (&service["spec"]["type"], &service["metadata"]["annotations"]["pool"]),
        (&json!("ClusterIP"), &Value::Null)
    );
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
