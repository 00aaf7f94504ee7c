//! Every scenario survives random schedules: half of them the same in each run, half of them by the seed of this run.

use simulation::run::{Detail, run};
use simulation::scenario::{Scenario, etcd_cluster, my_app, sample};
use simulation::seed::{References, judge, schedule};

/// The same seeds in each run: what was survived once is survived again.
const FIXED: u64 = 1_000_000;

fn survives(scenario: &Scenario, schedules: u64) {
    let mut references = References::default();
    let fresh = seed::seed();
    for index in 0..schedules {
        let seed = if index % 2 == 0 { FIXED + index / 2 } else { fresh.wrapping_add(index / 2) };
        let outcome =
            judge(scenario, &schedule(scenario, seed), seed, &mut references, Detail::Writes).expect("the world runs");
        assert!(
            outcome.violations.is_empty(),
            "{:#?}\nthe story: scripts/simulate --scenario {} --replay {seed}",
            outcome.violations,
            scenario.name
        );
    }
}

#[test]
fn samples_survive_random_schedules() {
    survives(&sample::SCENARIO, 4);
}

#[test]
fn my_apps_survive_random_schedules() {
    survives(&my_app::SCENARIO, 4);
}

#[test]
fn etcd_clusters_survive_random_schedules() {
    survives(&etcd_cluster::SCENARIO, 2);
}

#[test]
fn a_seed_tells_the_same_story_twice() {
    for scenario in [&sample::SCENARIO, &my_app::SCENARIO, &etcd_cluster::SCENARIO] {
        let tell = || run(scenario, &schedule(scenario, 1), 1, Detail::Requests).expect("the world runs").story;
        let (one, other) = (tell(), tell());
        let first = one.iter().zip(&other).find(|(one, other)| one != other);
        assert!(first.is_none() && one.len() == other.len(), "{}: {first:#?}", scenario.name);
    }
}
