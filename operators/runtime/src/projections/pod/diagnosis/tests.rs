//! Diagnoses of what the kubelet reports.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

fn diagnose(status: Value) -> Option<PodDiagnosis> {
    of(&serde_json::from_value(json!({ "status": status })).unwrap(), false)
}

fn waiting(reason: &str, message: &str) -> Option<PodDiagnosis> {
    diagnose(json!({ "containerStatuses": [{
        "name": "app", "image": "none:1", "state": { "waiting": { "reason": reason, "message": message } }
    }] }))
}

#[test]
fn both_states_of_a_failed_pull_have_one_diagnosis() {
    let first = waiting("ErrImagePull", "failed to resolve reference: not found").unwrap();
    let then = waiting(
        "ImagePullBackOff",
        "Back-off pulling image \"none:1\": ErrImagePull: failed to resolve reference: not found",
    );
    assert_eq!(Some(&first), then.as_ref());
    assert_eq!(first.message, "image none:1 cannot be pulled: failed to resolve reference: not found");
    assert!(first.permanent);
}

#[test]
fn the_desired_image_is_named_not_the_one_before() {
    let pod = json!({
        "spec": { "containers": [{ "name": "app", "image": "new:2" }] },
        "status": { "containerStatuses": [{ "name": "app", "image": "old:1", "state": { "waiting": { "reason": "ErrImagePull" } } }] },
    });
    let reported = of(&serde_json::from_value(pod).unwrap(), false).unwrap();
    assert_eq!(reported.message, "image new:2 cannot be pulled");
}

#[test]
fn a_container_that_succeeded_and_is_recreated_is_not_failing() {
    let ended = json!({ "terminated": { "reason": "Completed", "exitCode": 0 } });
    let creating = json!({ "waiting": { "reason": "ContainerCreating" } });
    let container = json!({ "name": "app", "restartCount": 1, "state": creating, "lastState": ended });
    assert_eq!(diagnose(json!({ "containerStatuses": [container] })), None);
}

#[test]
fn all_states_of_a_next_image_that_cannot_be_pulled_have_one_diagnosis() {
    let pod = |image: &str, state: Value| {
        let ended = json!({ "terminated": { "reason": "Completed", "exitCode": 0 } });
        let status = json!({ "containerStatuses": [{ "name": "app", "image": image, "restartCount": 1,
            "state": { "waiting": state }, "lastState": ended }] });
        let spec = json!({ "containers": [{ "name": "app", "image": "app:2" }] });
        of(&serde_json::from_value(json!({ "spec": spec, "status": status })).unwrap(), false).unwrap()
    };
    let reported = pod("docker.io/library/app:1", json!({ "reason": "ErrImagePull", "message": "not found" }));
    let mut between = pod("docker.io/library/app:1", json!({ "reason": "CrashLoopBackOff", "message": "10s" }));
    assert_eq!(between.message, "image app:2 cannot be pulled");
    between.carry_over(&reported);
    assert_eq!(between, reported);
    let ends = pod("docker.io/library/app:2", json!({ "reason": "CrashLoopBackOff" }));
    assert_eq!(ends.message, "container app keeps ending: Completed (exit code 0)");
}

#[test]
fn images_are_compared_as_runtimes_name_them() {
    assert!(!is_other("docker.io/library/nginx:1.25", "nginx:1.25"));
    assert!(!is_other("docker.io/library/nginx:latest", "nginx"));
    assert!(!is_other("sha256:0123", "nginx:1.25"));
    assert!(!is_other("", "nginx:1.25"));
    assert!(is_other("quay.io/coreos/etcd:v3.6.16", "quay.io/coreos/etcd:v3.6.99"));
    assert!(is_other("localhost:5000/app:latest", "localhost:5000/app:2"));
}

#[test]
fn both_states_of_a_crash_loop_have_one_diagnosis() {
    let ended = json!({ "terminated": { "reason": "Error", "exitCode": 1 } });
    let container = |state: Value, last: Value| {
        diagnose(
            json!({ "containerStatuses": [{ "name": "app", "restartCount": 3, "state": state, "lastState": last }] }),
        )
    };
    let back_off = json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 40s" } });
    let waits = container(back_off, ended.clone()).unwrap();
    assert_eq!(Some(&waits), container(json!({ "running": {} }), ended.clone()).as_ref());
    assert_eq!(Some(&waits), container(ended, json!({})).as_ref());
    assert_eq!(waits.message, "container app keeps ending: Error (exit code 1)");
}

