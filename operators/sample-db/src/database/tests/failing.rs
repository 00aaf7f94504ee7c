//! A server that does not answer, is killed, or rejects the application.

use std::time::Duration;

use super::server::{says, stand, standing};
use super::*;
use crate::database::login::LoginCheck;

mod past;

pub(super) fn settled() -> Value {
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-15T07:59:00Z" });
    status["volumes"] = json!([{ "claim": "data-shop-0", "capacity": "1Gi" }]);
    status
}

/// A database whose server's pod has another status.
pub(super) fn with_pod(spec: &Value, status: &Value) -> Observed {
    with_pod_of(spec, &settled(), status)
}

pub(super) fn with_pod_of(spec: &Value, of: &Value, status: &Value) -> Observed {
    let mut seen = standing(spec, of);
    let created = seen.pods[0].details.as_deref().unwrap();
    let pod = json!({ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-1", "labels": created.labels,
        "annotations": created.annotations }, "status": status });
    seen.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    seen.probe = ServerProbe::Skipped;
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

pub(super) fn reported(seen: &Observed) -> (Vec<String>, SampleDBStatus) {
    let decided = plan(seen, now());
    (done(&decided), decided.status.unwrap())
}

#[test]
fn a_server_that_was_ready_and_does_not_answer_is_restarted() {
    let mut seen = with_pod(&json!({}), &unready("2027-01-15T07:55:00Z"));
    for silent in [None, Some(Duration::from_secs(120))] {
        seen.silent_for = silent;
        let (done, status) = reported(&seen);
        assert_eq!(done, Vec::<String>::new(), "it may recover from a crash, and says so");
        assert_eq!(reason(&status, "Reconciling").1, "ServerStarting");
    }
    seen.silent_for = Some(Duration::from_secs(121));
    assert_eq!(reported(&seen).0, ["delete Pod shop-0"]);
    // The spec sets the limit.
    let mut patient = with_pod(&json!({ "engine": { "maxSilenceSeconds": 600 } }), &unready("2027-01-15T07:55:00Z"));
    patient.silent_for = Some(Duration::from_secs(600));
    assert_eq!(reported(&patient).0, Vec::<String>::new());
    patient.silent_for = Some(Duration::from_secs(601));
    assert_eq!(reported(&patient).0, ["delete Pod shop-0"]);
}

/// A database that has data and has yet to be configured.
fn unconfigured(status: &Value) -> Observed {
    let mut of = settled();
    of["initialization"] = json!({ "dataCreatedAt": "2027-01-15T06:59:00Z" });
    with_pod_of(&json!({}), &of, status)
}

#[test]
fn a_server_that_hangs_before_it_is_configured_is_reported_as_soon_as_later() {
    let mut seen = unconfigured(&unready("2027-01-15T07:00:00Z"));
    assert_eq!(seen.contact(), Contact::Ping);
    seen.silent_for = Some(Duration::from_secs(120));
    assert_eq!(reason(&reported(&seen).1, "Reconciling").1, "ServerStarting");
    seen.silent_for = Some(Duration::from_secs(121));
    let (done, status) = reported(&seen);
    assert_eq!((done, reason(&status, "Stalled").1.as_str()), (Vec::new(), "ServerSilent"));
    let mut once_ready = unconfigured(&unready("2027-01-15T07:55:00Z"));
    once_ready.silent_for = Some(Duration::from_secs(121));
    assert_eq!(reported(&once_ready).0, ["delete Pod shop-0"]);
}

#[test]
fn a_server_that_a_job_restores_into_is_reported_and_not_restarted() {
    let mut seen = unconfigured(&unready("2027-01-15T07:55:00Z"));
    let job = json!({ "metadata": { "namespace": "n", "name": "shop-init", "uid": "j" } });
    seen.jobs = vec![Arc::new(runtime::projections::Job::decode(&job.to_string()).unwrap())];
    seen.silent_for = Some(Duration::from_secs(121));
    let (done, status) = reported(&seen);
    assert_eq!((done, reason(&status, "Stalled").1.as_str()), (Vec::new(), "ServerSilent"));
    let message = &status.contract.condition("Stalled").unwrap().message;
    assert!(message.contains("while the Job shop-init is running") && message.contains("delete the pod"), "{message}");
}

