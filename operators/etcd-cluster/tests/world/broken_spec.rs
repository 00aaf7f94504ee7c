//! A spec that cannot work affects at most one member, whatever else is lost meanwhile, and reverting it repairs everything.

use serde_json::json;

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::kubelet::seen;
use crate::stories::{settle, version};

fn settled(size: u8) -> Bench {
    let mut bench = Bench::new(&json!({ "size": size }));
    settle(&mut bench);
    bench
}

/// The index of a pod whose etcd runs.
fn healthy_pod(bench: &Bench) -> usize {
    let runs = |pod: &String| bench.etcds.processes.contains_key(pod);
    bench.pods().iter().position(runs).expect("one runs")
}

/// A rolling update halts at its first member; then another one loses its pod.
fn halted_and_then_one_lost(bad: &Edit) -> Bench {
    let mut bench = settled(3);
    if let Edit::Version(version) = bad {
        bench.take(&Step::Image { version: *version, there: false });
    }
    bench.take(&Step::Edit(bad.clone()));
    bench.take(&Step::Calm(20));
    // An image is checked first, an option is not.
    let well_yet = if matches!(bad, Edit::Version(_)) { 3 } else { 2 };
    assert_eq!(bench.etcds.processes.len(), well_yet, "{}", bench.story());
    let pod = healthy_pod(&bench);
    bench.take(&Step::Evict(pod));
    bench.take(&Step::Calm(20));
    bench
}

#[test]
fn a_halted_rolling_update_and_a_lost_pod_cost_no_quorum() {
    for bad in [Edit::Option { good: false }, Edit::Version(version("3.6.99"))] {
        let bench = halted_and_then_one_lost(&bad);
        assert!(bench.etcds.processes.len() >= 2, "{bad:?}: {}", bench.story());
        assert!(bench.is("QuorumHealthy"), "{bad:?}: {}", bench.story());
        let known = seen(&bench.world).iter().filter(|pod| pod.image.ends_with("3.6.16") && !pod.bad_option).count();
        assert!(known >= 2, "{bad:?}: {}", bench.story());
    }
}

#[test]
fn reverting_a_bad_spec_repairs_its_effects() {
    for lost in 0..3 {
        let mut bench = settled(3);
        let before = bench.ids();
        bench.take(&Step::Edit(Edit::Option { good: false }));
        bench.take(&Step::Calm(20));
        // Either one, and once more after that.
        (0..2).for_each(|again| {
            bench.take(&Step::Evict((lost + again) % 3));
            bench.take(&Step::Calm(10));
        });
        bench.take(&Step::Edit(Edit::Version(version("3.6.16"))));
        settle(&mut bench);
        assert_eq!(bench.ids(), before, "{}", bench.story());
    }
}

#[test]
fn reverting_a_spec_that_turned_bad_before_any_member_was_ready_repairs_the_cluster() {
    let with = |size: u8, version: &str, storage| json!({ "size": size, "version": version, "storage": storage });
    let ephemeral = json!({ "ephemeral": true });
    for spec in [with(3, "3.6.16", json!({})), with(2, "3.2.13", json!({})), with(2, "3.2.13", ephemeral)] {
        for (rounds, pod) in (2..9).flat_map(|rounds| [None, Some(0), Some(1)].map(|pod| (rounds, pod))) {
            let mut bench = Bench::new(&spec);
            let bad = [Step::Calm(rounds), Step::Edit(Edit::Option { good: false }), Step::Calm(5)];
            let evicted = pod.map(|pod| [Step::Evict(pod), Step::Calm(2)]);
            bad.iter().chain(evicted.iter().flatten()).for_each(|step| bench.take(step));
            settle(&mut bench);
        }
    }
}

#[test]
fn a_good_change_after_a_bad_one_is_rolled_out() {
    let mut bench = halted_and_then_one_lost(&Edit::Option { good: false });
    bench.take(&Step::Edit(Edit::Option { good: true }));
    bench.take(&Step::Calm(60));
    let pods = seen(&bench.world);
    assert!(pods.iter().all(|pod| !pod.bad_option) && bench.is("Ready"), "{}", bench.story());
}

#[test]
fn a_repeated_bad_spec_affects_one_member_again() {
    let mut bench = halted_and_then_one_lost(&Edit::Option { good: false });
    settle(&mut bench);
    for lost in 0..3 {
        bench.take(&Step::Edit(Edit::Option { good: false }));
        bench.take(&Step::Calm(20));
        bench.take(&Step::Evict(lost));
        bench.take(&Step::Calm(20));
        assert!(bench.is("QuorumHealthy"), "{lost}: {}", bench.story());
        settle(&mut bench);
    }
}

