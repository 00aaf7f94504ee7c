//! What etcd refuses is asked for again with a bound.

use std::time::Duration;

use runtime::plan::Requeue;
use runtime::status::conditions;

use super::members::{NAMES, after, three};
use super::*;

/// Looks at these seconds, by the status that the look before wrote: whether etcd is asked to remove a member, and when it is looked
/// again, in milliseconds.
fn looks(seen: &mut Observed, size: u8, seconds: &[i64]) -> Vec<(bool, u128)> {
    let spec = json!({ "size": size });
    let look = |second: &i64| {
        seen.cluster = observed(&spec, &seen.cluster.status).cluster;
        let plan = after(seen, *second);
        let mut status = plan.status.unwrap();
        conditions::merge(&mut status.contract, &seen.cluster.status.contract, 1, "m");
        seen.cluster = observed(&spec, &status).cluster;
        let remove =
            |effect: &Effect<EtcdAct>| matches!(effect, Effect::Act(EtcdAct { change: Change::Remove { .. }, .. }));
        let Requeue::After(delay) = plan.next else { panic!("it is looked again") };
        (plan.effects.iter().any(remove), delay.as_millis())
    };
    seconds.iter().map(look).collect()
}

/// The third of three has lost its pod and its claim.
fn bereft() -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    seen.peers = ChildState::Absent;
    seen.etcd.endpoints.remove(NAMES[2]);
    seen.pods.remove(2);
    seen.claims.remove(2);
    seen.found.gone.insert(NAMES[2].into());
    seen
}

const fn removes(after: Duration) -> (bool, u128) {
    (true, after.as_millis())
}

const AT_ONCE: (bool, u128) = removes(Duration::from_millis(50));
const SOON: (bool, u128) = removes(Duration::from_secs(1));
const SELDOM: (bool, u128) = removes(Duration::from_secs(30));

#[test]
fn a_removal_that_etcd_refuses_for_long_is_tried_less_often() {
    let mut seen = bereft();
    // It answers its peers, and not the operator.
    seen.etcd.endpoints.insert(NAMES[1].into(), Err("cannot be reached".to_owned()));
    let looked = looks(&mut seen, 3, &[60, 180, 181, 211]);
    assert_eq!(looked[1..], [AT_ONCE, SELDOM, SELDOM], "some ten requests to the API server a try");
    // It has been Ready meanwhile, with each member in the role that it had.
    let conditions = &mut Arc::get_mut(&mut seen.cluster).unwrap().status.contract.conditions;
    conditions.iter_mut().for_each(|told| told.last_transition_time = Timestamp::from_second(211).unwrap());
    assert_eq!(looks(&mut seen, 3, &[212, 330, 331]), [SOON, SOON, SELDOM]);
}

/// No event tells that a member without a pod is off the list.
#[test]
fn a_removal_that_etcd_is_about_to_take_is_tried_soon() {
    assert_eq!(looks(&mut bereft(), 3, &[60, 61, 600]), [AT_ONCE, SOON, SOON]);
}

/// Since when members have their roles says nothing of how long it has been refused.
#[test]
fn the_first_refusal_in_a_cluster_that_was_well_for_long_is_followed_soon() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.peers = ChildState::Absent;
    looks(&mut seen, 3, &[60]);
    assert!(seen.cluster.status.contract.is_true("Ready"));
    assert_eq!(looks(&mut seen, 2, &[3_660, 3_661, 3_700]), [AT_ONCE, SOON, SOON]);
}

/// Ready tells of what fails beside it, such as a volume that cannot grow.
#[test]
fn a_removal_that_is_refused_is_known_as_such_by_its_mark_whatever_else_fails() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.peers = ChildState::Absent;
    looks(&mut seen, 3, &[60]);
    Arc::get_mut(&mut seen.claims[2]).unwrap().labels.insert(objects::RETIRING.to_owned(), "true".to_owned());
    let mut paused = looks(&mut seen, 2, &[61]);
    let conditions = &mut Arc::get_mut(&mut seen.cluster).unwrap().status.contract.conditions;
    conditions.iter_mut().for_each(|told| told.message = "another failure".into());
    paused.extend(looks(&mut seen, 2, &[62]));
    assert_eq!(paused, [SOON, SOON]);
}
