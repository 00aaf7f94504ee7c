//! The same seed draws the same cases, in this process and in others, and a failure prints how to repeat it.
//!
//! The environment decides, and a process cannot change its own safely: tests run `draws` in child processes.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

use std::process::{Command, Output};

use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// What a child process prints before each case, and at which it fails.
const CASE: &str = "case: ";

proptest! {
    #![proptest_config(seed::properties!(20))]

    #[test]
    fn draws(words in prop::collection::vec("[a-z]{1,9}", 1..9), number in any::<u64>()) {
        println!("{CASE}{number} {words:?}");
        prop_assert!(std::env::var_os("SEED_TEST_FAILS").is_none(), "asked to fail");
    }
}

/// Runs `draws` in a process with this environment.
fn child(environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "draws", "--show-output"]).env_remove(seed::VARIABLE).env_remove("PROPTEST_CASES");
    command.envs(environment.iter().copied()).output().unwrap()
}

fn cases(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter(|line| line.starts_with(CASE)).map(str::to_owned).collect()
}

#[test]
fn the_same_seed_draws_the_same_cases() {
    let by = |seed: &str| {
        let output = child(&[(seed::VARIABLE, seed)]);
        assert!(output.status.success(), "{output:?}");
        cases(&output)
    };
    let first = by("7");
    assert_eq!(first.len(), 20);
    assert_eq!(by("7"), first);
    assert_ne!(by("8"), first);
}

#[test]
fn without_a_seed_each_run_draws_others() {
    let (one, other) = (cases(&child(&[])), cases(&child(&[])));
    assert_eq!((one.len(), other.len()), (20, 20));
    assert_ne!(one, other);
}

#[test]
fn more_cases_begin_with_the_same() {
    let seed = (seed::VARIABLE, "7");
    let (few, many) = (cases(&child(&[seed])), cases(&child(&[seed, ("PROPTEST_CASES", "100")])));
    assert_eq!(many.len(), 100);
    assert_eq!(many[..20], few);
}

#[test]
fn a_failure_prints_the_command_that_repeats_it() {
    let fails = ("SEED_TEST_FAILS", "yes");
    let output = child(&[fails, ("PROPTEST_CASES", "30")]);
    assert!(!output.status.success());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("repeat with: ")).unwrap();
    let seed = line.strip_prefix("MULTI_OPERATOR_SEED=").unwrap().split(' ').next().unwrap();
    assert_eq!(line, format!("MULTI_OPERATOR_SEED={seed} PROPTEST_CASES=30 cargo test -p seed -- --exact draws"));
    let again = child(&[fails, (seed::VARIABLE, seed), ("PROPTEST_CASES", "30")]);
    assert_eq!(cases(&again), cases(&output));
}

#[test]
fn a_seed_that_is_no_number_is_refused() {
    let output = child(&[(seed::VARIABLE, "0x7")]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("MULTI_OPERATOR_SEED=0x7"), "{output:?}");
}

#[test]
fn numbers_and_strategies_follow_the_seed() {
    let numbers = |seed| {
        let mut rng = seed::rng_of(seed);
        [(); 9].map(|()| rng.next_u64())
    };
    assert_eq!(numbers(7), numbers(7));
    assert_ne!(numbers(7), numbers(8));
    let strategy = prop::collection::vec(any::<u64>(), 9);
    let drawn = |seed| strategy.new_tree(&mut seed::runner_of(seed)).unwrap().current();
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
}