#[test]
fn members_that_join_while_an_image_is_missing_restart_with_their_last_spec() {
    let mut bench = Bench::new(&json!({ "size": 1, "version": "3.5.35" }));
    settle(&mut bench);
    bench.take(&Step::Image { version: version("3.6.99"), there: false });
    bench.take(&Step::Edit(Edit::Version(version("3.6.99"))));
    bench.take(&Step::Calm(10));
    bench.take(&Step::Edit(Edit::Size(3)));
    bench.take(&Step::Calm(60));
    assert_eq!(bench.etcds.processes.len(), 3, "{}", bench.story());
    (0..3).for_each(|pod| bench.take(&Step::Evict(pod)));
    bench.take(&Step::Calm(30));
    assert!(bench.is("QuorumHealthy"), "{}", bench.story());
    let known = seen(&bench.world).iter().filter(|pod| pod.image.ends_with("3.5.35")).count();
    assert_eq!(known, 3, "{}", bench.story());
    settle(&mut bench);
}

#[test]
fn members_without_volumes_are_not_replaced_by_one_that_never_runs() {
    for other in [Edit::Option { good: true }, Edit::Isolated(false)] {
        let mut bench = Bench::new(&json!({ "size": 3, "storage": { "ephemeral": true } }));
        settle(&mut bench);
        let before = bench.ids();
        bench.take(&Step::Edit(Edit::Option { good: false }));
        bench.take(&Step::Calm(30));
        let cluster = bench.cluster().expect("it is latched");
        let voters: Vec<u64> = cluster.voters().map(|member| member.id).collect();
        assert_eq!((voters, bench.etcds.processes.len()), (before, 3), "{}", bench.story());
        // One more pod is lost with its data, and there is still quorum.
        let pod = healthy_pod(&bench);
        bench.take(&Step::Evict(pod));
        bench.take(&Step::Calm(10));
        assert!(bench.is("QuorumHealthy"), "{}", bench.story());
        bench.take(&Step::Edit(other));
        if !matches!(bench.object()["spec"]["options"]["max-wals"].as_str(), Some("7")) {
            bench.edit(|object| drop(object["spec"].as_object_mut().map(|spec| spec.remove("options"))));
        }
        bench.take(&Step::Calm(90));
        assert!(bench.is("Ready"), "at once, and not after minutes: {}", bench.story());
        settle(&mut bench);
    }
}

#[test]
fn members_without_volumes_are_replaced_after_another_one_votes() {
    for version in ["3.2.13", "3.3.27", "3.6.16"] {
        let mut bench = Bench::new(&json!({ "size": 3, "version": version, "storage": { "ephemeral": true } }));
        settle(&mut bench);
        let before = bench.ids();
        bench.take(&Step::Edit(Edit::Restart(1)));
        for _ in 0..120 {
            bench.round();
            assert!(bench.cluster().is_some_and(|cluster| cluster.voters().count() >= 3), "{}", bench.story());
        }
        settle(&mut bench);
        assert!(bench.ids().iter().all(|id| !before.contains(id)), "{version} {}", bench.story());
    }
}

/// Its data would be lost with its pod, and it has been silent only for a moment.
#[test]
fn a_member_without_a_volume_that_does_not_answer_once_keeps_its_pod_though_the_spec_changes() {
    let mut bench = Bench::new(&json!({ "size": 3, "version": "3.6.16", "storage": { "ephemeral": true } }));
    settle(&mut bench);
    bench.take(&Step::Calm(40));
    let before = bench.ids();
    bench.take(&Step::Cut { pod: 0, cut: true });
    bench.take(&Step::Edit(Edit::Option { good: true }));
    bench.take(&Step::Calm(20));
    assert_eq!(bench.ids(), before, "{}", bench.story());
    settle(&mut bench);
}

#[test]
fn no_healthy_pod_is_replaced_by_one_that_the_api_server_rejects() {
    let mut bench = settled(3);
    let before: Vec<String> = seen(&bench.world).into_iter().map(|pod| pod.uid).collect();
    bench.refuses = Some("Pod \"c-probe\" is invalid: spec.affinity".to_owned());
    bench.take(&Step::Edit(Edit::Restart(1)));
    bench.take(&Step::Calm(10));
    let after: Vec<String> = seen(&bench.world).into_iter().map(|pod| pod.uid).collect();
    assert_eq!(after, before, "{}", bench.story());
    let reported = bench.condition("Stalled").expect("it is").clone();
    assert!(
        reported["reason"] == "PodRefused" && reported["message"].as_str().is_some_and(|m| m.contains("spec.affinity")),
        "{reported}"
    );
    settle(&mut bench);
}

/// A version whose image is deleted does not block the next one.
#[test]
fn a_version_without_an_image_is_replaced_by_its_next_patch() {
    for size in 1..=3 {
        let mut bench = settled(size);
        let before = bench.ids();
        bench.take(&Step::Image { version: version("3.6.16"), there: false });
        bench.take(&Step::Edit(Edit::Restart(1)));
        bench.take(&Step::Calm(20));
        assert!(!bench.is("Ready"), "{}", bench.story());
        bench.take(&Step::Edit(Edit::Version(version("3.6.99"))));
        bench.take(&Step::Calm(60));
        assert!(bench.is("Ready"), "{size}: {}", bench.story());
        settle(&mut bench);
        assert_eq!(bench.ids(), before, "{}", bench.story());
    }
}
