//! Leadership transfers, for a user or a rolling update.

use super::members::{NAMES, after, at, message, pod, three};
use super::*;

/// Three members with the first as the leader, with that annotation and status, or paused.
fn with_request(value: &str, change: impl FnOnce(&mut EtcdClusterStatus), paused: bool) -> Observed {
    let mut status = bootstrapped();
    change(&mut status);
    let mut seen = three(&json!({ "size": 3 }));
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1, "finalizers": [ETCD_VOLUMES],
        "annotations": { "etcd.database.coreos.com/move-leader": value } },
        "spec": { "size": 3, "paused": paused }, "status": status });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    seen
}

fn moves(plan: &EtcdPlan) -> Option<u64> {
    plan.effects.iter().find_map(|effect| match effect {
        Effect::Act(EtcdAct::Change { change: EtcdChange::MoveLeader { to }, .. }) => Some(*to),
        _ => None,
    })
}

#[test]
fn the_previous_leader_is_recorded_before_a_transfer() {
    let first = after(&with_request("a", |_| {}, false), 60);
    assert_eq!((moves(&first), first.next), (None, Requeue::After(requeue::AFTER_STEP)));
    let latched = first.status.unwrap();
    assert_eq!((latched.leader_moving_from.as_deref(), latched.leader_moved_for), (Some(NAMES[0]), None));
    let from = |status: &mut EtcdClusterStatus| status.leader_moving_from = Some(NAMES[0].to_owned());
    let mut seen = with_request("a", from, false);
    let second = after(&seen, 60);
    assert!(matches!(moves(&second), Some(2 | 3)));
    let status = second.status.unwrap();
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True, "nothing is missing meanwhile");
    assert!(message(&status).contains("as the annotation etcd.database.coreos.com/move-leader requests"));
    assert_eq!(status.leader_moved_for, None, "nothing is promised");
    for answer in seen.etcd.endpoints.values_mut() {
        answer.as_mut().unwrap().leader = 3;
    }
    let third = after(&seen, 60);
    assert_eq!(moves(&third), None);
    let moved = third
        .events_after_status
        .iter()
        .filter(|event| event.reason == EtcdClusterEvent::LeaderMoved && !event.warning);
    assert_eq!(moved.count(), 1);
    let status = third.status.unwrap();
    assert_eq!((status.leader_moved_for.as_deref(), status.leader_moving_from), (Some("a"), None));
}

#[test]
fn leadership_is_not_transferred_without_a_request_or_too_early() {
    let answered = |status: &mut EtcdClusterStatus| status.leader_moved_for = Some("a".to_owned());
    let untouched = |seen: &Observed| {
        let plan = after(seen, 60);
        assert_eq!(moves(&plan), None);
        let status = plan.status.unwrap();
        assert_eq!(status.leader_moving_from, None);
        message(&status).to_owned()
    };
    for seen in [with_request("", |_| {}, false), with_request("a", answered, false)] {
        assert!(!untouched(&seen).contains("leader"));
    }
    assert!(untouched(&with_request("a", |_| {}, true)).contains("is pending: the cluster is paused"));
    let mut seen = with_request("a", |_| {}, false);
    seen.etcd.alarms = vec![(2, Alarm::Corrupt), (3, Alarm::Corrupt)];
    assert!(untouched(&seen).contains("no other member is ready"));
    seen.etcd = Etcd { members: Err("no leader".to_owned()), ..seen.etcd };
    assert!(untouched(&seen).contains("there is no quorum"));
    let mut seen = with_request("a", |_| {}, false);
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    assert!(untouched(&seen).contains("the members are not as desired"));
}

#[test]
fn a_single_member_stays_leader_and_one_event_reports_it() {
    let mut seen = three(&json!({ "size": 1 }));
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1, "finalizers": [ETCD_VOLUMES],
        "annotations": { "etcd.database.coreos.com/move-leader": "a" } }, "spec": { "size": 1 }, "status": bootstrapped() });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    seen.etcd.members.as_mut().unwrap().truncate(1);
    seen.pods.truncate(1);
    seen.claims.truncate(1);
    seen.etcd.endpoints.retain(|name, _| &**name == NAMES[0]);
    let plan = after(&seen, 60);
    assert!(
        moves(&plan).is_none()
            && plan.events_after_status.iter().any(|event| event.reason == EtcdClusterEvent::LeaderNotMoved)
    );
    assert_eq!(plan.status.unwrap().leader_moved_for.as_deref(), Some("a"));
}

#[test]
fn a_leader_without_leadership_transfer_is_updated_last() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.pods[0] = Arc::new(pod(NAMES[0], "older", &json!({ "running": { "startedAt": at(0) } }), 0, at(9)));
    let drops = |plan: &EtcdPlan| {
        let pod = |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if &*delete.key.name == NAMES[0]);
        plan.effects.iter().any(pod)
    };
    let plan = after(&seen, 60);
    assert!(moves(&plan).is_some() && !drops(&plan), "{:?}", plan.effects);
    seen.etcd.endpoints.get_mut(NAMES[0]).unwrap().as_mut().unwrap().refuses_transfer = true;
    let plan = after(&seen, 60);
    assert!(moves(&plan).is_none() && drops(&plan), "{:?}", plan.effects);
}
