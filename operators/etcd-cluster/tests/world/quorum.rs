//! Quorum is lost: nothing is destroyed, the status reports it, and the cluster recovers.

use runtime::cache::Projection;
use runtime::projections::{Pod, Pvc};
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::json;

use crate::bench::Bench;
use crate::faults::{Edit, Step, VERSIONS};
use crate::isolated::settled_at;
use crate::kubelet::{NODES, seen};
use crate::stories::settle;

/// Three healthy members.
fn three() -> Bench {
    let mut bench = Bench::new(&json!({ "size": 3 }));
    settle(&mut bench);
    bench
}

fn ids(bench: &Bench) -> Vec<(u64, String)> {
    bench.cluster().expect("it is latched").members.iter().map(|member| (member.id, member.name.clone())).collect()
}

fn uids(bench: &Bench) -> Vec<String> {
    let all = [Pod::KIND, Pvc::KIND].into_iter().flat_map(|kind| bench.world.all(kind));
    all.map(|(_, object)| object["metadata"]["uid"].to_string()).collect()
}

/// Within 10 s.
fn says_unconfirmed(bench: &Bench) {
    says(bench, "QuorumUnconfirmed");
}

fn says_lost(bench: &Bench) {
    says(bench, "QuorumLost");
}

fn says(bench: &Bench, why: &str) {
    let reason = |type_: &str| bench.condition(type_).map(|c| (c["status"].to_string(), c["reason"].to_string()));
    let lost = Some(("\"False\"".to_owned(), format!("{why:?}")));
    assert!(!bench.is("Ready"), "{}", bench.story());
    for type_ in ["Available", "QuorumHealthy"] {
        assert_eq!(reason(type_), lost, "{type_}\n{}", bench.story());
    }
    assert!(bench.is("Recovering"), "{}", bench.story());
}

fn come_back(mut bench: Bench, ids_before: &[(u64, String)]) {
    settle(&mut bench);
    assert_eq!(ids(&bench), ids_before, "the same members are back");
}

#[test]
fn two_nodes_are_down_for_long() {
    for nodes in [vec![0, 1], vec![1, 2], (0..NODES).collect()] {
        let mut bench = three();
        let (members, objects) = (ids(&bench), uids(&bench));
        nodes.iter().for_each(|node| bench.take(&Step::Node { node: *node, up: false }));
        bench.take(&Step::Calm(6));
        says_lost(&bench);
        let writes = bench.world.writes;
        for step in [Step::Wait(30), Step::Calm(20), Step::Edit(Edit::Size(1)), Step::Calm(5)] {
            bench.take(&step);
        }
        bench.take(&Step::Edit(Edit::Version(5)));
        bench.take(&Step::Calm(5));
        says_lost(&bench);
        assert!(
            bench.world.writes <= writes + 4,
            "two edits and the command for a recovery are reported, and nothing else"
        );
        assert_eq!(uids(&bench), objects, "nothing is created or deleted");
        bench.take(&Step::Edit(Edit::Size(3)));
        bench.take(&Step::Edit(Edit::Version(4)));
        come_back(bench, &members);
    }
}

#[test]
fn two_of_three_keep_crashing() {
    let mut bench = three();
    let (members, objects) = (ids(&bench), uids(&bench));
    for round in 0..30 {
        bench.tick();
        bench.take(&Step::Kill(0));
        bench.take(&Step::Kill(2));
        bench.etcds.tick();
        bench.world.deliver_all_events();
        bench.pass(ReconcileFaults::default());
        // Each takes 2 s.
        if round < 5 { says_unconfirmed(&bench) } else { says_lost(&bench) }
    }
    assert_eq!(uids(&bench), objects, "nothing is created or deleted");
    come_back(bench, &members);
}

