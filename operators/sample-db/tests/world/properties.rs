//! Random schedules of everything.

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use serde_json::Value;

use crate::bench::Bench;
use crate::faults::Step;
use crate::schedule::{end, spec, steps};

/// Lets all of it happen, then has the world come to rest.
fn run(spec: &Value, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(spec);
    let done = steps.iter().try_for_each(|step| {
        bench.take(step);
        bench.innocent()
    });
    let done = done.and_then(|()| bench.settle());
    done.map_err(|why| TestCaseError::fail(format!("{why}\n{}", bench.story())))
}

/// So many schedules, and always the same ones, unless `PROPTEST_CASES` asks for others: what a change breaks is told, and
/// what chance finds is looked for by `scripts/test --all`.
const CASES: u32 = 100;

fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let rng_seed = if asked.is_some() { RngSeed::Random } else { RngSeed::Fixed(0) };
    let cases = asked.unwrap_or(CASES);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn all_becomes_as_asked_and_nothing_is_lost(spec in spec(), steps in steps()) {
        run(&spec, &steps)?;
    }

    #[test]
    fn whatever_is_deleted_is_saved_and_goes(spec in spec(), steps in steps(), end in end()) {
        run(&spec, &[steps, end].concat())?;
    }
}
