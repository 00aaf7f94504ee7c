//! The status of a MyApp is true at the instant that it is written: in random runs, with stores that are behind, each
//! condition of each written status is judged from the objects as the stores held them, and as the reconcile itself
//! has written them, by rules that do not use the plan.

#[path = "../cluster/mod.rs"]
mod cluster;
mod judge;
mod judge_tests;
#[path = "../observe/mod.rs"]
mod observe;
mod site;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use site::{Site, spec, step};

/// The number of samples of Ready=True or Stalled=True by default. With `PROPTEST_CASES`, as in `scripts/test --all schedules`, [`THOROUGH`].
const USUAL: usize = 1_000;
const THOROUGH: usize = 10_000;

/// Conditions that must be frequent: each in at least a thousandth of the samples.
const OFTEN: [&str; 24] = [
    "Ready=True Running",
    "Ready=True ScaledToZero",
    "Ready=True Paused",
    "Stalled=True ImagePullBackOff",
    "Stalled=True CrashLoopBackOff",
    "Stalled=True FailedCreate",
    "Stalled=True RolledBack",
    "Stalled=True NameTaken",
    "Stalled=True Rejected",
    "Stalled=True WatchFailing",
    "Stalled=True PodOverridesInvalid",
    "Stalled=True PodOverridesNotAllowed",
    "Stalled=True RestartSourceMissing",
    "Stalled=True Forbidden",
    "Reconciling=True APIServerError",
    "Reconciling=True WaitingForDeletion",
    "RouteAccepted=True Accepted",
    "RouteAccepted=True AddressAssigned",
    "RouteAccepted=Unknown AcceptancePending",
    "RouteAccepted=False NotAllowedByListeners",
    "RouteAccepted=False HostnameConflict",
    "RouteAccepted=False GatewayAPIMissing",
    "ScalingActive=True ValidMetricFound",
    "ScalingActive=False FailedGetResourceMetric",
];

/// By this name `scripts/test --all schedules` finds it.
mod properties {
    use super::*;

    #[test]
    fn conditions_are_true_when_they_are_written() {
        let desired = if seed::is_thorough() { THOROUGH } else { USUAL };
        drop(seed::rng!());
        let mut runner = seed::runner_of(seed::seed());
        let (mut said, mut samples, mut statuses, mut runs) = (BTreeMap::<String, usize>::new(), 0, 0, 0);
        let mut false_statuses = BTreeMap::<String, (usize, String)>::new();
        // Some are rare: a rollback needs an image that was ready, another that never is, and time.
        let is_hardly =
            |said: &BTreeMap<String, usize>, often: &str| said.get(often).copied().unwrap_or(0) < desired / 1_000;
        while samples < desired || samples < 4 * desired && OFTEN.iter().any(|often| is_hardly(&said, often)) {
            let run =
                (spec(), prop::collection::vec(step(), 10..80)).new_tree(&mut runner).expect("steps can be drawn");
            let (spec, steps) = run.current();
            let mut site = Site::new(&spec);
            for (at, step) in steps.iter().enumerate() {
                let Some(sample) = site.take(step.clone()) else { continue };
                match judge::judge(&sample) {
                    Ok(label) => label.into_iter().for_each(|word| *said.entry(word).or_default() += 1),
                    Err(why) => {
                        let describe = || (0, format!("{sample}\nrun {runs}, after {:?}\nof {spec}", &steps[..=at]));
                        false_statuses.entry(why).or_insert_with(describe).0 += 1;
                    }
                }
                statuses += 1;
                samples += usize::from(sample.is_summary());
            }
            runs += 1;
        }
        println!(
            "{samples} of {statuses} statuses in {runs} runs report Ready or Stalled, {} false: {said:#?}",
            false_statuses.len()
        );
        for (why, (times, first)) in &false_statuses {
            println!("{times} times: {why}: {first}\n");
        }
        assert!(
            false_statuses.is_empty(),
            "false: {:#?}",
            false_statuses.iter().map(|(why, (times, _))| (why, times)).collect::<Vec<_>>()
        );
        for often in OFTEN {
            assert!(!is_hardly(&said, often), "{often} is hardly sampled: {said:#?}");
        }
    }
}
