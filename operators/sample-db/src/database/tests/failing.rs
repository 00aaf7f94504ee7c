//! A server that does not answer, is killed, or does not let the application in.

use std::time::Duration;

use super::server::{says, stand, standing};
use super::*;
use crate::database::login::Login;

mod past;

pub(super) fn settled() -> Value {
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-15T07:59:00Z" });
    status["volumes"] = json!([{ "claim": "data-shop-0", "capacity": "1Gi" }]);
    status
}

/// A database of which the server's pod has another status.
pub(super) fn with_pod(spec: &Value, status: &Value) -> Observed {
    with_pod_of(spec, &settled(), status)
}

pub(super) fn with_pod_of(spec: &Value, of: &Value, status: &Value) -> Observed {
    let mut seen = standing(spec, of);
    let made = seen.pods[0].running.as_deref().unwrap();
    let pod = json!({ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-1", "labels": made.labels,
        "annotations": made.annotations }, "status": status });
    seen.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    seen.asked = Asked::Nothing;
    seen
}

/// A pod whose server runs since 07:00 and is not ready since then.
fn unready(since: &str) -> Value {
    json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "False", "lastTransitionTime": since }],
        "containerStatuses": [{ "name": "postgres", "image": "i", "restartCount": 0,
            "state": { "running": { "startedAt": "2027-01-15T07:00:00Z" } } }] })
}

/// A pod whose server keeps ending.
pub(super) fn ended(code: i32, why: &str, log: &str) -> Value {
    json!({ "conditions": [{ "type": "Ready", "status": "False" }],
        "containerStatuses": [{ "name": "postgres", "image": "i", "restartCount": 3,
            "state": { "waiting": { "reason": "CrashLoopBackOff" } },
            "lastState": { "terminated": { "exitCode": code, "reason": why, "message": log } } }] })
}

pub(super) fn told(seen: &Observed) -> (Vec<String>, SampleDBStatus) {
    let decided = plan(seen, now());
    (done(&decided), decided.status.unwrap())
}

#[test]
fn a_server_that_was_ready_and_does_not_answer_is_started_again() {
    let mut seen = with_pod(&json!({}), &unready("2027-01-15T07:55:00Z"));
    for silent in [None, Some(Duration::from_secs(120))] {
        seen.silent_for = silent;
        let (done, status) = told(&seen);
        assert_eq!(done, Vec::<String>::new(), "it may recover from a crash, and says so");
        assert_eq!(reason(&status, "Reconciling").1, "ServerStarting");
    }
    seen.silent_for = Some(Duration::from_secs(121));
    assert_eq!(told(&seen).0, ["delete Pod shop-0"]);
    // The spec says for how long.
    let mut patient = with_pod(&json!({ "engine": { "maxSilenceSeconds": 600 } }), &unready("2027-01-15T07:55:00Z"));
    patient.silent_for = Some(Duration::from_secs(600));
    assert_eq!(told(&patient).0, Vec::<String>::new());
    patient.silent_for = Some(Duration::from_secs(601));
    assert_eq!(told(&patient).0, ["delete Pod shop-0"]);
}

/// A database that has data and is yet to be configured.
fn unconfigured(status: &Value) -> Observed {
    let mut of = settled();
    of["initialization"] = json!({ "dataCreatedAt": "2027-01-15T06:59:00Z" });
    with_pod_of(&json!({}), &of, status)
}

#[test]
fn a_server_that_hangs_before_it_is_configured_is_reported_as_soon_as_later() {
    let mut seen = unconfigured(&unready("2027-01-15T07:00:00Z"));
    assert_eq!(seen.contact(), Contact::Knock);
    seen.silent_for = Some(Duration::from_secs(120));
    assert_eq!(reason(&told(&seen).1, "Reconciling").1, "ServerStarting");
    seen.silent_for = Some(Duration::from_secs(121));
    let (done, status) = told(&seen);
    assert_eq!((done, reason(&status, "Stalled").1.as_str()), (Vec::new(), "ServerSilent"));
    let mut once_ready = unconfigured(&unready("2027-01-15T07:55:00Z"));
    once_ready.silent_for = Some(Duration::from_secs(121));
    assert_eq!(told(&once_ready).0, ["delete Pod shop-0"]);
}

#[test]
fn a_server_that_a_job_still_fills_is_reported_and_not_restarted() {
    let mut seen = unconfigured(&unready("2027-01-15T07:55:00Z"));
    let job = json!({ "metadata": { "namespace": "n", "name": "shop-init", "uid": "j" } });
    seen.jobs = vec![Arc::new(runtime::projections::Job::decode(&job.to_string()).unwrap())];
    seen.silent_for = Some(Duration::from_secs(121));
    let (done, status) = told(&seen);
    assert_eq!((done, reason(&status, "Stalled").1.as_str()), (Vec::new(), "ServerSilent"));
    let message = &status.contract.condition("Stalled").unwrap().message;
    assert!(message.contains("while the Job shop-init works on it") && message.contains("delete the pod"), "{message}");
}