/// The reconcile that observes it, and the next one.
#[test]
fn an_election_is_no_lost_quorum() {
    for (size, pod) in [(3, 0), (3, 1), (3, 2), (5, 3)] {
        let mut bench = Bench::new(&json!({ "size": size }));
        settle(&mut bench);
        bench.etcds.clusters.values_mut().for_each(|cluster| cluster.leader = 0);
        bench.take(&Step::EvictFully(pod));
        bench.world.deliver_all_events();
        bench.pass(ReconcileFaults::default());
        says_unconfirmed(&bench);
        for _ in 0..30 {
            assert!(!bench.is("Stalled"), "{}", bench.story());
            let reported = bench.status()["conditions"].as_array().cloned().unwrap_or_default();
            assert!(!reported.iter().any(|condition| condition["reason"] == "QuorumLost"), "{}", bench.story());
            bench.round();
        }
        assert!(!bench.events.iter().any(|reason| reason.starts_with("Quorum")), "{:?}", bench.events);
        settle(&mut bench);
    }
}

/// The probes of its version only connect, so its etcd could hang as well; but without it no read would be answered.
#[test]
fn one_unreachable_member_of_two_keeps_its_pod() {
    for pod in [0, 1] {
        let mut bench = settled_at(2, "3.3.27");
        let before = uids(&bench);
        bench.take(&Step::Cut { pod, cut: true });
        bench.take(&Step::Calm(80));
        assert!(bench.is("QuorumHealthy") && !bench.is("Ready"), "{}", bench.story());
        assert_eq!(uids(&bench), before, "{}", bench.story());
    }
}

#[test]
fn deleted_pods_are_recreated_as_they_were() {
    for evicted in [vec![0, 1], vec![0, 1, 2]] {
        let mut bench = three();
        let members = ids(&bench);
        let claims: Vec<String> =
            bench.world.all(Pvc::KIND).map(|(_, claim)| claim["metadata"]["uid"].to_string()).collect();
        evicted.iter().for_each(|pod| bench.take(&Step::Evict(*pod)));
        bench.take(&Step::Calm(2));
        says_unconfirmed(&bench);
        settle(&mut bench);
        let now: Vec<String> =
            bench.world.all(Pvc::KIND).map(|(_, claim)| claim["metadata"]["uid"].to_string()).collect();
        assert_eq!(now, claims);
        come_back(bench, &members);
    }
}

#[test]
fn the_data_of_two_of_three_is_lost() {
    let mut bench = three();
    let (members, objects) = (ids(&bench), uids(&bench));
    for pod in seen(&bench.world).into_iter().take(2) {
        bench.etcds.volumes.remove(&pod.volume);
    }
    bench.take(&Step::Calm(30));
    assert_eq!(uids(&bench), objects, "nothing is created or deleted");
    assert_eq!(ids(&bench), members);
    says_lost(&bench);
    assert!(bench.is("Stalled"), "{}", bench.story());
    let writes = bench.world.writes;
    bench.take(&Step::Wait(60));
    bench.take(&Step::Calm(10));
    assert_eq!(bench.world.writes, writes, "{}", bench.story());
    bench.check_invariants().expect("nothing that must not be");
}

/// A reinstalled node has neither its volumes nor the kubelet's state of pods.
#[test]
fn the_first_member_bootstraps_its_cluster_once() {
    for size in [1, 3] {
        let mut bench = Bench::new(&json!({ "size": size }));
        settle(&mut bench);
        let (members, clusters) = (ids(&bench), bench.etcds.clusters.len());
        let first = seen(&bench.world).into_iter().find(|pod| pod.expect != "join").expect("it is there");
        bench.etcds.processes.remove(&first.name);
        bench.etcds.volumes.remove(&first.volume);
        bench.kubelet.reinstall(&first.uid);
        bench.take(&Step::Calm(30));
        assert_eq!(bench.etcds.clusters.len(), clusters, "{}", bench.story());
        if size == 1 {
            says_lost(&bench);
            assert!(bench.is("Stalled") && ids(&bench) == members, "{}", bench.story());
        } else {
            settle(&mut bench);
        }
    }
}

