//! A server that ended once, came up again, and now is not ready for another reason.

use super::*;
use crate::database::tests::held::being_deleted;

/// A pod whose server was restarted at 07:00 after that end, and is not ready since then.
fn once_ended(since: &str, restarts: i32, code: i32, message: &str) -> Value {
    let mut pod = unready(since);
    pod["containerStatuses"][0]["restartCount"] = json!(restarts);
    let ended = json!({ "exitCode": code, "reason": "OOMKilled", "message": message });
    pod["containerStatuses"][0]["lastState"] = json!({ "terminated": ended });
    pod
}

const CAME_UP: &str = "2027-01-15T07:55:00Z";
const DID_NOT: &str = "2027-01-15T06:59:58Z";
const FULL: &str = "PANIC:  could not write to file \"pg_wal/xlogtemp.31\": No space left on device";

/// The same database, with other parameters in the spec.
fn with_others(mut seen: Observed) -> Observed {
    seen.db = observed(&json!({ "engine": { "parameters": { "work_mem": "8MB" } } }), &settled()).db;
    let pods = seen.pods.clone();
    stand(&mut seen);
    (seen.pods, seen.probe) = (pods, ServerProbe::Skipped);
    seen
}

#[test]
fn changed_parameters_do_not_restart_a_recovering_server() {
    for restarts in [1, 3] {
        let of = |since: &str| with_others(with_pod(&json!({}), &once_ended(since, restarts, 137, "")));
        let (done, status) = reported(&of(CAME_UP));
        assert_eq!((done, reason(&status, "Reconciling").1.as_str()), (Vec::new(), "ServerStarting"));
        let message = &status.contract.condition("Ready").unwrap().message;
        assert!(!message.contains("does not start"), "{message}");
        assert_eq!(
            reported(&of(DID_NOT)).0,
            ["delete Pod shop-0"],
            "it may be the parameters that it does not start with"
        );
        let mut silent = of(CAME_UP);
        silent.silent_for = Some(Duration::from_secs(121));
        assert_eq!(reported(&silent).0, ["delete Pod shop-0"]);
    }
}

#[test]
fn the_termination_message_of_an_earlier_start_is_not_reported() {
    let storage = |since: &str| {
        let status = reported(&with_pod(&json!({}), &once_ended(since, 1, 1, FULL))).1;
        reason(&status, "StorageHealthy").1
    };
    assert_eq!(storage(DID_NOT), "VolumeFull");
    assert_ne!(storage(CAME_UP), "VolumeFull");
    let missing = json!({ "reason": "DataMissing", "message": "there are none" }).to_string();
    let hangs = |since: &str| {
        let mut seen = with_pod(&json!({}), &once_ended(since, 1, 3, &missing));
        seen.silent_for = Some(Duration::from_secs(121));
        reported(&seen)
    };
    assert_eq!(hangs(CAME_UP).0, ["delete Pod shop-0"]);
    let (done, status) = hangs(DID_NOT);
    assert_eq!((done, reason(&status, "Stalled").1.as_str()), (Vec::new(), "DataMissing"));
}

/// A container that a webhook injected may keep the pod from being ready.
#[test]
fn a_crashing_sidecar_is_still_reported() {
    let mut pod = once_ended(CAME_UP, 1, 137, "");
    let sidecar = json!({ "name": "proxy", "image": "p", "restartCount": 4,
        "state": { "waiting": { "reason": "CrashLoopBackOff" } },
        "lastState": { "terminated": { "exitCode": 1, "reason": "Error", "message": "" } } });
    pod["containerStatuses"].as_array_mut().unwrap().insert(0, sidecar);
    let ready = reported(&with_pod(&json!({}), &pod)).1;
    assert_eq!(reason(&ready, "Stalled").1, "ServerFails");
}

/// While the database is deleted with its PVC, the spec's parameters are written for a server that does not start, and for no
/// other.
#[test]
fn a_deletion_does_not_treat_a_restarted_server_as_failing_to_start() {
    let is_configured = |since: &str| {
        let mut seen = being_deleted(&[FINAL_SNAPSHOT], &json!({ "deleting": true }));
        seen.pods = with_pod(&json!({}), &once_ended(since, 3, 137, "")).pods;
        (seen.probe, seen.configuration) = (ServerProbe::Skipped, ChildState::Absent);
        done(&plan(&seen, now())).iter().any(|effect| effect.starts_with("apply ConfigMap"))
    };
    assert_eq!([DID_NOT, CAME_UP].map(is_configured), [true, false]);
}
