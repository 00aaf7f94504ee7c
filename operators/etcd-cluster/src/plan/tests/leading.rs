//! Another leader, because a person or a roll asks for it.

use super::members::{NAMES, after, at, message, pod, three};
use super::*;

/// Three members of which the first leads, with that annotation and status, or paused.
fn asked_to_move(value: &str, change: impl FnOnce(&mut EtcdClusterStatus), paused: bool) -> Observed {
    let mut status = made();
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
        Effect::Act(EtcdAct { change: Change::MoveLeader { to }, .. }) => Some(*to),
        _ => None,
    })
}

#[test]
fn another_member_leads_after_it_is_written_down_who_led() {
    let first = after(&asked_to_move("a", |_| {}, false), 60);
    assert_eq!((moves(&first), first.next), (None, Requeue::After(pause::STEP)));
    let latched = first.status.unwrap();
    assert_eq!((latched.leader_moving_from.as_deref(), latched.leader_moved_for), (Some(NAMES[0]), None));
    let from = |status: &mut EtcdClusterStatus| status.leader_moving_from = Some(NAMES[0].to_owned());
    let mut seen = asked_to_move("a", from, false);
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
    let told = third.events.iter().filter(|event| event.reason == EtcdClusterEvent::LeaderMoved && !event.warning);
    assert_eq!(told.count(), 1);
    let status = third.status.unwrap();
    assert_eq!((status.leader_moved_for.as_deref(), status.leader_moving_from), (Some("a"), None));
}

#[test]
fn leadership_is_not_moved_without_need_or_before_its_time() {
    let answered = |status: &mut EtcdClusterStatus| status.leader_moved_for = Some("a".to_owned());
    let untouched = |seen: &Observed| {
        let plan = after(seen, 60);
        assert_eq!(moves(&plan), None);
        let status = plan.status.unwrap();
        assert_eq!(status.leader_moving_from, None);
        message(&status).to_owned()
    };
    for seen in [asked_to_move("", |_| {}, false), asked_to_move("a", answered, false)] {
        assert!(!untouched(&seen).contains("leader"));
    }
    assert!(untouched(&asked_to_move("a", |_| {}, true)).contains("is not moved while paused"));
    let mut seen = asked_to_move("a", |_| {}, false);
    seen.etcd.alarms = vec![(2, Alarm::Corrupt), (3, Alarm::Corrupt)];
    assert!(untouched(&seen).contains("before another member is ready"));
    seen.etcd = Etcd { members: Err("no leader".to_owned()), ..seen.etcd };
    assert!(untouched(&seen).contains("before there is quorum again"));
    let mut seen = asked_to_move("a", |_| {}, false);
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    assert!(untouched(&seen).contains("before the members are as asked"));
}

#[test]
fn a_member_that_is_alone_goes_on_leading_and_says_so_once() {
    let mut seen = three(&json!({ "size": 1 }));
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1, "finalizers": [ETCD_VOLUMES],
        "annotations": { "etcd.database.coreos.com/move-leader": "a" } }, "spec": { "size": 1 }, "status": made() });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    seen.etcd.members.as_mut().unwrap().truncate(1);
    seen.pods.truncate(1);
    seen.claims.truncate(1);
    seen.etcd.endpoints.retain(|name, _| &**name == NAMES[0]);
    let plan = after(&seen, 60);
    assert!(moves(&plan).is_none() && plan.events.iter().any(|event| event.reason == EtcdClusterEvent::LeaderNotMoved));
    assert_eq!(plan.status.unwrap().leader_moved_for.as_deref(), Some("a"));
}

#[test]
fn a_leader_that_cannot_hand_over_is_rolled_last_and_another_is_elected() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.pods[0] = Arc::new(pod(NAMES[0], "older", &json!({ "running": { "startedAt": at(0) } }), 0, at(9)));
    let drops = |plan: &EtcdPlan| {
        let pod = |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if &*delete.key.name == NAMES[0]);
        plan.effects.iter().any(pod)
    };
    let plan = after(&seen, 60);
    assert!(moves(&plan).is_some() && !drops(&plan), "{:?}", plan.effects);
    seen.etcd.endpoints.get_mut(NAMES[0]).unwrap().as_mut().unwrap().keeps_leading = true;
    let plan = after(&seen, 60);
    assert!(moves(&plan).is_none() && drops(&plan), "{:?}", plan.effects);
}