#[test]
fn no_server_is_pinged_while_its_data_is_created_or_it_is_ready() {
    let created = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "False" }],
        "initContainerStatuses": [{ "name": "prepare", "state": { "running": { "startedAt": "2027-01-15T07:00:00Z" } } }] });
    assert_eq!(unconfigured(&created).contact(), Contact::None);
    let mut ready = unready("2027-01-15T07:55:00Z");
    ready["conditions"][0]["status"] = json!("True");
    assert_eq!(unconfigured(&ready).contact(), Contact::None, "it answers its own probe");
    assert_eq!(with_pod(&json!({}), &ready).contact(), Contact::Query);
}

/// Parameters may be why a server does not start, but a recovering one must not be interrupted.
#[test]
fn changed_parameters_restart_a_failing_server_and_not_a_recovering_one() {
    let spec = json!({ "engine": { "parameters": { "work_mem": "8MB" } } });
    let changed = |status: &Value| {
        let mut seen = with_pod(&json!({}), status);
        let other = observed(&spec, &settled()).db;
        assert_ne!(objects::parameters(&seen.db), objects::parameters(&other));
        seen.db = other;
        let pods = seen.pods.clone();
        stand(&mut seen);
        seen.pods = pods;
        seen.probe = ServerProbe::Skipped;
        reported(&seen).0
    };
    assert_eq!(changed(&unready("2027-01-15T07:55:00Z")), Vec::<String>::new());
    assert_eq!(changed(&ended(1, "Error", "FATAL:  invalid value")), ["delete Pod shop-0"]);
}

#[test]
fn a_server_that_has_never_answered_waits_for_the_user() {
    let mut seen = with_pod(&json!({}), &unready("2027-01-15T06:59:58Z"));
    seen.silent_for = Some(Duration::from_secs(200));
    let (done, status) = reported(&seen);
    assert_eq!(done, Vec::<String>::new(), "another start would do no better");
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ServerSilent".to_owned()));
}

#[test]
fn a_ready_server_is_left_alone_although_the_manager_cannot_reach_it() {
    let mut seen = standing(&json!({}), &settled());
    seen.probe = ServerProbe::Failed("the server does not answer within 3 s".to_owned());
    seen.silent_for = Some(Duration::from_secs(10));
    assert_eq!(reason(&reported(&seen).1, "Reconciling").1, "ServerSilent");
    seen.silent_for = Some(Duration::from_secs(3600));
    let (done, status) = reported(&seen);
    assert_eq!(done, Vec::<String>::new());
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ServerSilent".to_owned()));
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True);
}

#[test]
fn a_failed_pod_is_replaced() {
    let ended = json!({ "phase": "Failed", "conditions": [{ "type": "Ready", "status": "False" }] });
    let mut seen = with_pod(&json!({}), &ended);
    assert_eq!(reported(&seen).0, Vec::<String>::new());
    seen.pod_failure = Some("Evicted: the node was low on memory".to_owned());
    let (done, status) = reported(&seen);
    assert_eq!(done, ["delete Pod shop-0"]);
    assert!(status.contract.condition("Ready").unwrap().message.contains("Evicted"));
}

#[test]
fn an_oom_kill_is_reported_before_the_log() {
    let (_, status) = reported(&with_pod(&json!({}), &ended(137, "OOMKilled", "LOG:  database system is ready\n")));
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
    let (_, status) = reported(&with_pod(&json!({}), &ended(1, "Error", &log)));
    for reported in &status.contract.conditions {
        assert!(reported.message.len() <= 1000, "{}: {}", reported.type_, reported.message.len());
    }
    let ready = &status.contract.condition("Ready").unwrap().message;
    assert!(ready.starts_with("the server does not start: FATAL:  the cause"), "{ready}");
}