/// The diagnosis of a container with that number of restarts, which last ran for that many seconds, in that state.
fn ends(restarts: i32, ran: i64, state: &Value) -> Option<PodDiagnosis> {
    let at = |second: i64| Timestamp::from_second(second).unwrap().to_string();
    let ended = json!({ "reason": "Error", "exitCode": 1, "startedAt": at(1000 - ran), "finishedAt": at(1000) });
    let (state, last) = match state.as_str() {
        Some("terminated") => (json!({ "terminated": ended }), json!({})),
        Some("running") => (json!({ "running": { "startedAt": at(1001) } }), json!({ "terminated": ended })),
        _ => (state.clone(), json!({ "terminated": ended })),
    };
    diagnose(
        json!({ "containerStatuses": [{ "name": "app", "restartCount": restarts, "state": state, "lastState": last }] }),
    )
}

#[test]
fn one_crash_is_no_loop_and_nor_is_one_after_a_long_run() {
    let starts = json!({ "waiting": {} });
    assert_eq!(ends(0, 30, &json!("terminated")), None, "it is restarted at once");
    for (restarts, ran, state) in [
        (1, 30, json!("running")),
        (1, 30, starts.clone()),
        (7, 4000, json!("terminated")),
        (8, 4000, json!("running")),
    ] {
        let passing = ends(restarts, ran, &state).unwrap();
        assert_eq!((&*passing.reason, passing.permanent, passing.until), ("Error", false, None), "{restarts} {state}");
        assert_eq!(passing.message, "container app has ended, and is started again: Error (exit code 1)");
    }
    for (restarts, state) in [(1, json!("terminated")), (2, starts), (2, json!("running"))] {
        let loops = ends(restarts, 30, &state).unwrap();
        assert_eq!((&*loops.reason, loops.permanent), ("CrashLoopBackOff", true), "{restarts} {state}");
    }
    let waits = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    assert!(
        ends(9, 4000, &waits).is_some_and(|waits| waits.permanent && waits.until.is_none()),
        "the kubelet reports it"
    );
}

#[test]
fn a_container_that_runs_for_longer_than_before_has_recovered() {
    let until = |ran| ends(3, ran, &json!("running")).unwrap().until.unwrap().as_second();
    assert_eq!((until(0), until(30), until(500)), (1011, 1071, 1601));
    let loops = ends(3, 30, &json!("running")).unwrap();
    let left = |second| loops.left(Timestamp::from_second(second).unwrap()).unwrap().as_secs();
    assert_eq!((left(1011), left(1071), left(2000)), (60, 0, 0));
}

#[test]
fn both_states_of_a_program_that_cannot_be_started_have_one_diagnosis() {
    let why = "exec: \"nginx\": executable file not found in $PATH";
    let tried = waiting("RunContainerError", why).unwrap();
    let waits = diagnose(json!({ "containerStatuses": [{
        "name": "app", "restartCount": 2,
        "state": { "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 20s" } },
        "lastState": { "terminated": { "reason": "StartError", "exitCode": 128, "message": why } }
    }] }));
    assert_eq!(Some(tried), waits);
}

#[test]
fn a_pod_that_starts_serves_or_terminates_is_not_failing() {
    assert_eq!(waiting("ContainerCreating", ""), None);
    assert_eq!(diagnose(json!({ "containerStatuses": [{ "name": "app", "ready": true, "restartCount": 1 }] })), None);
    let pending = json!({ "status": { "conditions": [{ "type": "PodScheduled", "status": "False" }] } });
    assert_eq!(of(&serde_json::from_value(pending).unwrap(), true), None);
}

#[test]
fn a_pod_without_a_node_may_get_one() {
    let pod = diagnose(json!({ "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"
    }] }));
    assert_eq!(pod.map(|t| (t.reason, t.permanent)), Some((PodReason::Unschedulable.into(), false)));
}
