//! The object, its PVCs and its pods are deleted, in every order: no data is lost that is to be retained.

use api::UNSAVED_DATA;
use api::etcd_cluster::ETCD_VOLUMES;
use etcd_cluster::EtcdClusterKind;
use runtime::cache::Projection as _;
use runtime::plan::ResourceKind;
use runtime::projections::{CustomKind as _, Pod, Pvc};
use serde_json::{Value, json};

use crate::bench::{Bench, is_held};
use crate::faults::{Edit, Step};
use crate::stories::settle;

/// The rounds of two seconds in which three members are replaced.
const ROUNDS: usize = 240;
/// What a user deletes.
const ALL: [ResourceKind; 3] = [EtcdClusterKind::KIND, Pvc::KIND, Pod::KIND];

fn settled(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    bench
}

/// Deletes all objects of a kind, as `kubectl delete` does.
fn delete(bench: &mut Bench, kind: ResourceKind) {
    let keys: Vec<_> = bench.world.all(kind).map(|(key, _)| key.clone()).collect();
    keys.iter().for_each(|key| bench.world.delete(kind, key));
}

fn is_there(bench: &Bench) -> bool {
    bench.world.get(EtcdClusterKind::KIND, &bench.key).is_some()
}

/// Asserts that the data of a quorum is on volumes.
fn keeps_data(bench: &Bench, cluster: u64) {
    let cluster = &bench.etcds.clusters[&cluster];
    let kept = cluster.voters().filter(|member| bench.etcds.volumes.values().any(|data| data.member == member.id));
    assert!(kept.count() >= cluster.quorum(), "data is lost: {}", bench.history());
}

/// Advances until the object is deleted, or for as long as that could take, and asserts that the data is kept meanwhile.
fn run(bench: &mut Bench, cluster: u64, rounds: usize) {
    for _ in 0..rounds {
        bench.round();
        keeps_data(bench, cluster);
        if let Err(why) = bench.check_invariants() {
            panic!("{why}\n{}", bench.history());
        }
        if !is_there(bench) {
            // Garbage collection and kubelets finish.
            (0..5).for_each(|_| bench.round());
            return;
        }
    }
}

fn cluster(bench: &Bench) -> u64 {
    *bench.etcds.clusters.keys().next().expect("there is a cluster")
}

fn claims(bench: &Bench) -> Vec<&Value> {
    bench.world.all(Pvc::KIND).map(|(_, claim)| claim).collect()
}

fn is_terminating(live: &Value) -> bool {
    !live["metadata"]["deletionTimestamp"].is_null()
}

#[test]
fn in_every_order() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (order, size) in orders.iter().flat_map(|order| [1, 3].map(|size| (order, size))) {
        for between in [0, 1, 2, 7] {
            let mut bench = settled(&json!({ "size": size }));
            let cluster = cluster(&bench);
            for which in order {
                // A retained PVC that a user deletes after its cluster is deleted.
                if is_there(&bench) {
                    delete(&mut bench, ALL[*which]);
                }
                run(&mut bench, cluster, between);
            }
            run(&mut bench, cluster, ROUNDS);
            keeps_data(&bench, cluster);
            if is_there(&bench) {
                let reported = bench.condition("Terminating").expect("it is reported");
                assert_eq!(reported["reason"], "DeletionBlocked", "{}", bench.history());
                assert!(
                    claims(&bench).iter().all(|claim| is_held(claim) || !is_terminating(claim)),
                    "{}",
                    bench.history()
                );
            } else {
                let stay = claims(&bench).iter().all(|claim| !is_terminating(claim) && !is_held(claim));
                assert!(stay && claims(&bench).len() == size, "{}", bench.history());
            }
        }
    }
}

#[test]
fn retained_claims_are_released_when_the_object_is_deleted() {
    let mut bench = settled(&json!({ "size": 3 }));
    let held = |claim: &&Value| claim["metadata"]["finalizers"] == json!([UNSAVED_DATA]);
    assert_eq!(claims(&bench).iter().filter(|claim| held(claim)).count(), 3);
    assert_eq!(bench.object()["metadata"]["finalizers"], json!([ETCD_VOLUMES]));
    bench.delete();
    let cluster = cluster(&bench);
    run(&mut bench, cluster, 3);
    assert_eq!(bench.condition("Terminating").expect("a condition")["reason"], "WaitingForClaims");
    run(&mut bench, cluster, ROUNDS);
    assert!(!is_there(&bench));
    assert!(claims(&bench).len() == 3 && !claims(&bench).iter().any(|claim| is_held(claim)));
}

