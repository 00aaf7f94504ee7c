//! Databases are defragmented one after the other, on request or as the spec says.

use super::members::{NAMES, after, message, three};
use super::*;

const MIB: i64 = 1 << 20;
/// Saturday, 2026-11-28, 02:30 UTC.
const SATURDAY: i64 = 1_795_833_000;

/// Three members with databases of 100 MiB, of which that many are in use. The first one leads.
fn with_unused(spec: &Value, in_use: i64) -> Observed {
    let mut seen = three(spec);
    for endpoint in seen.etcd.endpoints.values_mut().flatten() {
        (endpoint.db_size, endpoint.in_use, endpoint.revision) = (100 * MIB, in_use * MIB, 7);
    }
    seen
}

fn spec(policy: &Value) -> Value {
    json!({ "size": 3, "defragmentation": policy })
}

/// The member whose defragmentation begins.
fn next(seen: &Observed, second: i64) -> Option<String> {
    let now = Timestamp::from_second(second).unwrap();
    let members = MemberSet::of(seen, now);
    match membership::next(seen, &members, &desired::Desired::of(seen, &members, true), now) {
        EtcdStep::Defragment { name, .. } => Some(name),
        _ => None,
    }
}

fn done(recently: bool) -> Defragmentation {
    Defragmentation::Done { revision: 7, recently }
}

/// The same with that annotation, and the status that a reconcile left.
fn requested(mut seen: Observed, value: Option<&str>, status: EtcdClusterStatus) -> Observed {
    let annotations = value.map(|value| json!({ api::etcd_cluster::DEFRAGMENT: value }));
    let cluster = json!({
        "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1, "finalizers": [ETCD_VOLUMES],
            "annotations": annotations.unwrap_or(json!({})) },
        "spec": { "size": 3 }, "status": status,
    });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    seen
}

#[test]
fn a_member_is_defragmented_once_so_much_is_not_in_use_and_the_leader_last() {
    let half = spec(&json!({}));
    assert_eq!(next(&with_unused(&half, 51), 60), None);
    let mut seen = with_unused(&half, 50);
    for name in [NAMES[1], NAMES[2], NAMES[0]] {
        assert_eq!(next(&seen, 60).as_deref(), Some(name));
        seen.etcd.defragmentations.insert(name.into(), done(false));
    }
    assert_eq!(next(&seen, 60), None, "not twice within an hour");
    assert_eq!(next(&with_unused(&json!({ "size": 3 }), 1), 60), None, "by default, never");
    assert_eq!(next(&with_unused(&spec(&json!({ "unusedPercent": 90 })), 11), 60), None);
    assert!(next(&with_unused(&spec(&json!({ "unusedPercent": 90 })), 10), 60).is_some());
}

#[test]
fn small_databases_and_those_of_which_nothing_is_known_stay_as_they_are() {
    let mut small = with_unused(&spec(&json!({})), 1);
    small.etcd.endpoints.values_mut().flatten().for_each(|endpoint| endpoint.db_size = 16 * MIB);
    assert_eq!(next(&small, 60), None);
    assert_eq!(next(&with_unused(&spec(&json!({})), 0), 60), None, "before 3.4");
}

#[test]
fn none_is_defragmented_while_another_member_does_not_answer() {
    let mut seen = with_unused(&spec(&json!({})), 10);
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("does not answer".to_owned()));
    assert_eq!(next(&seen, 60), None);
    let mut running = with_unused(&spec(&json!({})), 10);
    running.etcd.defragmentations.insert(NAMES[1].into(), Defragmentation::Running);
    running.etcd.endpoints.insert(NAMES[1].into(), Err("does not answer".to_owned()));
    assert_eq!(next(&running, 60), None);
    let status = after(&running, 60).status.unwrap();
    assert_eq!(reason(&status, "Ready").1, "Defragmenting");
    assert_eq!(reason(&status, "Recovering").0, ConditionStatus::False, "it is not to be repaired");
}

