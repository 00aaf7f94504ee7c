//! Isolated pods: etcd runs, but the spec keeps the operator and the other members from reaching it.

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::kubelet::seen;
use crate::stories::{settle, version};

fn settled(size: u8) -> Bench {
    settled_at(size, "3.6.16")
}

pub fn settled_at(size: u8, version: &str) -> Bench {
    let mut bench = Bench::new(&json!({ "size": size, "version": version }));
    settle(&mut bench);
    bench
}

/// The versions that pods run, each once.
fn running(bench: &Bench) -> Vec<String> {
    let mut all: Vec<_> = bench.etcds.processes.values().map(|process| process.version.to_string()).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn reverting_a_spec_repairs_an_isolated_member() {
    for lost in [None, Some(0), Some(1), Some(2)] {
        let mut bench = settled(3);
        let before = bench.ids();
        bench.take(&Step::Edit(Edit::Isolated(true)));
        bench.take(&Step::Calm(20));
        let isolated = || seen(&bench.world).iter().filter(|pod| pod.isolated).count();
        assert_eq!((isolated(), bench.etcds.processes.len()), (1, 3), "{}", bench.story());
        assert!(bench.is("QuorumHealthy"), "{}", bench.story());
        if let Some(lost) = lost {
            // Its node is lost as well, so there is no quorum until the isolated one is back.
            bench.take(&Step::Node { node: lost, up: false });
            bench.take(&Step::Calm(5));
        }
        bench.take(&Step::Edit(Edit::Isolated(false)));
        bench.take(&Step::Calm(90));
        assert!(bench.is("QuorumHealthy"), "{lost:?} {}", bench.story());
        settle(&mut bench);
        assert_eq!(bench.ids(), before, "{}", bench.story());
    }
}

#[test]
fn a_single_isolated_member_gets_the_next_spec() {
    let mut bench = settled(1);
    bench.take(&Step::Edit(Edit::Isolated(true)));
    bench.take(&Step::Calm(20));
    assert!(!bench.is("QuorumHealthy"), "{}", bench.story());
    settle(&mut bench);
}

#[test]
fn an_isolated_member_gets_the_next_spec() {
    let mut bench = settled(3);
    bench.take(&Step::Edit(Edit::Isolated(true)));
    bench.take(&Step::Calm(20));
    bench.take(&Step::Edit(Edit::Isolated(false)));
    bench.take(&Step::Edit(Edit::Option { good: true }));
    bench.take(&Step::Calm(90));
    assert!(bench.is("Ready"), "{}", bench.story());
}

/// It has no volume to restart on.
#[test]
fn an_isolated_member_that_loses_its_volume_is_replaced_once_the_spec_changes() {
    for damage in [Step::Lose, Step::DropClaim] {
        for next in [None, Some(Edit::Option { good: true }), Some(Edit::Version(version("v3.7.3")))] {
            let mut bench = settled(3);
            let before = bench.ids();
            bench.take(&Step::Edit(Edit::Isolated(true)));
            bench.take(&Step::Calm(20));
            let pods = seen(&bench.world);
            let isolated = pods.iter().find(|pod| pod.isolated).expect("a roll begins");
            let place = bench.place_of(&isolated.name);
            bench.take(&damage(place));
            bench.take(&Step::Calm(40));
            assert_eq!(bench.ids(), before, "another one would be isolated as well: {}", bench.story());
            next.iter().for_each(|edit| bench.take(&Step::Edit(edit.clone())));
            settle(&mut bench);
            let kept = bench.ids().iter().filter(|id| before.contains(id)).count();
            assert_eq!(kept, 2, "{next:?} {}", bench.story());
        }
    }
}

#[test]
fn an_isolated_member_with_data_in_its_pod_is_replaced_once_the_spec_changes() {
    let mut bench = Bench::new(&json!({ "size": 3, "version": "3.6.16", "storage": { "ephemeral": true } }));
    settle(&mut bench);
    bench.take(&Step::Edit(Edit::Isolated(true)));
    bench.take(&Step::Calm(40));
    settle(&mut bench);
}

/// A first member that is isolated from its start.
fn first(size: u8, version: &str, storage: Value) -> Bench {
    let labels = json!({ "labels": { "isolated": "yes" } });
    let mut bench = Bench::new(&json!({ "size": size, "version": version, "storage": storage, "pod": labels }));
    bench.take(&Step::Calm(40));
    assert!(bench.cluster().is_none() && bench.etcds.processes.len() == 1, "{}", bench.story());
    bench
}

#[test]
fn an_isolated_first_member_gets_the_next_spec() {
    for (size, storage) in [(1, json!({})), (3, json!({})), (3, json!({ "ephemeral": true }))] {
        let mut bench = first(size, "3.6.16", storage);
        bench.take(&Step::Edit(Edit::Isolated(false)));
        bench.take(&Step::Calm(60));
        assert!(bench.is("Ready"), "{}", bench.story());
        settle(&mut bench);
    }
}

#[test]
fn the_volume_of_an_isolated_first_member_is_kept() {
    let mut bench = first(1, "3.6.16", json!({}));
    let begun: Vec<u64> = bench.etcds.clusters.keys().copied().collect();
    bench.take(&Step::Edit(Edit::Isolated(false)));
    settle(&mut bench);
    assert_eq!(bench.etcds.clusters.keys().copied().collect::<Vec<_>>(), begun, "{}", bench.story());
}

#[test]
fn an_isolated_first_member_answers_before_it_changes_its_minor_version() {
    for (from, to, runs) in [
        ("3.6.16", "v3.7.3", "3.7.3"),
        ("3.5.35", "3.6.16", "3.6.16"),
        ("3.4.40", "3.5.35", "3.5.35"),
        // Rejected.
        ("3.6.16", "3.5.35", "3.6.16"),
        ("3.5.35", "v3.7.3", "3.5.35"),
    ] {
        for size in [1, 3] {
            let mut bench = first(size, from, json!({}));
            bench.take(&Step::Edit(Edit::Isolated(false)));
            bench.take(&Step::Edit(Edit::Version(version(to))));
            let mut ran = vec![running(&bench)];
            while bench.cluster().is_none() && ran.len() < 60 {
                bench.round();
                ran.push(running(&bench));
            }
            let other = |ran: &Vec<String>| ran.iter().any(|version| *version != from);
            assert!(!ran.iter().any(other), "{from} to {to}: {ran:?} {}", bench.story());
            settle(&mut bench);
            assert_eq!(running(&bench), [runs], "{from} to {to}: {}", bench.story());
        }
    }
}

#[test]
fn an_isolated_first_member_with_data_in_its_pod_is_recreated_with_the_current_spec() {
    let mut bench = first(3, "3.6.16", json!({ "ephemeral": true }));
    bench.take(&Step::Edit(Edit::Isolated(false)));
    bench.take(&Step::Edit(Edit::Version(version("3.4.40"))));
    settle(&mut bench);
    assert_eq!(running(&bench), ["3.4.40"], "no client could ever connect: {}", bench.story());
}

#[test]
fn an_isolation_and_the_version_are_corrected_at_once() {
    for (from, to, runs) in [
        ("3.6.16", "v3.7.3", "3.7.3"),
        ("3.5.35", "3.6.16", "3.6.16"),
        ("3.4.40", "3.5.35", "3.5.35"),
        // Rejected.
        ("3.6.16", "3.5.35", "3.6.16"),
    ] {
        for size in [1, 3] {
            let mut bench = settled_at(size, from);
            let before = bench.ids();
            bench.take(&Step::Edit(Edit::Isolated(true)));
            bench.take(&Step::Calm(40));
            assert_eq!(seen(&bench.world).iter().filter(|pod| pod.isolated).count(), 1, "{}", bench.story());
            bench.take(&Step::Edit(Edit::Isolated(false)));
            bench.take(&Step::Edit(Edit::Version(version(to))));
            bench.take(&Step::Calm(120));
            assert!(bench.is("QuorumHealthy"), "{from} to {to}: {}", bench.story());
            settle(&mut bench);
            assert_eq!((bench.ids(), running(&bench)), (before, vec![runs.to_owned()]), "{}", bench.story());
        }
    }
}

#[test]
fn an_isolation_that_costs_quorum_is_corrected_together_with_other_changes() {
    for other in [Edit::Quota(true), Edit::Option { good: true }, Edit::Version(version("v3.7.3"))] {
        let mut bench = settled(2);
        let before = bench.ids();
        bench.take(&Step::Edit(Edit::Isolated(true)));
        bench.take(&Step::Calm(40));
        assert!(!bench.is("QuorumHealthy"), "{}", bench.story());
        bench.take(&Step::Edit(Edit::Isolated(false)));
        bench.take(&Step::Edit(other.clone()));
        bench.take(&Step::Calm(120));
        assert!(bench.is("Ready"), "{other:?}: {}", bench.story());
        settle(&mut bench);
        assert_eq!(bench.ids(), before, "{}", bench.story());
    }
}

/// Before 3.4 a member votes as soon as it is listed.
#[test]
fn a_second_member_that_votes_and_was_never_reached_gets_the_next_spec() {
    for (calm, storage) in [(3, json!({})), (2, json!({ "ephemeral": true }))] {
        for next in [None, Some(Edit::Version(version("3.3.27")))] {
            let mut bench = Bench::new(&json!({ "size": 3, "version": "3.2.13", "storage": storage }));
            bench.take(&Step::Calm(calm));
            bench.take(&Step::Edit(Edit::Isolated(true)));
            bench.take(&Step::Calm(10));
            assert!(!bench.is("QuorumHealthy"), "{}", bench.story());
            next.iter().for_each(|edit| bench.take(&Step::Edit(edit.clone())));
            settle(&mut bench);
        }
    }
}

#[test]
fn an_isolation_and_an_upgrade_are_reverted_at_once() {
    // The only member has upgraded the cluster version, though the operator has not observed that: it cannot go back.
    for (size, runs) in [(1, "3.6.16"), (3, "3.5.35")] {
        let mut bench = settled_at(size, "3.5.35");
        let before = bench.ids();
        bench.take(&Step::Edit(Edit::Isolated(true)));
        bench.take(&Step::Edit(Edit::Version(version("3.6.16"))));
        bench.take(&Step::Calm(40));
        bench.take(&Step::Edit(Edit::Isolated(false)));
        bench.take(&Step::Edit(Edit::Version(version("3.5.35"))));
        bench.take(&Step::Calm(120));
        assert!(bench.is("QuorumHealthy"), "{}", bench.story());
        settle(&mut bench);
        assert_eq!((bench.ids(), running(&bench)), (before, vec![runs.to_owned()]), "{}", bench.story());
    }
}

/// The first member is latched, and has not run the current spec, so no spec is known to run in it. The second one's pod waits to
/// be listed.
#[test]
fn a_member_that_restarts_isolated_before_the_second_one_has_joined_gets_the_next_spec() {
    for next in [None, Some(Edit::Quota(true))] {
        let mut bench = Bench::new(&json!({ "size": 2, "version": "3.6.16" }));
        bench.take(&Step::Calm(3));
        bench.take(&Step::Edit(Edit::Isolated(true)));
        bench.take(&Step::Calm(3));
        let first = bench.etcds.processes.keys().next().cloned().expect("it runs");
        let place = bench.place_of(&first);
        bench.take(&Step::Evict(place));
        bench.take(&Step::Calm(40));
        let isolated: Vec<String> =
            seen(&bench.world).into_iter().filter(|pod| pod.isolated).map(|pod| pod.name).collect();
        assert!(bench.pods().len() == 2 && isolated.contains(&first), "{}", bench.story());
        let before = bench.ids();
        assert_eq!(before.len(), 1, "{}", bench.story());
        bench.take(&Step::Edit(Edit::Isolated(false)));
        next.iter().for_each(|edit| bench.take(&Step::Edit(edit.clone())));
        settle(&mut bench);
        assert!(bench.ids().contains(&before[0]), "{}", bench.story());
    }
}

/// Two members vote, and the first one has not run the current spec while it was healthy.
#[test]
fn an_isolated_member_of_two_without_a_known_good_spec_recovers_with_other_changes() {
    let mut bench = Bench::new(&json!({ "size": 2, "version": "3.6.16" }));
    bench.take(&Step::Calm(3));
    bench.take(&Step::Edit(Edit::Quota(true)));
    for _ in 0..30 {
        bench.round();
        if bench.cluster().is_some_and(|cluster| cluster.voters().count() == 2) {
            break;
        }
    }
    let before = bench.ids();
    assert_eq!(before.len(), 2, "{}", bench.story());
    bench.take(&Step::Edit(Edit::Isolated(true)));
    bench.take(&Step::Evict(0));
    bench.take(&Step::Calm(40));
    assert!(!bench.is("QuorumHealthy"), "{}", bench.story());
    bench.take(&Step::Edit(Edit::Isolated(false)));
    bench.take(&Step::Edit(Edit::Quota(false)));
    settle(&mut bench);
    assert_eq!(bench.ids(), before, "{}", bench.story());
}
