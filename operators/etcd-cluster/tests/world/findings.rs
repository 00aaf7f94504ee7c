//! Findings of attacks on real clusters, each as a test.

use api::etcd_cluster::OnDelete;
use runtime::cache::Projection as _;
use runtime::projections::{Pod, Pvc, Service};
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::kubelet::seen;
use crate::pods::PodSeen;
use crate::stories::{settle, version};

fn settled(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    bench
}

#[test]
fn of_five_the_failed_one_is_removed_first() {
    for node in 0..4 {
        let mut bench = settled(&json!({ "size": 5 }));
        bench.take(&Step::Node { node, up: false });
        bench.take(&Step::Edit(Edit::Size(3)));
        bench.take(&Step::Calm(30));
        let left = bench.members();
        assert_eq!(left.len(), 3, "{}", bench.story());
        let cluster = bench.cluster().expect("it is latched");
        let up = |member: &etcd_cluster::plan::ListedMember| cluster.together.contains_key(&member.id);
        assert!(cluster.members.iter().all(up), "working members stay: {}", bench.story());
        settle(&mut bench);
    }
}

#[test]
fn a_large_snapshot_count_does_not_keep_members_at_3_6() {
    for lives in [None, Some(1), Some(2)] {
        let mut bench = settled(&json!({ "size": 3, "version": "3.6.16", "options": { "snapshot-count": "1000000" } }));
        bench.take(&Step::Edit(Edit::Version(version("v3.7.3"))));
        bench.world.deliver_all_events();
        (0..3).for_each(|_| {
            bench.take(&Step::Pass(ReconcileFaults { crash_after: lives, ..ReconcileFaults::default() }))
        });
        settle(&mut bench);
        assert_eq!(bench.status()["currentVersion"], "3.7.3", "{}", bench.story());
        let cluster = bench.cluster().expect("it is latched");
        assert!(cluster.acked > 1_000_000, "all of it is written: {}", cluster.acked);
        assert!(bench.status()["fillingFrom"].is_null(), "{}", bench.story());
    }
}

#[test]
fn a_larger_size_can_be_reverted() {
    let mut bench = settled(&json!({ "size": 3, "storage": { "size": "1Gi" } }));
    let sizes = |bench: &Bench| -> Vec<Value> {
        let size = |claim: &Value| claim["spec"]["resources"]["requests"]["storage"].clone();
        bench.world.all(Pvc::KIND).map(|(_, claim)| size(claim)).collect()
    };
    bench.edit(|object| object["spec"]["storage"]["size"] = json!("2Gi"));
    settle(&mut bench);
    assert_eq!(sizes(&bench), ["2Gi", "2Gi", "2Gi"]);
    bench.edit(|object| object["spec"]["storage"]["size"] = json!("1Gi"));
    settle(&mut bench);
    assert_eq!(sizes(&bench), ["2Gi", "2Gi", "2Gi"], "volumes do not shrink");
    assert!(
        bench.condition("Warning").is_some_and(|warning| warning["reason"] == "VolumesLarger"),
        "{}",
        bench.story()
    );
}

#[test]
fn a_planned_restart_is_no_lost_quorum() {
    for edit in [Edit::Restart(1), Edit::Version(version("v3.7.3"))] {
        let mut bench = settled(&json!({ "size": 1 }));
        bench.take(&Step::Edit(edit.clone()));
        for _ in 0..30 {
            bench.round();
            let lost = |c: &Value| c["reason"] == "QuorumLost";
            let conditions = bench.status()["conditions"].as_array().cloned().unwrap_or_default();
            assert!(!conditions.iter().any(lost), "{edit:?}: {}", bench.story());
        }
        assert!(!bench.events.iter().any(|reason| reason == "QuorumLost"), "{:?}", bench.events);
        settle(&mut bench);
    }
}

