//! Random schedules of everything.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::Value;

use crate::bench::Bench;
use crate::faults::Step;
use crate::schedule::{end, spec, steps};

/// Lets all of it happen, then has the world come to rest.
fn run(spec: &Value, assigns_uids: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(spec);
    bench.site.assigns_uids = assigns_uids;
    let done = steps.iter().try_for_each(|step| {
        bench.take(step);
        bench.innocent()
    });
    let done = done.and_then(|()| bench.settle());
    done.map_err(|why| TestCaseError::fail(format!("{why}\n{}", bench.story())))
}

/// So many schedules; `scripts/test --all` asks for more.
const CASES: u32 = 50;

proptest! {
    #![proptest_config(seed::properties!(CASES))]

    #[test]
    fn all_becomes_as_asked_and_nothing_is_lost(spec in spec(), assigns_uids: bool, steps in steps()) {
        run(&spec, assigns_uids, &steps)?;
    }

    #[test]
    fn whatever_is_deleted_is_saved_and_goes(spec in spec(), assigns_uids: bool, steps in steps(), end in end()) {
        run(&spec, assigns_uids, &[steps, end].concat())?;
    }
}

/// Nothing but the seed decides what happens: a schedule that is drawn again leads to the same story, line by line.
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
