//! The data of a member differs from its peers' (alarm CORRUPT): the good copies stay.

use super::members::{NAMES, after, message, three, touches_nothing};
use super::*;

/// Three members with an alarm for the one with that id; `leader` is the leader.
fn differing(spec: &Value, id: u64, leader: u64) -> Observed {
    let mut seen = three(spec);
    seen.etcd.alarms = vec![(id, Alarm::Corrupt)];
    for endpoint in seen.etcd.endpoints.values_mut().flatten() {
        endpoint.leader = leader;
    }
    seen
}

/// The removals and leadership transfers of a plan.
fn changes(seen: &Observed) -> Vec<String> {
    changes_at(seen, 60)
}

fn changes_at(seen: &Observed, second: i64) -> Vec<String> {
    let change = |effect: &Effect<EtcdAct>| match effect {
        Effect::Act(EtcdAct::Change { change: EtcdChange::Remove { id, .. }, .. }) => Some(format!("remove {id}")),
        Effect::Act(EtcdAct::Change { change: EtcdChange::MoveLeader { to }, .. }) => Some(format!("lead {to}")),
        Effect::Create(create) => Some(format!("create {}", create.key.name)),
        _ => None,
    };
    after(seen, second).effects.iter().filter_map(change).collect()
}

#[test]
fn scaling_down_removes_the_corrupt_member_and_no_other() {
    let fewer = json!({ "size": 1 });
    assert_eq!(changes(&differing(&fewer, 1, 1)), ["lead 3"], "what leads stays, so another one leads first");
    assert_eq!(changes(&differing(&fewer, 2, 1)), ["remove 2"], "not the last by name");
    for unknown in [0, 77] {
        let seen = differing(&fewer, unknown, 1);
        let plan = after(&seen, 60);
        assert!(touches_nothing(&plan), "{unknown}: {:?}", plan.effects);
        let status = plan.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "DataCorrupt".to_owned()));
        assert!(message(&status).contains("etcdctl alarm disarm"), "{}", message(&status));
        assert!(message(&status).contains("no other member is removed"), "{}", message(&status));
    }
    let mut removed = differing(&fewer, 1, 2);
    removed.etcd.members.as_mut().unwrap().remove(0);
    assert_eq!(changes(&removed), Vec::<String>::new(), "the alarm stays until a user disarms it");
    let mut silent = differing(&fewer, 1, 2);
    silent.etcd.endpoints.insert(NAMES[2].into(), Err("cannot be reached".to_owned()));
    assert_eq!(changes(&silent), Vec::<String>::new(), "one that only does not answer may be a good copy");
}

#[test]
fn a_member_whose_claim_a_user_has_deleted_is_replaced() {
    let doomed = |id: u64| {
        let mut seen = differing(&json!({ "size": 1 }), id, 1);
        Arc::get_mut(&mut seen.claims[1]).unwrap().meta.deleting = true;
        changes(&seen)
    };
    assert_eq!([doomed(0), doomed(2)], [["remove 2"], ["remove 2"]]);
    // With its pod deleted as well.
    let mut seen = differing(&json!({ "size": 3 }), 2, 1);
    Arc::get_mut(&mut seen.claims[1]).unwrap().meta.deleting = true;
    seen.pods.remove(1);
    seen.etcd.endpoints.remove(NAMES[1]);
    assert_eq!(changes(&seen), ["remove 2"]);
}

#[test]
fn a_new_member_does_not_get_its_data_from_the_corrupt_one() {
    let more = json!({ "size": 5 });
    assert_eq!(changes(&differing(&more, 1, 1)), ["lead 3"]);
    assert_eq!(changes(&differing(&more, 1, 2)), ["create c-aaaaaaaaaa"]);
}

#[test]
fn members_with_data_in_their_pods_are_not_replaced_for_new_pods() {
    let spec = json!({ "size": 3, "storage": { "ephemeral": true } });
    let mut seen = differing(&spec, 1, 1);
    let status = EtcdClusterStatus { storage: Some(EtcdStorageStatus { durable: false }), ..bootstrapped() };
    let mut other = spec.clone();
    other["pod"] = json!({ "labels": { "team": "a" } });
    seen.cluster = observed(&other, &status).cluster;
    seen.claims.clear();
    for leader in [1, 2] {
        seen.etcd.endpoints.values_mut().flatten().for_each(|endpoint| endpoint.leader = leader);
        assert_eq!(changes(&seen), Vec::<String>::new(), "{leader}");
        assert_eq!(reason(&after(&seen, 60).status.unwrap(), "Stalled").1, "DataCorrupt");
    }
    seen.etcd.alarms.clear();
    assert_eq!(changes(&seen), ["create c-aaaaaaaaaa"], "one more, before the first is removed");
}

#[test]
fn a_removal_in_flight_waits_as_well() {
    let mut seen = differing(&json!({ "size": 1 }), 1, 2);
    let marked = Arc::get_mut(&mut seen.pods[2]).unwrap().details.as_mut().unwrap();
    marked.annotations.insert("multi-operator.example.com/retiring".to_owned(), "true".to_owned());
    assert_eq!(changes(&seen), ["remove 1"]);
    seen.etcd.alarms.clear();
    assert_eq!(changes(&seen), ["remove 3"]);
}

/// Its data may be a good copy.
#[test]
fn an_unreachable_member_with_data_in_its_pod_is_not_replaced_meanwhile() {
    let spec = json!({ "size": 3, "storage": { "ephemeral": true } });
    let mut other = spec.clone();
    other["pod"] = json!({ "labels": { "team": "a" } });
    let mut seen = differing(&spec, 1, 2);
    seen.claims.clear();
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("cannot be reached".to_owned()));
    let status = EtcdClusterStatus { storage: Some(EtcdStorageStatus { durable: false }), ..bootstrapped() };
    seen.cluster = observed(&other, &status).cluster;
    let before = after(&seen, 100).status.unwrap();
    seen.cluster = observed(&other, &before).cluster;
    assert_eq!(changes_at(&seen, 220), Vec::<String>::new());
    seen.etcd.alarms.clear();
    assert_eq!(changes_at(&seen, 219), Vec::<String>::new(), "two minutes are not over");
    assert_eq!(changes_at(&seen, 220), ["remove 3"]);
}