#[test]
fn a_planned_change_of_version_is_no_lost_quorum_where_data_is_in_pods() {
    for size in [1, 2] {
        let mut bench = settled(&json!({ "size": size, "version": "3.6.16", "storage": { "ephemeral": true } }));
        bench.take(&Step::Edit(Edit::Version(version("3.6.99"))));
        for _ in 0..30 {
            bench.round();
            let lost = |c: &Value| c["reason"] == "QuorumLost";
            let conditions = bench.status()["conditions"].as_array().cloned().unwrap_or_default();
            assert!(!conditions.iter().any(lost), "{size}: {}", bench.story());
        }
        settle(&mut bench);
        // An unrequested loss is reported.
        (0..size).for_each(|pod| bench.take(&Step::Kill(pod)));
        bench.etcds.tick();
        bench.world.deliver_all_events();
        bench.pass(ReconcileFaults::default());
        assert!(
            bench.condition("QuorumHealthy").is_some_and(|c| c["reason"] == "QuorumUnconfirmed"),
            "{}",
            bench.story()
        );
    }
}

#[test]
fn an_alarm_shows_in_the_phase() {
    let mut bench = settled(&json!({ "size": 3 }));
    bench.take(&Step::Alarm(true));
    bench.take(&Step::Calm(2));
    assert!(bench.is("Reconciling") && !bench.is("Available"), "databases are defragmented: {}", bench.story());
    bench.take(&Step::Calm(4));
    assert_eq!((&bench.status()["phase"], bench.is("Stalled")), (&json!("Failed"), true), "{}", bench.story());
    settle(&mut bench);
    assert_eq!(bench.status()["phase"], "Running");
}

#[test]
fn an_idle_cluster_grows_and_replaces_members() {
    let mut bench = settled(&json!({ "size": 3 }));
    bench.etcds.pace.idle = true;
    bench.take(&Step::Edit(Edit::Size(5)));
    settle(&mut bench);
    bench.take(&Step::EvictFully(1));
    settle(&mut bench);
    assert_eq!(bench.members().len(), 5);
}

#[test]
fn members_that_never_voted_leave_no_volumes_behind() {
    let mut bench = settled(&json!({ "size": 3 }));
    assert_eq!(OnDelete::default(), OnDelete::Retain);
    bench.take(&Step::Pace { slow: true, lazy: false });
    bench.take(&Step::Edit(Edit::Size(5)));
    for _ in 0..6 {
        bench.take(&Step::Calm(15));
        bench.take(&Step::Wait(11));
    }
    let claims = bench.world.all(Pvc::KIND).count();
    assert!(claims <= 5, "{claims} claims: {}", bench.story());
    settle(&mut bench);
}

#[test]
fn before_3_3_the_leader_is_updated_last_and_another_is_elected() {
    let mut bench = settled(&json!({ "size": 3, "version": "3.2.13" }));
    let led = bench.guard.led;
    bench.take(&Step::Edit(Edit::Restart(1)));
    settle(&mut bench);
    bench.take(&Step::Edit(Edit::Version(version("3.3.27"))));
    settle(&mut bench);
    assert_eq!(bench.guard.led, led, "no leadership was transferred: {}", bench.story());
    for size in [5, 3] {
        bench.take(&Step::Edit(Edit::Size(size)));
        settle(&mut bench);
    }
}

#[test]
fn edited_labels_are_restored_with_few_writes() {
    for label in 0..5 {
        let mut bench = settled(&json!({ "size": 3 }));
        let before = seen(&bench.world);
        let writes = bench.world.writes;
        bench.take(&Step::Relabel { pod: 1, label });
        bench.take(&Step::Calm(20));
        assert!(bench.world.writes <= writes + 8, "{label}: {} writes, {}", bench.world.writes - writes, bench.story());
        let uids = |pods: &[PodSeen]| pods.iter().map(|pod| pod.uid.clone()).collect::<Vec<_>>();
        assert_eq!(uids(&seen(&bench.world)), uids(&before), "{label}: {}", bench.story());
        let selector = bench.world.get(Service::KIND, &bench.key.sibling("c-client")).expect("it is there");
        let selector = selector["spec"]["selector"].as_object().expect("it selects").clone();
        for (_, pod) in bench.world.all(Pod::KIND) {
            let labels = &pod["metadata"]["labels"];
            assert!(selector.iter().all(|(key, value)| labels[key] == *value), "{label}: {labels} {selector:?}");
            assert_eq!(labels["app.kubernetes.io/managed-by"], "multi-operator", "{label}");
        }
        settle(&mut bench);
    }
}