/// In a pod of an earlier manager it bootstraps again, under the same ids, while the others are down. None of them is removed,
/// however many there are, not even while one is joining.
#[test]
fn no_member_loses_its_volume_by_the_list_of_a_first_member_that_bootstrapped_again() {
    let resized = [(2, 2, 0), (3, 3, 0), (3, 1, 0), (2, 1, 0)];
    for (size, next, rounds) in resized.into_iter().chain((4..30).map(|round| (1, 3, round))) {
        let mut bench = Bench::new(&json!({ "size": size }));
        settle(&mut bench);
        bench.take(&Step::Edit(Edit::Size(next)));
        (0..rounds).for_each(|_| bench.round());
        let others = bootstrap_again(&mut bench);
        bench.take(&Step::Calm(40));
        for (kind, name) in [Pod::KIND, Pvc::KIND].into_iter().flat_map(|kind| others.iter().map(move |of| (kind, of)))
        {
            let stays = bench.world.get(kind, &bench.key.sibling(name)).is_some_and(|live| {
                let meta = &live["metadata"];
                let retired = &meta["labels"]["multi-operator.example.com/retired"];
                meta["deletionTimestamp"].is_null() && retired.is_null()
            });
            assert!(stays, "of {size} to {next} after {rounds} rounds: {name}: {}", bench.story());
        }
    }
}

/// The disk of the first member is empty, it lists only itself, and the nodes of the others are down. Returns the members in
/// status.
fn bootstrap_again(bench: &mut Bench) -> Vec<String> {
    let first = seen(&bench.world).into_iter().find(|pod| pod.expect != "join").expect("it is there");
    let known = bench.status()["memberStatuses"].as_array().cloned().unwrap_or_default();
    let listed = known.iter().filter(|of| of["id"].is_string()).filter_map(|of| of["name"].as_str());
    let others = listed.filter(|name| *name != first.name).map(str::to_owned).collect();
    let id = bench.etcds.volumes[&first.volume].cluster;
    let cluster = bench.etcds.clusters.get_mut(&id).expect("it is latched");
    cluster.members.retain(|member| member.name == first.name);
    (cluster.leader, cluster.acked, cluster.written) = (cluster.members[0].id, 1, false);
    let members = cluster.members.clone();
    let data = bench.etcds.volumes.get_mut(&first.volume).expect("it is there");
    (data.index, data.members) = (100, members);
    let node = bench.kubelet.node_of(&first.uid);
    (0..NODES)
        .filter(|other| Some(*other) != node)
        .for_each(|other| bench.take(&Step::Node { node: other, up: false }));
    others
}

#[test]
fn an_unschedulable_pod_costs_no_member() {
    for size in [1, 2, 3] {
        let mut bench = Bench::new(&json!({ "size": size }));
        settle(&mut bench);
        let before = uids(&bench);
        bench.take(&Step::Edit(Edit::Nowhere(true)));
        bench.take(&Step::Calm(40));
        let after = uids(&bench);
        assert!(before.iter().all(|uid| after.contains(uid)), "size {size}: {}", bench.story());
        assert_eq!(bench.condition("Stalled").expect("a condition")["reason"], "PodRefused", "size {size}");
        bench.take(&Step::Edit(Edit::Nowhere(false)));
        settle(&mut bench);
        assert_eq!(uids(&bench), before, "size {size}: the trial is deleted, and the pods are the same");
    }
}

#[test]
fn an_image_that_cannot_be_pulled_costs_no_member() {
    for bad in ["3.6.99", "v3.7.3"] {
        let mut bench = three();
        let version = VERSIONS.iter().position(|version| *version == bad).expect("it is there");
        bench.take(&Step::Image { version, there: false });
        bench.take(&Step::Edit(Edit::Version(version)));
        bench.take(&Step::Calm(40));
        let images = seen(&bench.world).into_iter().filter(|pod| pod.image.ends_with("3.6.16")).count();
        assert_eq!(images, 3, "{}", bench.story());
        assert_eq!(bench.condition("Stalled").expect("a condition")["reason"], "ImageUnavailable");
        bench.take(&Step::Edit(Edit::Version(4)));
        settle(&mut bench);
    }
}
