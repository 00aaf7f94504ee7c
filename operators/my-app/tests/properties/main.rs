//! MyApp in a cluster in memory: whatever happens, it converges to the state of a new one with the same spec, and then the operator
//! writes nothing; it never writes to a foreign object.

#[path = "../cluster/mod.rs"]
mod cluster;
mod harness;
#[path = "../observe/mod.rs"]
mod observe;
mod step;

use harness::{Harness, without_history};
use my_app::MyApp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use runtime::cache::Projection;
use runtime::projections::Service;
use serde_json::{Value, json};
use step::{Child, Step, spec, step};

/// By this name `scripts/test --all schedules` finds them.
mod properties {
    use super::*;

    proptest! {
        #![proptest_config(seed::properties!(200))]

        /// Crashes between any two effects, stale stores, edits by hand, foreign objects: it converges like a new MyApp.
        #[test]
        fn ends_like_a_fresh_one_and_then_is_silent(
            first in spec(),
            steps in prop::collection::vec(step(), 0..40),
            mut last in spec(),
            replicas in 0..4,
        ) {
            let mut harness = Harness::new(json!({ "metadata": {}, "spec": first }));
            for step in steps {
                let strangers = harness.is_foreign(Child::Service).then(|| harness.cluster.get(Service::KIND, &harness.key).cloned());
                let by_hand = matches!(step, Step::HandEdit(Child::Service));
                harness.take(step);
                if let Some(foreign_object) = strangers.filter(|_| !by_hand) {
                    prop_assert_eq!(harness.cluster.get(Service::KIND, &harness.key).cloned(), foreign_object, "a stranger was touched");
                }
            }
            last["replicas"] = json!(replicas);
            last["paused"] = json!(false);
            let rejected = |spec: &Value| ["unknown", "hostNetwork"].iter().any(|field| !spec["podOverrides"]["spec"][field].is_null());
            if rejected(&last) {
                last["podOverrides"] = Value::Null;
            }
            harness.take(Step::Content(Some(7)));
            harness.take(Step::Edit(last));
            harness.converge();
            let app = harness.cluster.get(MyApp::KIND, &harness.key).cloned().expect("it was not deleted permanently");
            let annotations = app["metadata"].get("annotations").cloned();
            let metadata = annotations.map_or_else(|| json!({}), |annotations| json!({ "annotations": annotations }));
            let mut fresh = Harness::new(json!({ "metadata": metadata, "spec": app["spec"] }));
            fresh.content = harness.content;
            fresh.converge();
            prop_assert_eq!(without_history(&harness.cluster), without_history(&fresh.cluster));

            let writes = harness.cluster.writes;
            harness.reconcile();
            prop_assert_eq!(harness.cluster.writes, writes, "a converged MyApp is silent");
            let phase = if replicas == 0 { "ScaledToZero" } else { "Running" };
            prop_assert_eq!(&app["status"]["phase"], phase);
        }

        /// Every crash point: the operator dies after each number of writes, and another one takes over.
        #[test]
        fn any_crash_point_converges(spec in spec()) {
            let mut whole = Harness::new(json!({ "metadata": {}, "spec": spec }));
            whole.converge();
            for lives in 0..whole.cluster.writes {
                let mut harness = Harness::new(json!({ "metadata": {}, "spec": spec }));
                harness.take(Step::Reconcile { sees: 9, lives: Some(lives) });
                harness.converge();
                prop_assert_eq!(without_history(&harness.cluster), without_history(&whole.cluster));
            }
        }
    }
}

/// The fields of a type are removed with it, also from a Service that was created with it.
#[test]
fn a_service_of_another_type_converges_to_a_new_one() {
    let with = |service: Value| json!({ "image": "app", "port": 80, "replicas": 1, "service": service });
    let balanced = || with(json!({ "type": "LoadBalancer", "annotations": { "pool": "blue" } }));
    let (node_port, plain) = (|| with(json!({ "type": "NodePort" })), || with(Value::Null));
    for specs in [vec![balanced(), node_port()], vec![balanced(), plain(), node_port(), plain()]] {
        let mut fresh = Harness::new(json!({ "metadata": {}, "spec": specs.last() }));
        fresh.converge();
        let mut harness = Harness::new(json!({ "metadata": {}, "spec": specs[0] }));
        harness.converge();
        for spec in specs {
            harness.take(Step::Edit(spec));
            harness.converge();
        }
        assert_eq!(without_history(&harness.cluster), without_history(&fresh.cluster));
    }
}

/// No reconcile follows a write of our own: reverting an edit and removing a field happen in one.
#[test]
fn additions_to_a_service_are_removed_in_the_same_reconcile() {
    let with = |service: Value| json!({ "image": "app", "port": 80, "replicas": 1, "service": service });
    let mut harness = Harness::new(
        json!({ "metadata": {}, "spec": with(json!({ "type": "LoadBalancer", "annotations": { "pool": "blue" } })) }),
    );
    harness.converge();
    harness.take(Step::HandAdd(Child::Service));
    harness.take(Step::Edit(with(Value::Null)));
    harness.take(Step::Reconcile { sees: 9, lives: None });
    let service = harness.cluster.get(Service::KIND, &harness.key).unwrap();
    assert_eq!(
        (&service["spec"]["type"], &service["metadata"]["annotations"]["pool"]),
        (&json!("ClusterIP"), &Value::Null)
    );
}

/// Nothing but the seed decides what happens: steps that are drawn again lead to the same world.
#[test]
fn a_seed_repeats_its_clusters() {
    let worlds = |seed| {
        let mut runner = seed::runner_of(seed);
        [(); 20].map(|()| {
            let drawn = (spec(), prop::collection::vec(step(), 0..40)).new_tree(&mut runner).expect("steps");
            let (spec, steps) = drawn.current();
            let mut harness = Harness::new(json!({ "metadata": {}, "spec": spec }));
            steps.into_iter().for_each(|step| harness.take(step));
            (harness.cluster.content(), harness.cluster.writes)
        })
    };
    let seed = seed::seed();
    assert_eq!(worlds(seed), worlds(seed));
    assert_ne!(worlds(7), worlds(8));
}
