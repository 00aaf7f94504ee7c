//! Random schedules of everything.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::Value;

use crate::bench::Bench;
use crate::faults::Step;
use crate::schedule::{spec, steps};

/// Takes all steps, then settles the world.
fn run(spec: &Value, assigns_uids: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut bench = Bench { assigns_uids, ..Bench::new(spec) };
    let done = steps.iter().try_for_each(|step| {
        bench.take(step);
        bench.check_invariants()
    });
    let done = done.and_then(|()| bench.settle());
    done.map_err(|why| TestCaseError::fail(format!("{why}\n{}", bench.story())))
}

/// The number of schedules; `scripts/test --all` runs more.
const CASES: u32 = 150;

proptest! {
    #![proptest_config(seed::properties!(CASES))]

    #[test]
    fn the_desired_state_is_reached_and_nothing_is_lost(
        spec in spec(),
        assigns_uids in prop::bool::weighted(0.2),
        steps in steps(),
    ) {
        run(&spec, assigns_uids, &steps)?;
    }
}

/// Only the seed decides what happens: the same schedule leads to the same log, line by line.
#[test]
fn a_seed_repeats_its_stories() {
    let stories = |seed| {
        let mut runner = seed::runner_of(seed);
        let drawn = [(); 5].map(|()| (spec(), steps()).new_tree(&mut runner).expect("a schedule").current());
        drawn.map(|(spec, steps)| {
            let mut bench = Bench::new(&spec);
            steps.iter().for_each(|step| bench.take(step));
            format!("{steps:?}\n{}", bench.story())
        })
    };
    let seed = seed::seed();
    assert_eq!(stories(seed), stories(seed));
    assert_ne!(stories(7), stories(8));
}
