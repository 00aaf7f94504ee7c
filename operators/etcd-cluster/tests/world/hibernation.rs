//! All members are stopped and start again on their volumes, at whatever moment that is asked for and the manager crashes.

use runtime::cache::Projection as _;
use runtime::projections::Pod;
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::stories::{settle, version};

const ROUNDS: usize = 24;

/// Rounds until the cluster hibernates.
fn hibernates(bench: &mut Bench) {
    for _ in 0..60 {
        bench.round();
        if let Err(why) = bench.check_invariants() {
            panic!("{why}\n{}", bench.story());
        }
        let ready = bench.condition("Ready").map_or("", |ready| ready["reason"].as_str().unwrap_or_default());
        if ready == "Hibernated" && bench.world.all(Pod::KIND).next().is_none() {
            return;
        }
    }
    panic!("it does not hibernate: {}\n{}", bench.status(), bench.story());
}

/// Settles, and checks that these are the same members.
fn resumes(bench: &mut Bench, id: Option<&str>, members: &[u64]) {
    settle(bench);
    assert_eq!((bench.cluster_id(), bench.ids()), (id, members.to_vec()), "{}", bench.story());
}

fn specs() -> [Value; 3] {
    [
        json!({ "size": 3 }),
        json!({ "size": 1 }),
        json!({ "size": 3, "replaceAfter": "1m", "recovery": { "policy": "Automatic" } }),
    ]
}

#[test]
fn the_same_members_resume_after_days_whenever_the_manager_crashes() {
    for spec in specs() {
        let mut bench = Bench::new(&spec);
        settle(&mut bench);
        let (id, members) = (bench.cluster_id().map(str::to_owned), bench.ids());
        bench.take(&Step::Edit(Edit::Hibernate(true)));
        for crash_after in 0..4 {
            let mut crashed = bench.fork();
            crashed.world.deliver_all_events();
            crashed.pass(ReconcileFaults { crash_after: Some(crash_after), ..ReconcileFaults::default() });
            hibernates(&mut crashed);
            assert!(
                !crashed.is("Stalled") && !crashed.is("QuorumHealthy") && crashed.is("Ready"),
                "{}",
                crashed.status()
            );
            crashed.now += jiff::SignedDuration::from_hours(72);
            (0..3).for_each(|_| crashed.round());
            resumes(&mut crashed, id.as_deref(), &members);
        }
    }
}

#[test]
fn hibernation_at_any_moment_of_growth_or_of_an_upgrade_loses_nothing() {
    for (spec, edit) in [
        (json!({ "size": 3 }), None),
        (json!({ "size": 3 }), Some(Edit::Size(5))),
        (json!({ "size": 3, "version": "3.5.35" }), Some(Edit::Version(version("3.6.16")))),
    ] {
        let mut bench = Bench::new(&spec);
        if let Some(edit) = edit {
            settle(&mut bench);
            bench.take(&Step::Edit(edit));
        }
        for _ in 0..ROUNDS {
            let mut other = bench.fork();
            other.take(&Step::Edit(Edit::Hibernate(true)));
            hibernates(&mut other);
            let id = other.cluster_id().map(str::to_owned);
            let volumes: Vec<String> = other.etcds.volumes.keys().cloned().collect();
            settle(&mut other);
            assert!(id.is_none() || other.cluster_id() == id.as_deref(), "{}", other.story());
            assert!(volumes.iter().all(|volume| other.etcds.volumes.contains_key(volume)), "{}", other.story());
            bench.round();
        }
    }
}
