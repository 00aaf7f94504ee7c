//! Changes that etcd rejects are retried at a limited rate.

use std::time::Duration;

use runtime::plan::Requeue;
use runtime::status::conditions;

use super::members::{NAMES, after, three};
use super::*;

/// Reconciles at these seconds, each with the status that the previous one wrote: whether the plan removes a member, and the
/// requeue in milliseconds.
fn reconciles(seen: &mut Observed, size: u8, seconds: &[i64]) -> Vec<(bool, u128)> {
    let spec = json!({ "size": size });
    let reconcile = |second: &i64| {
        seen.cluster = observed(&spec, &seen.cluster.status).cluster;
        let plan = after(seen, *second);
        let mut status = plan.status.unwrap();
        conditions::merge(&mut status.contract, &seen.cluster.status.contract, 1, "m");
        seen.cluster = observed(&spec, &status).cluster;
        let remove = |effect: &Effect<EtcdAct>| {
            matches!(effect, Effect::Act(EtcdAct::Change { change: EtcdChange::Remove { .. }, .. }))
        };
        let Requeue::After(delay) = plan.next else { panic!("it is requeued") };
        (plan.effects.iter().any(remove), delay.as_millis())
    };
    seconds.iter().map(reconcile).collect()
}

/// The third of three has no pod and no PVC.
fn without_pod_and_claim() -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    seen.peers = ChildState::Absent;
    seen.etcd.endpoints.remove(NAMES[2]);
    seen.pods.remove(2);
    seen.claims.remove(2);
    seen.claim_lookups.absent.insert(NAMES[2].into());
    seen
}

const fn removes(after: Duration) -> (bool, u128) {
    (true, after.as_millis())
}

const AT_ONCE: (bool, u128) = removes(Duration::from_millis(50));
const SOON: (bool, u128) = removes(Duration::from_secs(1));
const SELDOM: (bool, u128) = removes(Duration::from_secs(30));

#[test]
fn a_removal_that_etcd_rejects_for_long_is_retried_less_often() {
    let mut seen = without_pod_and_claim();
    // It answers its peers, but not the operator.
    seen.etcd.endpoints.insert(NAMES[1].into(), Err("cannot be reached".to_owned()));
    let results = reconciles(&mut seen, 3, &[60, 180, 181, 211]);
    assert_eq!(results[1..], [AT_ONCE, SELDOM, SELDOM], "each try costs some ten requests to the API server");
    // The cluster has been Ready meanwhile, and each member has kept its role.
    let conditions = &mut Arc::get_mut(&mut seen.cluster).unwrap().status.contract.conditions;
    conditions.iter_mut().for_each(|condition| condition.last_transition_time = Timestamp::from_second(211).unwrap());
    assert_eq!(reconciles(&mut seen, 3, &[212, 330, 331]), [SOON, SOON, SELDOM]);
}

/// No watch reports that a member without a pod is no longer listed.
#[test]
fn a_removal_that_etcd_may_accept_soon_is_retried_soon() {
    assert_eq!(reconciles(&mut without_pod_and_claim(), 3, &[60, 61, 600]), [AT_ONCE, SOON, SOON]);
}

/// The time since which members have their roles does not show how long the removal has been rejected.
#[test]
fn the_first_rejection_in_a_cluster_that_was_healthy_for_long_is_retried_soon() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.peers = ChildState::Absent;
    reconciles(&mut seen, 3, &[60]);
    assert!(seen.cluster.status.contract.is_true("Ready"));
    assert_eq!(reconciles(&mut seen, 2, &[3_660, 3_661, 3_700]), [AT_ONCE, SOON, SOON]);
}

/// Ready reports another failure, such as a volume that cannot grow.
#[test]
fn a_rejected_removal_is_recognized_by_its_mark_whatever_else_fails() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.peers = ChildState::Absent;
    reconciles(&mut seen, 3, &[60]);
    Arc::get_mut(&mut seen.claims[2]).unwrap().labels.insert(objects::RETIRING.to_owned(), "true".to_owned());
    let mut paused = reconciles(&mut seen, 2, &[61]);
    let conditions = &mut Arc::get_mut(&mut seen.cluster).unwrap().status.contract.conditions;
    conditions.iter_mut().for_each(|condition| condition.message = "another failure".into());
    paused.extend(reconciles(&mut seen, 2, &[62]));
    assert_eq!(paused, [SOON, SOON]);
}