#[test]
fn an_application_that_may_not_log_in_is_reported_and_its_password_not_set_again() {
    let mut seen = standing(&json!({}), &settled());
    seen.probe =
        says(|answer| answer.login = LoginCheck::Refused("the password of the role app has expired".to_owned()));
    let (done, status) = reported(&seen);
    assert_eq!(done, Vec::<String>::new());
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "ApplicationRefused".to_owned()));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "ApplicationRefused".to_owned()));
    assert_eq!(status.ready.as_deref(), Some("1/1"), "backups go on");
    seen.probe = says(|answer| answer.login = LoginCheck::Busy);
    assert_eq!(reason(&reported(&seen).1, "Ready").0, ConditionStatus::True);
}

#[test]
fn a_missing_database_is_reported_with_the_newest_snapshot_that_contains_it() {
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
    seen.probe = says(|answer| answer.login = LoginCheck::DatabaseMissing);
    let (done, status) = reported(&seen);
    assert_eq!(done, Vec::<String>::new());
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "ApplicationRefused".to_owned()));
    let reported = &status.contract.condition("Stalled").unwrap().message;
    assert!(reported.contains("restore the snapshot good") && reported.contains("release-snapshot"), "{reported}");
}

#[test]
fn parameters_that_no_server_starts_with_are_not_written() {
    let spec = json!({ "engine": { "parameters": { "max_connections": "2" } } });
    let first = plan(&observed(&spec, &json!({})), now());
    assert!(first.effects.is_empty() && first.independent.is_empty());
    assert_eq!(reason(&first.status.unwrap(), "Stalled").1, "ParameterRefused");
    let mut seen = standing(&json!({}), &settled());
    let (configuration, pods) = (std::mem::replace(&mut seen.configuration, ChildState::Absent), seen.pods.clone());
    seen.db = observed(&spec, &settled()).db;
    super::server::stand(&mut seen);
    (seen.configuration, seen.pods) = (configuration, pods);
    seen.probe = says(|answer| answer.parameters.set = vec![("max_connections".to_owned(), "2".to_owned())]);
    let (done, status) = reported(&seen);
    assert_eq!(done, Vec::<String>::new());
    assert_eq!(reason(&status, "Stalled").1, "ParameterRefused");
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True, "it runs on with what it has");
}

/// Whatever else blocks the spec, the login is judged as well.
#[test]
fn an_application_that_cannot_log_in_is_not_served_whatever_else_is_wrong() {
    let locked = |answer: &mut crate::database::server_info::ServerInfo| {
        answer.login = LoginCheck::Refused("the role app may have no connection".to_owned())
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
    refused.probe = says(|answer| {
        locked(answer);
        answer.parameters.refused = Some("work_mem is out of range".to_owned());
    });
    judged(&refused, "ParameterRefused");
    let mut gone = standing(&json!({}), &settled());
    gone.probe = says(|answer| {
        answer.login = LoginCheck::DatabaseMissing;
        answer.parameters.refused = Some("work_mem is out of range".to_owned());
    });
    assert_eq!(reason(&reported(&gone).1, "Ready"), (ConditionStatus::False, "ParameterRefused".to_owned()));
    refused.snapshots_on_data = true;
    judged(&refused, "SnapshotsOnData");
    let mut malformed = standing(&json!({}), &settled());
    (malformed.app_secret, malformed.probe) =
        (SecretState::Malformed("has no entry password".to_owned()), says(locked));
    judged(&malformed, "SecretMalformed");
    let mut terminating_claim = standing(&json!({}), &settled());
    terminating_claim.claims = vec![super::records::recorded("u-1", &settled(), &json!({ "deleting": true }))];
    terminating_claim.probe = says(locked);
    judged(&terminating_claim, "ClaimTerminating");
    let mut paused = standing(&json!({}), &settled());
    paused.db = observed(&json!({ "paused": true }), &settled()).db;
    paused.probe = says(locked);
    judged(&paused, "Paused");
}

#[test]
fn a_server_with_other_data_does_not_serve() {
    let mut seen = standing(&json!({}), &settled());
    seen.probe = says(|answer| answer.system_identifier = "8".to_owned());
    let judged = |seen: &Observed, why: &str| {
        let status = plan(seen, now()).status.unwrap();
        assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, why.to_owned()));
        assert_eq!(status.ready.as_deref(), Some("0/1"), "nor is it backed up");
    };
    judged(&seen, "ForeignData");
    seen.snapshots_on_data = true;
    judged(&seen, "SnapshotsOnData");
}
