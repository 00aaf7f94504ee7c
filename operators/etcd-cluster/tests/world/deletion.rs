//! The object, its claims and its pods are deleted, in every order: no data goes that is to be retained.

use api::UNSAVED_DATA;
use api::etcd_cluster::ETCD_VOLUMES;
use etcd_cluster::EtcdClusterKind;
use runtime::cache::Projection as _;
use runtime::plan::Kind;
use runtime::projections::{Claim, CustomKind as _, Pod};
use serde_json::{Value, json};

use crate::bench::{Bench, is_held};
use crate::faults::{Edit, Step};
use crate::stories::settle;

/// So many rounds of two seconds are enough for three members to be replaced.
const ROUNDS: usize = 240;
/// What a user deletes.
const ALL: [Kind; 3] = [EtcdClusterKind::KIND, Claim::KIND, Pod::KIND];

fn settled(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    bench
}

/// Deletes all objects of a kind, as `kubectl delete` does.
fn delete(bench: &mut Bench, kind: Kind) {
    let keys: Vec<_> = bench.world.all(kind).map(|(key, _)| key.clone()).collect();
    keys.iter().for_each(|key| bench.world.begin_removal(kind, key));
}

fn is_there(bench: &Bench) -> bool {
    bench.world.get(EtcdClusterKind::KIND, &bench.key).is_some()
}

/// That a quorum's data is on volumes.
fn keeps_data(bench: &Bench, cluster: u64) {
    let cluster = &bench.etcds.clusters[&cluster];
    let kept = cluster.voters().filter(|member| bench.etcds.volumes.values().any(|data| data.member == member.id));
    assert!(kept.count() >= cluster.quorum(), "data is lost: {}", bench.told());
}

/// Lets time go by until the object is gone, or for as long as that could take; and the data is kept meanwhile.
fn run(bench: &mut Bench, cluster: u64, rounds: usize) {
    for _ in 0..rounds {
        bench.round();
        keeps_data(bench, cluster);
        if let Err(why) = bench.innocent() {
            panic!("{why}\n{}", bench.told());
        }
        if !is_there(bench) {
            // Garbage collection and kubelets come to their end.
            (0..5).for_each(|_| bench.round());
            return;
        }
    }
}

fn cluster(bench: &Bench) -> u64 {
    *bench.etcds.clusters.keys().next().expect("there is a cluster")
}

fn claims(bench: &Bench) -> Vec<&Value> {
    bench.world.all(Claim::KIND).map(|(_, claim)| claim).collect()
}

fn is_going(live: &Value) -> bool {
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
                // A claim that is retained, and deleted when its cluster has gone, goes.
                if is_there(&bench) {
                    delete(&mut bench, ALL[*which]);
                }
                run(&mut bench, cluster, between);
            }
            run(&mut bench, cluster, ROUNDS);
            keeps_data(&bench, cluster);
            if is_there(&bench) {
                let told = bench.condition("Terminating").expect("it is reported");
                assert_eq!(told["reason"], "DeletionBlocked", "{}", bench.told());
                assert!(claims(&bench).iter().all(|claim| is_held(claim) || !is_going(claim)), "{}", bench.told());
            } else {
                let stay = claims(&bench).iter().all(|claim| !is_going(claim) && !is_held(claim));
                assert!(stay && claims(&bench).len() == size, "{}", bench.told());
            }
        }
    }
}

#[test]
fn retained_claims_are_released_when_the_object_goes() {
    let mut bench = settled(&json!({ "size": 3 }));
    let held = |claim: &&Value| claim["metadata"]["finalizers"] == json!([UNSAVED_DATA]);
    assert_eq!(claims(&bench).iter().filter(|claim| held(claim)).count(), 3);
    assert_eq!(bench.object()["metadata"]["finalizers"], json!([ETCD_VOLUMES]));
    bench.delete();
    let cluster = cluster(&bench);
    run(&mut bench, cluster, 3);
    assert_eq!(bench.condition("Terminating").expect("it is told")["reason"], "WaitingForClaims");
    run(&mut bench, cluster, ROUNDS);
    assert!(!is_there(&bench));
    assert!(claims(&bench).len() == 3 && !claims(&bench).iter().any(|claim| is_held(claim)));
}

