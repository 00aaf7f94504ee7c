//! The object's status is lost: the operator restores it, and creates no second cluster.

use etcd_cluster::EtcdClusterKind;
use runtime::cache::Projection as _;
use runtime::projections::{CustomKind as _, Pod, Pvc};
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::kubelet::seen;
use crate::stories::{settle, version};

/// Three members, of which the first was replaced: none of the pods has the name of a first member.
fn without_its_first_member() -> Bench {
    let mut bench = Bench::new(&json!({ "size": 3 }));
    settle(&mut bench);
    let starts = |(_, pod): &(_, &Value)| pod["metadata"]["annotations"]["multi-operator.example.com/start"] != "join";
    let first = bench.world.all(Pod::KIND).position(|pod| starts(&pod)).expect("it runs since the beginning");
    bench.take(&Step::EvictFully(first));
    settle(&mut bench);
    bench
}

#[test]
fn while_all_members_run() {
    let mut bench = without_its_first_member();
    let before = bench.ids();
    bench.take(&Step::LoseStatus);
    settle(&mut bench);
    assert_eq!(bench.ids(), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn while_there_are_no_pods() {
    let mut bench = without_its_first_member();
    let before = bench.ids();
    bench.take(&Step::Edit(Edit::Paused(true)));
    for _ in 0..3 {
        bench.round();
    }
    // All nodes restart: pods are deleted one after the other, and recreated only later.
    (0..3).for_each(|pod| bench.take(&Step::Evict(pod)));
    bench.take(&Step::LoseStatus);
    bench.take(&Step::Edit(Edit::Paused(false)));
    settle(&mut bench);
    assert_eq!(bench.ids(), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn at_each_moment_of_the_bootstrap() {
    for moment in 0..40 {
        let mut bench = Bench::new(&json!({ "size": 3 }));
        (0..moment).for_each(|_| bench.round());
        bench.take(&Step::LoseStatus);
        settle(&mut bench);
        assert_eq!(bench.etcds.clusters.len(), 1, "after {moment} rounds: {}", bench.story());
    }
}

#[test]
fn of_a_cluster_without_volumes() {
    for moment in 0..40 {
        let mut bench = Bench::new(&json!({ "size": 3 }));
        bench.default_class = false;
        (0..moment).for_each(|_| bench.round());
        // A default class that is created later does not turn existing data into volumes.
        bench.default_class = true;
        let made = !bench.pods().is_empty();
        bench.take(&Step::LoseStatus);
        settle(&mut bench);
        assert_eq!(bench.etcds.clusters.len(), 1, "after {moment} rounds: {}", bench.story());
        assert!(!made || bench.status()["storage"]["durable"] == false, "{moment}: {}", bench.story());
    }
}

/// The reason of Ready.
fn reason(bench: &Bench) -> String {
    bench.condition("Ready").map_or_else(String::new, |ready| ready["reason"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn an_object_from_a_backup_waits_until_its_volumes_are_adopted() {
    let mut bench = without_its_first_member();
    let before = bench.ids();
    bench.take(&Step::Reborn { status: false });
    bench.take(&Step::Calm(30));
    assert_eq!((reason(&bench).as_str(), bench.pods()), ("VolumesFound", Vec::new()), "{}", bench.story());
    assert!(bench.is("Stalled"), "{}", bench.story());
    bench.take(&Step::Adopt);
    settle(&mut bench);
    assert_eq!(bench.ids(), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn an_object_from_a_backup_with_its_status_adopts_its_volumes_by_itself() {
    let mut bench = without_its_first_member();
    let before = bench.ids();
    bench.take(&Step::Reborn { status: true });
    settle(&mut bench);
    assert_eq!(bench.ids(), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn adoption_finishes_whenever_the_manager_dies() {
    for lives in 0..6 {
        let mut bench = without_its_first_member();
        let before = bench.ids();
        bench.take(&Step::Reborn { status: false });
        bench.take(&Step::Calm(3));
        bench.take(&Step::Adopt);
        bench.world.deliver_all_events();
        bench.take(&Step::Pass(ReconcileFaults { crash_after: Some(lives), ..ReconcileFaults::default() }));
        settle(&mut bench);
        assert_eq!(bench.ids(), before, "after {lives} writes: {}", bench.story());
        assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
    }
}

/// Changes of a cluster of three.
fn changes() -> Vec<(&'static str, Vec<Step>)> {
    vec![
        ("more members", vec![Step::Edit(Edit::Size(5))]),
        ("fewer members", vec![Step::Edit(Edit::Size(1))]),
        ("other pods", vec![Step::Edit(Edit::Quota(true))]),
        ("an upgrade", vec![Step::Edit(Edit::Version(version("v3.7.3")))]),
        ("a member without its volume", vec![Step::EvictFully(1)]),
        ("a deleted claim", vec![Step::DropClaim(2)]),
    ]
}

#[test]
fn at_each_moment_of_each_change() {
    for (what, steps) in changes() {
        for moment in (0..48).step_by(8) {
            let mut bench = Bench::new(&json!({ "size": 3, "version": "3.6.16" }));
            settle(&mut bench);
            steps.iter().for_each(|step| bench.take(step));
            (0..moment).for_each(|_| bench.round());
            bench.take(&Step::LoseStatus);
            settle(&mut bench);
            assert_eq!(bench.etcds.clusters.len(), 1, "{what} after {moment} rounds: {}", bench.story());
        }
    }
}

/// The PVCs are deleted by the same command: in the end, all volumes that stay have the data.
#[test]
fn at_each_moment_of_a_deletion() {
    for claims in [false, true] {
        for moment in (0..40).step_by(if claims { 4 } else { 1 }).take(10) {
            let mut bench = Bench::new(&json!({ "size": 3 }));
            settle(&mut bench);
            bench.delete();
            let keys: Vec<_> = bench.world.all(Pvc::KIND).map(|(key, _)| key.clone()).collect();
            keys.iter().filter(|_| claims).for_each(|key| bench.world.delete(Pvc::KIND, key));
            let is_there = |bench: &Bench| bench.world.get(EtcdClusterKind::KIND, &bench.key).is_some();
            for round in 0..240 {
                if !is_there(&bench) {
                    break;
                }
                if round == moment {
                    bench.take(&Step::LoseStatus);
                }
                bench.round();
                bench.check_invariants().unwrap_or_else(|why| panic!("{why}\n{}", bench.history()));
            }
            assert!(!is_there(&bench), "{claims} {moment}: {}", bench.history());
            let stay = bench.world.all(Pvc::KIND).filter(|(_, claim)| claim["metadata"]["deletionTimestamp"].is_null());
            assert_eq!((stay.count(), bench.etcds.clusters.len()), (3, 1), "{claims} {moment}: {}", bench.history());
        }
    }
}

/// Its data is in its pod, whose node is down, and the spec has changed meanwhile.
#[test]
fn the_pod_of_an_ephemeral_member_is_kept_while_its_cluster_is_unknown() {
    for node in 0..3 {
        let mut bench = Bench::new(&json!({ "size": 3, "version": "3.6.16", "storage": { "ephemeral": true } }));
        bench.take(&Step::Pass(ReconcileFaults::default()));
        bench.take(&Step::Calm(8));
        let first = bench.cluster().expect("it is latched").members[0].name.clone();
        let pod = bench.place_of(&first);
        bench.take(&Step::Kill(pod));
        bench.take(&Step::Node { node, up: false });
        bench.take(&Step::Edit(Edit::Option { good: false }));
        bench.take(&Step::Pass(ReconcileFaults::default()));
        bench.take(&Step::LoseStatus);
        bench.take(&Step::Calm(2));
        settle(&mut bench);
    }
}

/// Clients could connect, so it may have data.
#[test]
fn the_only_pod_of_an_ephemeral_cluster_is_kept_though_it_fails_and_the_spec_changes() {
    let pod = json!({ "labels": { "fragile": "yes" } });
    let mut bench = Bench::new(&json!({ "size": 1, "storage": { "ephemeral": true }, "pod": pod }));
    settle(&mut bench);
    let uid = |bench: &Bench| seen(&bench.world)[0].uid.clone();
    let before = uid(&bench);
    bench.take(&Step::LoseStatus);
    bench.take(&Step::Edit(Edit::Option { good: true }));
    bench.kubelet.worn = true;
    bench.take(&Step::Calm(20));
    bench.kubelet.worn = false;
    assert_eq!(uid(&bench), before, "{}", bench.story());
    settle(&mut bench);
}
