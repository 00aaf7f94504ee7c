//! Clocks that differ: that of the manager is behind, or that of an earlier manager was ahead.

use api::etcd_cluster::{MemberRole, MemberStatus};

use super::members::{NAMES, after, at, pod, three};
use super::*;

/// The status of a member with a time in the future, from a manager whose clock was ahead by an hour.
fn noted(name: &str, id: &str, role: MemberRole) -> MemberStatus {
    let since = Some(Timestamp::from_second(3_600).unwrap());
    MemberStatus { name: name.to_owned(), id: Some(id.to_owned()), role, since, version: None, db_size: None }
}

#[test]
fn a_member_that_started_in_the_future_is_ready() {
    let mut seen = three(&json!({ "size": 3 }));
    let template = seen.pods[0].details.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    let state = json!({ "running": { "startedAt": at(50) } });
    seen.pods[2] = Arc::new(pod(NAMES[2], &template, &state, 1, at(51)));
    let ready = |second| after(&seen, second).status.unwrap().ready.unwrap();
    assert_eq!([ready(-10), ready(10), ready(49), ready(52), ready(59)], ["3/3", "2/3", "2/3", "2/3", "3/3"]);
}

#[test]
fn an_evicted_pod_is_replaced_and_a_rejected_one_kept_though_created_in_the_future() {
    let deleted = |ended: Option<i64>| {
        let mut seen = three(&json!({ "size": 3 }));
        seen.etcd.endpoints.remove(NAMES[1]);
        let running = Arc::get_mut(&mut seen.pods[1]).unwrap().details.as_mut().unwrap();
        (running.terminal, running.created) = (true, Some(Timestamp::from_second(1_000).unwrap()));
        running.ready_since = ended.map(|ended| Timestamp::from_second(ended).unwrap());
        running.containers.clear();
        after(&seen, 100).effects.iter().any(|effect| matches!(effect, Effect::Delete(_)))
    };
    assert!(deleted(Some(5_000)), "it has run for long");
    assert!(!deleted(Some(1_001)) && !deleted(None), "the next one would be rejected as well, at once");
}

#[test]
fn claims_of_a_deletion_in_the_future_are_released() {
    let mut seen = three(&json!({ "size": 3 }));
    Arc::get_mut(&mut seen.cluster).unwrap().meta.deleting = true;
    let status = after(&seen, 3_600).status.unwrap();
    Arc::get_mut(&mut seen.cluster).unwrap().status = status;
    let released = |second| after(&seen, second).effects.len();
    assert_eq!([released(60), released(3_600), released(3_610)], [4, 0, 4], "three claims, and the cluster");
}

#[test]
fn a_learner_that_joined_in_the_future_gets_its_entry_and_few_reconciles() {
    let mut seen = three(&json!({ "size": 3 }));
    let learner = seen.etcd.members.as_mut().unwrap().last_mut().unwrap();
    (learner.learner, learner.name) = (true, String::new());
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    Arc::get_mut(&mut seen.cluster).unwrap().status.member_statuses = vec![noted(NAMES[2], "3", MemberRole::Joining)];
    let plan = after(&seen, 60);
    let nudged = |effect: &Effect<EtcdAct>| {
        matches!(effect, Effect::Act(EtcdAct::Change { change: EtcdChange::Fill { entries: 1 }, .. }))
    };
    assert!(plan.effects.iter().any(nudged), "{:?}", plan.effects);
    assert_eq!(plan.next, Requeue::After(requeue::POLL_STAGNANT));
}