#[test]
fn nothing_waits_where_volumes_are_to_go() {
    for when in 0..3 {
        let mut bench =
            settled(&json!({ "size": 3, "storage": { "onDelete": if when > 0 { "Delete" } else { "Retain" } } }));
        bench.going = when == 0;
        if when == 2 {
            delete(&mut bench, Claim::KIND);
        }
        bench.delete();
        (0..6).for_each(|_| bench.round());
        assert!(!is_there(&bench), "{}", bench.told());
        assert!(claims(&bench).iter().all(|claim| !is_held(claim)));
        assert!(when == 0 || claims(&bench).is_empty(), "{}", bench.told());
    }
}

#[test]
fn a_deletion_in_the_foreground_waits_for_a_person() {
    let mut bench = settled(&json!({ "size": 3 }));
    let cluster = cluster(&bench);
    bench.edit(|object| object["metadata"]["finalizers"] = json!([ETCD_VOLUMES, "foregroundDeletion"]));
    bench.delete();
    delete(&mut bench, Claim::KIND);
    for _ in 0..20 {
        delete(&mut bench, Pod::KIND);
        run(&mut bench, cluster, 1);
    }
    assert_eq!(bench.condition("Terminating").expect("it is told")["reason"], "DeletionBlocked");
    assert!(bench.events.iter().any(|reason| reason == "DeletionBlocked"));
    assert!(bench.pods().is_empty(), "{}", bench.told());
    bench.edit(|object| object["spec"]["storage"] = json!({ "onDelete": "Delete" }));
    (0..3).for_each(|_| bench.round());
    assert!(!is_there(&bench) && claims(&bench).is_empty(), "{}", bench.told());
}

#[test]
fn claims_without_their_pods_are_kept_and_the_rest_is_up_to_a_person() {
    for (claims_gone, lost) in [(1, false), (2, true), (3, true)] {
        let mut bench = settled(&json!({ "size": 3 }));
        let cluster = cluster(&bench);
        let members = bench.pods();
        for member in &members[..claims_gone] {
            bench.world.begin_removal(Claim::KIND, &bench.key.sibling(member));
            bench.world.begin_removal(Pod::KIND, &bench.key.sibling(member));
        }
        run(&mut bench, cluster, 60);
        let kept = claims(&bench).iter().filter(|claim| is_going(claim) && is_held(claim)).count();
        assert_eq!(kept, if lost { claims_gone } else { 0 }, "{}", bench.told());
        assert_eq!(bench.is("Stalled"), lost, "{}", bench.told());
        if !lost {
            settle(&mut bench);
            continue;
        }
        let ready = bench.condition("Ready").expect("it is told")["message"].to_string();
        assert!(ready.contains("its claim is being deleted"), "{ready}");
        // The volumes are bound to claims of the same names again.
        for member in &members[..claims_gone] {
            bench.world.edit(Claim::KIND, &bench.key.sibling(member), |claim| {
                claim["metadata"].as_object_mut().map(|metadata| metadata.remove("deletionTimestamp"));
            });
        }
        settle(&mut bench);
        keeps_data(&bench, cluster);
        assert_eq!(bench.pods(), members, "they are the same members");
    }
}

#[test]
fn a_claim_that_a_person_puts_aside_is_released() {
    let mut bench = settled(&json!({ "size": 3 }));
    let member = bench.key.sibling(&bench.pods()[0]);
    bench.world.edit(Claim::KIND, &member, |claim| {
        claim["metadata"]["labels"]["multi-operator.example.com/retired"] = json!("true");
    });
    bench.round();
    assert!(!is_held(bench.world.get(Claim::KIND, &member).expect("it stays")));
}

#[test]
fn a_member_that_is_removed_leaves_a_claim_that_nothing_holds() {
    for policy in ["Retain", "Delete"] {
        let mut bench = settled(&json!({ "size": 3, "storage": { "onDelete": policy } }));
        bench.take(&Step::Edit(Edit::Size(1)));
        settle(&mut bench);
        let held = claims(&bench).iter().filter(|claim| is_held(claim)).count();
        assert_eq!((held, claims(&bench).len()), (1, if policy == "Retain" { 3 } else { 1 }), "{}", bench.told());
    }
}
