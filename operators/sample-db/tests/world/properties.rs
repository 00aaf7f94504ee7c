//! Random schedules of everything.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::Value;

use crate::faults::Step;
use crate::schedule::{end, spec, steps};
use crate::simulation::Simulation;

/// Runs the steps, and then settles.
fn run(spec: &Value, assigns_uids: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut sim = Simulation::new(spec);
    sim.infra.assigns_uids = assigns_uids;
    let done = steps.iter().try_for_each(|step| {
        sim.take(step);
        sim.check_invariants()
    });
    let done = done.and_then(|()| sim.settle());
    done.map_err(|why| TestCaseError::fail(format!("{why}\n{}", sim.report())))
}

/// The number of schedules; `scripts/test --all` asks for more.
const CASES: u32 = 50;

proptest! {
    #![proptest_config(seed::properties!(CASES))]

    #[test]
    fn everything_reaches_its_desired_state_and_nothing_is_lost(spec in spec(), assigns_uids: bool, steps in steps()) {
        run(&spec, assigns_uids, &steps)?;
    }

    #[test]
    fn what_is_deleted_is_saved_first(spec in spec(), assigns_uids: bool, steps in steps(), end in end()) {
        run(&spec, assigns_uids, &[steps, end].concat())?;
    }
}

/// The seed alone decides what happens: the same schedule leads to the same log, line by line.
#[test]
fn a_seed_repeats_its_reports() {
    let reports = |seed| {
        let mut runner = seed::runner_of(seed);
        let drawn = [(); 5].map(|()| (spec(), steps()).new_tree(&mut runner).expect("a schedule").current());
        drawn.map(|(spec, steps)| {
            let mut sim = Simulation::new(&spec);
            steps.iter().for_each(|step| sim.take(step));
            format!("{steps:?}\n{}", sim.report())
        })
    };
    let seed = seed::seed();
    assert_eq!(reports(seed), reports(seed));
    assert_ne!(reports(7), reports(8));
}