#[test]
fn no_server_is_knocked_at_while_data_are_made_or_it_is_ready() {
    let made = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "False" }],
        "initContainerStatuses": [{ "name": "prepare", "state": { "running": { "startedAt": "2027-01-15T07:00:00Z" } } }] });
    assert_eq!(unconfigured(&made).contact(), Contact::Nothing);
    let mut ready = unready("2027-01-15T07:55:00Z");
    ready["conditions"][0]["status"] = json!("True");
    assert_eq!(unconfigured(&ready).contact(), Contact::Nothing, "it answers its own probe");
    assert_eq!(with_pod(&json!({}), &ready).contact(), Contact::Ask);
}

/// Parameters may be what a server does not start with; but none is to be cut short that recovers from a crash.
#[test]
fn other_parameters_start_a_server_again_that_fails_and_not_one_that_recovers() {
    let spec = json!({ "engine": { "parameters": { "work_mem": "8MB" } } });
    let changed = |status: &Value| {
        let mut seen = with_pod(&json!({}), status);
        let other = observed(&spec, &settled()).db;
        assert_ne!(objects::parameters(&seen.db), objects::parameters(&other));
        seen.db = other;
        let pods = seen.pods.clone();
        stand(&mut seen);
        seen.pods = pods;
        seen.asked = Asked::Nothing;
        told(&seen).0
    };
    assert_eq!(changed(&unready("2027-01-15T07:55:00Z")), Vec::<String>::new());
    assert_eq!(changed(&ended(1, "Error", "FATAL:  invalid value")), ["delete Pod shop-0"]);
}

#[test]
fn a_server_that_has_never_answered_is_a_persons_matter() {
    let mut seen = with_pod(&json!({}), &unready("2027-01-15T06:59:58Z"));
    seen.silent_for = Some(Duration::from_secs(200));
    let (done, status) = told(&seen);
    assert_eq!(done, Vec::<String>::new(), "another start would do no better");
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ServerSilent".to_owned()));
}

#[test]
fn a_server_that_is_ready_is_left_alone_though_the_manager_cannot_reach_it() {
    let mut seen = standing(&json!({}), &settled());
    seen.asked = Asked::Failed("the server does not answer within 3 s".to_owned());
    seen.silent_for = Some(Duration::from_secs(10));
    assert_eq!(reason(&told(&seen).1, "Reconciling").1, "ServerSilent");
    seen.silent_for = Some(Duration::from_secs(3600));
    let (done, status) = told(&seen);
    assert_eq!(done, Vec::<String>::new());
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ServerSilent".to_owned()));
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True);
}

#[test]
fn a_pod_that_has_failed_is_replaced() {
    let ended = json!({ "phase": "Failed", "conditions": [{ "type": "Ready", "status": "False" }] });
    let mut seen = with_pod(&json!({}), &ended);
    assert_eq!(told(&seen).0, Vec::<String>::new());
    seen.failed = Some("Evicted: the node was low on memory".to_owned());
    let (done, status) = told(&seen);
    assert_eq!(done, ["delete Pod shop-0"]);
    assert!(status.contract.condition("Ready").unwrap().message.contains("Evicted"));
}

#[test]
fn what_used_too_much_memory_is_told_before_the_log() {
    let (_, status) = told(&with_pod(&json!({}), &ended(137, "OOMKilled", "LOG:  database system is ready\n")));
    let ready = status.contract.condition("Ready").unwrap();
    assert!(
        ready.message.contains("resources.limits.memory") && ready.message.contains("OOMKilled"),
        "{}",
        ready.message
    );
}

#[test]
fn messages_are_short() {
    let log = format!("{}\nFATAL:  the cause\n{}\n", "x".repeat(3000), "y".repeat(3000));
    let (_, status) = told(&with_pod(&json!({}), &ended(1, "Error", &log)));
    for told in &status.contract.conditions {
        assert!(told.message.len() <= 1000, "{}: {}", told.type_, told.message.len());
    }
    let ready = &status.contract.condition("Ready").unwrap().message;
    assert!(ready.starts_with("the server does not start: FATAL:  the cause"), "{ready}");
}

#[test]
fn an_application_that_may_not_log_in_is_told_of_and_nothing_is_set_for_ever() {
    let mut seen = standing(&json!({}), &settled());
    seen.asked = says(|answer| answer.login = Login::Refused("the password of the role app has expired".to_owned()));
    let (done, status) = told(&seen);
    assert_eq!(done, Vec::<String>::new());
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "ApplicationRefused".to_owned()));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ApplicationRefused".to_owned()));
    assert_eq!(status.ready.as_deref(), Some("1/1"), "backups go on");
    seen.asked = says(|answer| answer.login = Login::Busy);
    assert_eq!(reason(&told(&seen).1, "Ready").0, ConditionStatus::True);
}

