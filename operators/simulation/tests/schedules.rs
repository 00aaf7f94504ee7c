//! Every scenario survives random schedules: half of them the same in each run, half of them by the seed of this run.

use std::time::Duration;

use serde_json::json;
use simulation::happening::Happening;
use simulation::run::{Detail, run};
use simulation::scenario::{Scenario, etcd_cluster, my_app, sample, sample_db};
use simulation::schedule::Step;
use simulation::seed::{References, judge, schedule};
use simulation::user::{Deed, UserAct};

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
fn databases_survive_random_schedules() {
    survives(&sample_db::SCENARIO, 2);
}

#[test]
fn a_seed_tells_the_same_story_twice() {
    for scenario in [&sample::SCENARIO, &my_app::SCENARIO, &etcd_cluster::SCENARIO, &sample_db::SCENARIO] {
        let tell = || run(scenario, &schedule(scenario, 1), 1, Detail::Requests).expect("the world runs").story;
        let (one, other) = (tell(), tell());
        let first = one.iter().zip(&other).find(|(one, other)| one != other);
        assert!(first.is_none() && one.len() == other.len(), "{}: {first:#?}", scenario.name);
    }
}

/// Managers that do not reach the API server are silent for another reason than that they have converged.
#[test]
fn a_world_has_not_converged_while_the_api_server_is_away() {
    let put = Deed::Put(json!({ "testString": "a" }));
    let act = UserAct { plural: "samples", name: "one".to_owned(), what: put };
    let steps = [
        Step { at: Duration::ZERO, what: Happening::Away(Duration::from_secs(100)) },
        Step { at: Duration::from_secs(1), what: Happening::User(act) },
    ];
    let outcome = run(&sample::SCENARIO, &steps, 1, Detail::Writes).expect("the world runs");
    assert!(outcome.violations.is_empty(), "{:#?}", outcome.violations);
}

/// What a user does at once, and then waits for.
fn put(size: u64, version: &str) -> [Step; 2] {
    let about = |what| UserAct { plural: "etcdclusters", name: "data".to_owned(), what };
    let spec = json!({ "spec": { "size": size, "version": version } });
    let acts = [about(Deed::Put(spec)), about(Deed::Await(&[]))];
    acts.map(|act| Step { at: Duration::ZERO, what: Happening::User(act) })
}

/// Otherwise a schedule of EtcdClusters might survive because nothing happens in it.
#[test]
fn an_etcd_cluster_is_resized_and_upgraded_and_its_members_restart() {
    let kill = |at| Step { at: Duration::from_secs(at), what: Happening::KillOperand(1) };
    let steps = [&put(3, "3.4.40")[..], &put(5, "3.5.35"), &put(3, "3.6.16"), &[kill(60), kill(100)]].concat();
    let outcome = run(&etcd_cluster::SCENARIO, &steps, 1, Detail::Writes).expect("the world runs");
    let story = outcome.story.join("\n");
    assert!(outcome.violations.is_empty(), "{:#?}\n{story}", outcome.violations);
    let count = |what: &str| outcome.story.iter().filter(|line| line.contains(what)).count();
    assert!(count("manager-0: create pods team/data-") + count("manager-1: create pods team/data-") >= 5, "{story}");
    assert_eq!(count("node: kills the etcd of the pod data-"), 2, "{story}");
    // Each of five members got an image in place, and two were removed again: their PVCs are retired, not deleted.
    assert!(count("apply pods team/data-") >= 5, "{story}");
    assert_eq!(count("delete persistentvolumeclaims"), 0, "{story}");
    assert_eq!(outcome.content["etcdclusters/data"]["status"]["currentVersion"], "3.6.16");
    assert_eq!(outcome.content["etcdclusters/data"]["status"]["ready"], "3/3");
}

/// Otherwise a schedule of SampleDBs might survive because nothing happens in it.
#[test]
fn a_database_is_backed_up_restarts_with_new_parameters_and_keeps_its_rows() {
    let act = |plural, name: &str, at, what| Step {
        at: Duration::from_secs(at),
        what: Happening::User(UserAct { plural, name: name.to_owned(), what }),
    };
    let put = |connections: &str| {
        let engine = json!({ "image": "postgres:17.12", "parameters": { "max_connections": connections } });
        Deed::Put(json!({ "spec": { "engine": engine, "storage": { "size": "1Gi" } } }))
    };
    let snapshot = Deed::Put(json!({ "spec": { "sampleDB": "shop" } }));
    let steps = [
        act("sampledbs", "shop", 0, put("50")),
        act("sampledbs", "shop", 0, Deed::Await(&[])),
        act("sampledbsnapshots", "dump", 60, snapshot),
        act("sampledbs", "shop", 120, put("100")),
        Step { at: Duration::from_secs(200), what: Happening::KillOperand(0) },
    ];
    let outcome = run(&sample_db::SCENARIO, &steps, 1, Detail::Writes).expect("the world runs");
    let story = outcome.story.join("\n");
    assert!(outcome.violations.is_empty(), "{:#?}\n{story}", outcome.violations);
    let count = |what: &str| outcome.story.iter().filter(|line| line.contains(what)).count();
    for job in ["shop-init", "dump-backup", "dump-verify"] {
        assert!(story.contains(&format!("create jobs team/{job}")), "{job}: {story}");
    }
    // A parameter that takes effect at a start replaces the pod once; the kill restarts its container.
    assert_eq!(count("create pods team/shop-0"), 2, "{story}");
    assert_eq!(count("node: kills PostgreSQL"), 1, "{story}");
    assert_eq!(outcome.content["sampledbs/shop"]["status"]["ready"], "1/1");
}