#[test]
fn none_begins_outside_of_the_window() {
    let window = |schedule: &str| {
        let window = json!({ "schedule": schedule, "duration": "2h", "timeZone": "Europe/Berlin" });
        with_unused(&spec(&json!({ "window": window })), 10)
    };
    // 03:30 in Berlin.
    assert!(next(&window("0 3 * * 6"), SATURDAY).is_some());
    assert!(next(&window("0 2 * * 6"), SATURDAY).is_some());
    assert_eq!(next(&window("30 1 * * 6"), SATURDAY), None, "it has just ended");
    assert_eq!(next(&window("0 4 * * 6"), SATURDAY), None);
    let status = after(&window("0 25 * * 6"), SATURDAY).status.unwrap();
    assert_eq!(reason(&status, "Warning").1, "FieldNotUsed");
    let warning = &status.contract.condition("Warning").unwrap().message;
    assert!(warning.contains("spec.defragmentation.window.schedule"), "{warning}");
}

#[test]
fn a_request_defragments_each_member_once() {
    let recorded = |seen: &Observed| after(seen, 60).status.unwrap();
    let fresh = || with_unused(&json!({ "size": 3 }), 100);
    let seen = requested(fresh(), Some("a"), recorded(&fresh()));
    assert_eq!(next(&seen, 60), None, "the status records it first");
    let mut seen = requested(seen, Some("a"), recorded(&requested(fresh(), Some("a"), recorded(&fresh()))));
    for name in [NAMES[1], NAMES[2], NAMES[0]] {
        assert_eq!(next(&seen, 60).as_deref(), Some(name));
        seen.etcd.defragmentations.insert(name.into(), done(true));
        let plan = after(&seen, 60);
        let announced = plan.events_after_status.iter().any(|event| event.reason == EtcdClusterEvent::Defragmented);
        assert_eq!(announced, name == NAMES[0]);
        seen = requested(seen, Some("a"), plan.status.unwrap());
        seen.etcd.defragmentations.insert(name.into(), done(false));
    }
    let status = recorded(&seen);
    assert_eq!((next(&seen, 60), status.defragmentation.clone().unwrap().pending), (None, Vec::new()));
    assert_eq!(reason(&status, "Ready").1, "Running");
    let again = requested(fresh(), Some("b"), status.clone());
    assert_eq!(recorded(&again).defragmentation.unwrap().pending, NAMES);
    let withdrawn = requested(fresh(), None, recorded(&again));
    let plan = after(&withdrawn, 60);
    assert!(plan.events_after_status.is_empty() && plan.status.unwrap().defragmentation.unwrap().pending.is_empty());
}

#[test]
fn one_that_failed_is_reported_and_not_repeated_for_an_hour() {
    let mut seen = with_unused(&spec(&json!({})), 10);
    let why = "no space left on device".to_owned();
    seen.etcd.defragmentations.insert(NAMES[1].into(), Defragmentation::Failed { why, recently: false });
    assert_eq!(next(&seen, 60).as_deref(), Some(NAMES[2]));
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Warning").1, "DefragmentationFailed");
    assert!(status.contract.condition("Warning").unwrap().message.contains(NAMES[1]));
}

#[test]
fn a_request_that_fails_says_why_and_is_tried_again() {
    let fresh = || with_unused(&json!({ "size": 3 }), 100);
    let status = after(&requested(fresh(), Some("a"), bootstrapped()), 60).status.unwrap();
    let failed = |recently| {
        let mut seen = requested(fresh(), Some("a"), status.clone());
        let why = "no space left on device".to_owned();
        seen.etcd.defragmentations.insert(NAMES[1].into(), Defragmentation::Failed { why, recently });
        seen
    };
    let plan = after(&failed(true), 60);
    assert!(message(&plan.status.unwrap()).ends_with("and is tried again: no space left on device"));
    assert_eq!(next(&failed(false), 60).as_deref(), Some(NAMES[1]));
}