#[test]
fn a_deletion_with_its_volumes_does_not_wait() {
    for when in 0..3 {
        let mut bench =
            settled(&json!({ "size": 3, "storage": { "onDelete": if when > 0 { "Delete" } else { "Retain" } } }));
        bench.terminating = when == 0;
        if when == 2 {
            delete(&mut bench, Pvc::KIND);
        }
        bench.delete();
        (0..6).for_each(|_| bench.round());
        assert!(!is_there(&bench), "{}", bench.history());
        assert!(claims(&bench).iter().all(|claim| !is_held(claim)));
        assert!(when == 0 || claims(&bench).is_empty(), "{}", bench.history());
    }
}

#[test]
fn a_foreground_deletion_waits_for_a_user() {
    let mut bench = settled(&json!({ "size": 3 }));
    let cluster = cluster(&bench);
    bench.edit(|object| object["metadata"]["finalizers"] = json!([ETCD_VOLUMES, "foregroundDeletion"]));
    bench.delete();
    delete(&mut bench, Pvc::KIND);
    for _ in 0..20 {
        delete(&mut bench, Pod::KIND);
        run(&mut bench, cluster, 1);
    }
    assert_eq!(bench.condition("Terminating").expect("a condition")["reason"], "DeletionBlocked");
    assert!(bench.events.iter().any(|reason| reason == "DeletionBlocked"));
    assert!(bench.pods().is_empty(), "{}", bench.history());
    bench.edit(|object| object["spec"]["storage"] = json!({ "onDelete": "Delete" }));
    (0..3).for_each(|_| bench.round());
    assert!(!is_there(&bench) && claims(&bench).is_empty(), "{}", bench.history());
}

#[test]
fn claims_without_pods_are_kept_for_a_user_to_recover() {
    for (deleted_claims, lost) in [(1, false), (2, true), (3, true)] {
        let mut bench = settled(&json!({ "size": 3 }));
        let cluster = cluster(&bench);
        let members = bench.pods();
        for member in &members[..deleted_claims] {
            bench.world.delete(Pvc::KIND, &bench.key.sibling(member));
            bench.world.delete(Pod::KIND, &bench.key.sibling(member));
        }
        run(&mut bench, cluster, 60);
        let kept = claims(&bench).iter().filter(|claim| is_terminating(claim) && is_held(claim)).count();
        assert_eq!(kept, if lost { deleted_claims } else { 0 }, "{}", bench.history());
        assert_eq!(bench.is("Stalled"), lost, "{}", bench.history());
        if !lost {
            settle(&mut bench);
            continue;
        }
        let ready = bench.condition("Ready").expect("a condition")["message"].to_string();
        assert!(ready.contains("its PVC is terminating"), "{ready}");
        // The volumes are bound to PVCs of the same names again.
        for member in &members[..deleted_claims] {
            bench.world.edit(Pvc::KIND, &bench.key.sibling(member), |claim| {
                claim["metadata"].as_object_mut().map(|metadata| metadata.remove("deletionTimestamp"));
            });
        }
        settle(&mut bench);
        keeps_data(&bench, cluster);
        assert_eq!(bench.pods(), members, "they are the same members");
    }
}

#[test]
fn a_claim_that_a_user_retires_is_released() {
    let mut bench = settled(&json!({ "size": 3 }));
    let member = bench.key.sibling(&bench.pods()[0]);
    bench.world.edit(Pvc::KIND, &member, |claim| {
        claim["metadata"]["labels"]["multi-operator.example.com/retired"] = json!("true");
    });
    bench.round();
    assert!(!is_held(bench.world.get(Pvc::KIND, &member).expect("it stays")));
}

#[test]
fn a_removed_member_leaves_a_claim_without_finalizers() {
    for policy in ["Retain", "Delete"] {
        let mut bench = settled(&json!({ "size": 3, "storage": { "onDelete": policy } }));
        bench.take(&Step::Edit(Edit::Size(1)));
        settle(&mut bench);
        let held = claims(&bench).iter().filter(|claim| is_held(claim)).count();
        assert_eq!((held, claims(&bench).len()), (1, if policy == "Retain" { 3 } else { 1 }), "{}", bench.history());
    }
}