#[test]
fn of_a_database_that_is_gone_the_newest_snapshot_with_it_is_named() {
    let mut seen = standing(&json!({}), &settled());
    let with = |name: &str, at: &str, names: &Value| {
        let status = json!({ "phase": "Ready", "sampleDBUID": "u-1", "startedAt": at, "completedAt": at,
            "databaseNames": names, "verification": { "phase": "Passed" } });
        snapshot(name, "Scheduled", &status)
    };
    seen.snapshots = vec![
        with("old", "2027-01-12T02:00:00Z", &json!(["app"])),
        with("good", "2027-01-13T02:00:00Z", &json!(["app"])),
        with("empty", "2027-01-14T02:00:00Z", &json!([])),
    ];
    seen.asked = says(|answer| answer.login = Login::Gone);
    let (done, status) = told(&seen);
    assert_eq!(done, Vec::<String>::new());
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "ApplicationRefused".to_owned()));
    let told = &status.contract.condition("Stalled").unwrap().message;
    assert!(told.contains("restore the snapshot good") && told.contains("release-snapshot"), "{told}");
}

#[test]
fn parameters_that_no_server_starts_with_get_into_no_file() {
    let spec = json!({ "engine": { "parameters": { "max_connections": "2" } } });
    let first = plan(&observed(&spec, &json!({})), now());
    assert!(first.effects.is_empty() && first.independent.is_empty());
    assert_eq!(reason(&first.status.unwrap(), "Stalled").1, "ParameterRefused");
    let mut seen = standing(&json!({}), &settled());
    let (configuration, pods) = (std::mem::replace(&mut seen.configuration, ChildState::Absent), seen.pods.clone());
    seen.db = observed(&spec, &settled()).db;
    super::server::stand(&mut seen);
    (seen.configuration, seen.pods) = (configuration, pods);
    seen.asked = says(|answer| answer.parameters.set = vec![("max_connections".to_owned(), "2".to_owned())]);
    let (done, status) = told(&seen);
    assert_eq!(done, Vec::<String>::new());
    assert_eq!(reason(&status, "Stalled").1, "ParameterRefused");
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True, "it runs on with what it has");
}

/// Whatever else keeps a database from what is asked for is judged before its login.
#[test]
fn an_application_that_cannot_log_in_is_not_served_whatever_else_is_wrong() {
    let locked = |answer: &mut crate::database::answer::Answer| {
        answer.login = Login::Refused("the role app may have no connection".to_owned())
    };
    let judged = |seen: &Observed, why: &str| {
        let status = plan(seen, now()).status.unwrap();
        assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, why.to_owned()));
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, why.to_owned()));
        let message = &status.contract.condition("Stalled").unwrap().message;
        assert!(message.contains("the role app may have no connection"), "{message}");
        assert_eq!(status.ready.as_deref(), Some("1/1"), "backups go on");
    };
    let mut refused = standing(&json!({}), &settled());
    refused.asked = says(|answer| {
        locked(answer);
        answer.parameters.refused = Some("work_mem is out of range".to_owned());
    });
    judged(&refused, "ParameterRefused");
    let mut gone = standing(&json!({}), &settled());
    gone.asked = says(|answer| {
        answer.login = Login::Gone;
        answer.parameters.refused = Some("work_mem is out of range".to_owned());
    });
    assert_eq!(reason(&told(&gone).1, "Ready"), (ConditionStatus::False, "ParameterRefused".to_owned()));
    refused.snapshots_on_data = true;
    judged(&refused, "SnapshotsOnData");
    let mut malformed = standing(&json!({}), &settled());
    (malformed.app, malformed.asked) = (SecretSeen::Malformed("has no entry password".to_owned()), says(locked));
    judged(&malformed, "SecretMalformed");
    let mut dying = standing(&json!({}), &settled());
    dying.claims = vec![super::records::recorded("u-1", &settled(), &json!({ "deleting": true }))];
    dying.asked = says(locked);
    judged(&dying, "ClaimTerminating");
    let mut paused = standing(&json!({}), &settled());
    paused.db = observed(&json!({ "paused": true }), &settled()).db;
    paused.asked = says(locked);
    judged(&paused, "Paused");
}

#[test]
fn a_server_with_other_data_serves_nobody() {
    let mut seen = standing(&json!({}), &settled());
    seen.asked = says(|answer| answer.system_identifier = "8".to_owned());
    let judged = |seen: &Observed, why: &str| {
        let status = plan(seen, now()).status.unwrap();
        assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, why.to_owned()));
        assert_eq!(status.ready.as_deref(), Some("0/1"), "nor is it backed up");
    };
    judged(&seen, "ForeignData");
    seen.snapshots_on_data = true;
    judged(&seen, "SnapshotsOnData");
}
