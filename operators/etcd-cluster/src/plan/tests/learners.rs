//! Members that join, and how long the operator waits for them.

use api::etcd_cluster::{MemberRole, MemberStatus};
use runtime::projections::{ContainerStatus, Pod};

use super::members::{NAMES, after, at, pod, three};
use super::*;

/// Two members and a learner, which has made no progress for that many minutes, and does not answer.
fn learning(minutes: i64, idle_pod: bool) -> (Observed, i64) {
    let mut seen = three(&json!({ "size": 3 }));
    let mut status = bootstrapped();
    status.member_statuses = vec![MemberStatus {
        name: NAMES[2].to_owned(),
        id: Some("3".to_owned()),
        role: MemberRole::Joining,
        since: Some(Timestamp::UNIX_EPOCH),
        version: None,
        db_size: None,
    }];
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1 },
        "spec": { "size": 3 }, "status": status });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    let learner = seen.etcd.members.as_mut().unwrap().last_mut().unwrap();
    (learner.learner, learner.name) = (true, String::new());
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    if idle_pod {
        let pod = Arc::get_mut(&mut seen.pods[2]).unwrap();
        pod.details.as_mut().unwrap().containers.last_mut().unwrap().running = false;
    }
    (seen, minutes * 60)
}

fn change(plan: &EtcdPlan) -> Option<&EtcdChange> {
    plan.effects.iter().find_map(|effect| match effect {
        Effect::Act(EtcdAct::Change { change, .. }) => Some(change),
        _ => None,
    })
}

#[test]
fn a_learner_that_waits_for_an_entry_gets_one_after_a_while() {
    let (seen, _) = learning(0, false);
    assert_eq!(change(&after(&seen, 1)), None);
    assert_eq!(change(&after(&seen, 4)), Some(&EtcdChange::Fill { entries: 1 }));
    let (mut more, _) = learning(0, false);
    Arc::get_mut(&mut more.cluster).unwrap().spec.size = 5;
    assert_eq!(change(&after(&more, 4)), Some(&EtcdChange::Fill { entries: 1 }), "the next one's pod may be refused");
    let (seen, _) = learning(0, true);
    assert_eq!(change(&after(&seen, 4)), None, "etcd does not run there");
}

#[test]
fn a_learner_is_replaced_for_making_no_progress_and_not_for_being_slow() {
    let (mut seen, now) = learning(11, false);
    assert_eq!(leader_of_overdue_member(&seen, Timestamp::from_second(now).unwrap()).as_deref(), Some("10.0.0.1"));
    assert!(matches!(change(&after(&seen, now)), Some(EtcdChange::Remove { id: 3, .. })));
    seen.receiving_snapshot.insert(3);
    assert!(!matches!(change(&after(&seen, now)), Some(EtcdChange::Remove { .. })), "a snapshot is on its way to it");
    let (seen, now) = learning(9, false);
    assert_eq!(leader_of_overdue_member(&seen, Timestamp::from_second(now).unwrap()), None);
}

/// The init step of a pod runs, or has not started.
fn steps_in(pod: &mut Arc<Pod>, running: bool) {
    let containers = &mut Arc::get_mut(pod).unwrap().details.as_mut().unwrap().containers;
    let etcd = containers.pop().unwrap();
    *containers = vec![ContainerStatus { name: "wait".into(), running, ..etcd.clone() }, etcd];
}

#[test]
fn cluster_dns_is_read_only_if_a_pod_can_be_added() {
    let (mut seen, _) = learning(0, false);
    assert!(!waits_for_dns(&seen), "no pod waits");
    let template = seen.pods[0].details.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    let waits = pod("c-dddddddddd", &template, &json!({ "waiting": { "reason": "PodInitializing" } }), 0, at(9));
    seen.pods.push(Arc::new(waits));
    steps_in(&mut seen.pods[3], true);
    assert!(!waits_for_dns(&seen), "the learner comes first");
    seen.etcd.members.as_mut().unwrap()[2].learner = false;
    assert!(waits_for_dns(&seen));
    steps_in(&mut seen.pods[3], false);
    assert!(!waits_for_dns(&seen), "its image is being pulled");
    steps_in(&mut seen.pods[1], true);
    assert!(!waits_for_dns(&seen), "a member that starts again is listed");
}

#[test]
fn a_learner_without_progress_is_nudged_less_often() {
    let (seen, _) = learning(0, false);
    assert_eq!(after(&seen, 60).next, Requeue::After(requeue::AFTER_NUDGE));
    assert_eq!(after(&seen, 180).next, Requeue::After(requeue::POLL_STAGNANT));
}
