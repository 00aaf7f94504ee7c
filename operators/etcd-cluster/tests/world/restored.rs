//! A cluster begins again from a snapshot, at whatever moment the manager crashes or the EtcdRestore is deleted.

use etcd_cluster::EtcdRestoreKind;
use runtime::cache::Projection as _;
use runtime::projections::{CustomKind as _, Pvc};
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::Step;
use crate::stories::settle;

/// A settled cluster, and a restore of it that is about to begin.
fn about_to_begin(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    let restore = json!({
        "metadata": {},
        "spec": { "etcdCluster": { "name": "c" }, "replaceClusterID": bench.cluster_id(),
            "pvc": { "claimName": "store", "file": "b.db" } },
        "status": { "verified": { "generation": 1, "revision": 9, "sha256": "ab" } },
    });
    bench.world.create(EtcdRestoreKind::KIND, &bench.key.sibling("r"), restore);
    bench.world.deliver_all_events();
    bench
}

/// The names of PVCs that the restore has retired.
fn replaced(bench: &Bench) -> Vec<String> {
    let is_replaced = |claim: &Value| claim["metadata"]["labels"]["multi-operator.example.com/replaced-by"].is_string();
    let claims = bench.world.all(Pvc::KIND).filter(|(_, claim)| is_replaced(claim));
    claims.map(|(key, _)| key.name.to_string()).collect()
}

/// Settles, and checks that the cluster began again and that the earlier members' volumes are there.
fn begins_again(bench: &mut Bench, before: &str, members: &[String]) {
    settle(bench);
    assert_ne!(bench.cluster_id(), Some(before), "{}", bench.story());
    assert_eq!(bench.status()["restore"]["outcome"], "Restored", "{}", bench.story());
    assert!(members.iter().all(|member| replaced(bench).contains(member)), "{}", bench.story());
    assert!(bench.members().iter().all(|member| !members.contains(member)), "{}", bench.story());
}

fn specs() -> [Value; 2] {
    [json!({ "size": 3 }), json!({ "size": 1, "storage": { "size": "1Gi", "onDelete": "Delete" } })]
}

#[test]
fn a_cluster_begins_again_whenever_the_manager_crashes() {
    for spec in specs() {
        let mut bench = about_to_begin(&spec);
        let (before, members) = (bench.cluster_id().expect("an id").to_owned(), bench.members());
        for _ in 0..40 {
            for crash_after in 0..4 {
                let mut crashed = bench.fork();
                crashed.tick();
                crashed.world.deliver_all_events();
                crashed.pass(ReconcileFaults { crash_after: Some(crash_after), ..ReconcileFaults::default() });
                begins_again(&mut crashed, &before, &members);
            }
            if !bench.status()["restore"]["endedAt"].is_null() {
                break;
            }
            bench.round();
        }
        assert_eq!(bench.status()["restore"]["outcome"], "Restored", "{}", bench.story());
    }
}

#[test]
fn a_restore_that_is_deleted_returns_the_cluster_unless_it_has_begun_again() {
    for spec in specs() {
        let mut bench = about_to_begin(&spec);
        let (before, members) = (bench.cluster_id().expect("an id").to_owned(), bench.members());
        let mut outcomes = Vec::new();
        for _ in 0..40 {
            let mut deleted = bench.fork();
            deleted.world.remove(EtcdRestoreKind::KIND, &deleted.key.sibling("r"));
            settle(&mut deleted);
            let outcome = deleted.status()["restore"]["outcome"].as_str().unwrap_or("none").to_owned();
            if outcome == "Restored" {
                begins_again(&mut deleted, &before, &members);
            } else {
                assert_eq!(deleted.cluster_id(), Some(&*before), "{}", deleted.story());
                assert_eq!(
                    (deleted.members(), replaced(&deleted)),
                    (members.clone(), Vec::new()),
                    "{}",
                    deleted.story()
                );
            }
            outcomes.push(outcome);
            if !bench.status()["restore"]["endedAt"].is_null() {
                break;
            }
            bench.round();
        }
        outcomes.dedup();
        assert_eq!(outcomes, ["none", "Canceled", "Restored"]);
    }
}

/// A member's volume that is terminating when the cluster begins again stays as well.
#[test]
fn a_volume_that_a_user_deleted_before_stays() {
    let mut bench = about_to_begin(&json!({ "size": 3 }));
    let members = bench.members();
    bench.world.delete(Pvc::KIND, &bench.key.sibling(&members[0]));
    for _ in 0..60 {
        bench.take(&Step::Calm(1));
    }
    assert_eq!(bench.status()["restore"]["outcome"], "Restored", "{}", bench.story());
    assert!(bench.world.get(Pvc::KIND, &bench.key.sibling(&members[0])).is_some(), "{}", bench.story());
}