#[test]
fn no_foreign_pod_is_selected_while_a_pods_labels_are_restored() {
    let mut bench = settled(&json!({ "size": 3 }));
    bench.take(&Step::Relabel { pod: 1, label: 4 });
    for _ in 0..4 {
        bench.world.deliver_all_events();
        bench.pass(ReconcileFaults::default());
        for name in ["c-client", "c"] {
            let service = bench.world.get(Service::KIND, &bench.key.sibling(name)).expect("it is there");
            assert!(
                service["spec"]["selector"]["multi-operator.example.com/owner-uid"].is_string(),
                "{}",
                bench.story()
            );
        }
    }
    settle(&mut bench);
}

#[test]
fn deleted_claims_are_reported_and_their_members_replaced_one_by_one() {
    for size in [1, 2, 3, 5] {
        let mut bench = settled(&json!({ "size": size }));
        let before = bench.members();
        for member in &before {
            bench.world.delete(Pvc::KIND, &bench.key.sibling(member));
        }
        bench.take(&Step::Calm(1));
        let reason = |type_: &str| bench.condition(type_).map(|c| (c["status"].clone(), c["reason"].clone()));
        assert_eq!(reason("Warning"), Some((json!("True"), json!("ClaimTerminating"))), "{}", bench.story());
        assert_eq!(reason("Durable"), Some((json!("False"), json!("ClaimTerminating"))), "{}", bench.story());
        assert!(bench.events.iter().any(|reason| reason == "ClaimTerminating"), "{:?}", bench.events);
        settle(&mut bench);
        assert!(bench.members().iter().all(|member| !before.contains(member)), "{}", bench.story());
        let terminating = |claim: &Value| !claim["metadata"]["deletionTimestamp"].is_null();
        assert!(!bench.world.all(Pvc::KIND).any(|(_, claim)| terminating(claim)), "{}", bench.story());
    }
}

#[test]
fn no_member_is_removed_before_another_votes_in_its_place() {
    let mut bench = settled(&json!({ "size": 3 }));
    let before = bench.members();
    bench.world.delete(Pvc::KIND, &bench.key.sibling(&before[0]));
    // The replacement makes no progress, as without a node for a fourth member.
    bench.take(&Step::Pace { slow: true, lazy: false });
    bench.take(&Step::Calm(30));
    assert!(before.iter().all(|member| bench.members().contains(member)), "{}", bench.story());
    settle(&mut bench);
    assert!(!bench.members().contains(&before[0]), "{}", bench.story());
}

#[test]
fn before_3_3_a_leader_whose_claim_is_deleted_is_removed_without_a_transfer() {
    for size in [1, 3] {
        let mut bench = settled(&json!({ "size": size, "version": "3.2.13" }));
        let before = bench.members();
        for member in &before {
            bench.world.delete(Pvc::KIND, &bench.key.sibling(member));
        }
        settle(&mut bench);
        assert!(bench.members().iter().all(|member| !before.contains(member)), "{}", bench.story());
        assert_eq!(bench.guard.led, 0, "{}", bench.story());
    }
}

/// It is the complete cluster, or half of it, so no member answers while it has no pod.
#[test]
fn new_pods_and_another_minor_version_are_requested_at_once() {
    for (from, to) in [("3.6.16", "v3.7.3"), ("3.5.35", "3.6.16"), ("3.5.35", "3.5.16")] {
        for size in 1..=3 {
            let mut bench = settled(&json!({ "size": size, "version": from }));
            let before = bench.members();
            bench.take(&Step::Edit(Edit::Quota(true)));
            bench.take(&Step::Edit(Edit::Version(version(to))));
            settle(&mut bench);
            let runs = bench.etcds.processes.values().all(|of| of.version.to_string() == to.trim_start_matches('v'));
            assert!(runs && bench.members() == before, "{}", bench.story());
        }
    }
}

/// The cluster version, which is read only by then, lets the check of the image be next.
#[test]
fn the_check_of_an_image_runs_as_the_user_that_the_namespace_assigns() {
    let mut bench = Bench { assigns_uids: true, ..Bench::new(&json!({ "size": 3, "version": "3.6.16" })) };
    bench.take(&Step::Calm(3));
    bench.take(&Step::Edit(Edit::Version(version("v3.7.3"))));
    settle(&mut bench);
}
