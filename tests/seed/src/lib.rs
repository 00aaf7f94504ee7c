//! The seed of every randomized test, so that one number repeats what any of them did.
//!
//! `scripts/test` chooses it, prints it and passes it on in [`VARIABLE`]. Without that variable, a process draws its own. A
//! test that fails prints its seed and the command that repeats it.

use std::env::{self, VarError};
use std::sync::OnceLock;
use std::thread;

use proptest::test_runner::{Config, RngSeed, TestRng, TestRunner};

/// The environment variable that sets the seed: an unsigned number of 64 bits.
pub const VARIABLE: &str = "MULTI_OPERATOR_SEED";
/// Proptest's own variable, by which `scripts/test --all` sets a higher number of cases.
const CASES: &str = "PROPTEST_CASES";
/// One of that many points gets a fault.
const FAULT_POINTS: u64 = 3;

/// The seed of this process.
///
/// # Panics
/// If [`VARIABLE`] is no such number: a run with another seed would repeat nothing.
#[must_use]
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| match env::var(VARIABLE) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{VARIABLE}={text}: {error}")),
        Err(VarError::NotPresent) => getrandom::u64().expect("the operating system has randomness"),
        Err(error) => panic!("{VARIABLE}: {error}"),
    })
}

/// The configuration of a property test, with this number of cases unless `PROPTEST_CASES` sets another.
///
/// Prints how to repeat the test. The harness shows that if the test fails.
#[macro_export]
macro_rules! properties {
    ($cases:expr) => {
        $crate::config(env!("CARGO_PKG_NAME"), $cases)
    };
}

/// Random numbers for a test that draws its cases itself. Prints how to repeat it.
#[macro_export]
macro_rules! rng {
    () => {
        $crate::announced(env!("CARGO_PKG_NAME"))
    };
}

/// Which of the points of a scenario get a fault, by their numbers: one in three, by the seed; all if `PROPTEST_CASES` is set.
/// Each of them runs the scenario to its end, which takes a test of all of them minutes.
#[macro_export]
macro_rules! fault_points {
    () => {
        $crate::chosen_fault_points(env!("CARGO_PKG_NAME"))
    };
}

/// What [`fault_points!`] is, for a test of that package.
pub fn chosen_fault_points(package: &str) -> impl Fn(usize) -> bool {
    announce(package);
    |point| is_thorough() || (point as u64).wrapping_add(seed()).is_multiple_of(FAULT_POINTS)
}

/// What [`properties!`] is, for a test of that package.
#[must_use]
pub fn config(package: &str, cases: u32) -> Config {
    announce(package);
    let cases = self::cases(cases);
    // The seed repeats a failure, and files of failures in the source tree would be written by root.
    Config { cases, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..Config::default() }
}

/// The number of cases, unless `PROPTEST_CASES` sets another.
#[must_use]
pub fn cases(usual: u32) -> u32 {
    if is_thorough() { Config::default().cases } else { usual }
}

/// Whether `PROPTEST_CASES` is set, as by `scripts/test --all`.
#[must_use]
pub fn is_thorough() -> bool {
    env::var_os(CASES).is_some()
}

/// What [`rng!`] is, for a test of that package.
#[must_use]
pub fn announced(package: &str) -> TestRng {
    announce(package);
    rng_of(seed())
}

/// The random numbers that a seed leads to.
#[must_use]
pub fn rng_of(seed: u64) -> TestRng {
    runner_of(seed).new_rng()
}

/// What draws cases from strategies by a seed, for tests of what a seed leads to.
#[must_use]
pub fn runner_of(seed: u64) -> TestRunner {
    TestRunner::new(Config { rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() })
}

fn announce(package: &str) {
    let cases = env::var(CASES).map(|cases| format!("{CASES}={cases} ")).unwrap_or_default();
    // Tests that run one at a time run on the main thread, which is not named after them.
    let test = thread::current().name().filter(|name| *name != "main").map(|name| format!(" -- --exact {name}"));
    let seed = seed();
    eprintln!("repeat with: {VARIABLE}={seed} {cases}cargo test -p {package}{}", test.unwrap_or_default());
}
