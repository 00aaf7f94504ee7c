//! Parameters on their way from the spec to the server.

use super::server::{applied, says, settled, stand, standing};
use super::*;
use crate::database::login::LoginCheck;
use crate::database::objects::file;
use crate::database::server_info::SettingsAttempt;

#[test]
fn parameters_are_set_then_written_then_the_server_restarts_if_needed() {
    let mut seen = standing(&json!({}), &settled());
    seen.db = observed(&json!({ "engine": { "parameters": { "work_mem": "8MB" } } }), &settled()).db;
    let differs = vec![("work_mem".to_owned(), "8MB".to_owned())];
    seen.probe = says(|answer| answer.parameters.set.clone_from(&differs));
    // The template's fingerprint of parameters changes, which restarts nothing.
    assert_eq!(done(&plan(&seen, now())), ["apply StatefulSet shop"]);
    let before = std::mem::replace(&mut seen.configuration, ChildState::Absent);
    stand(&mut seen);
    seen.configuration = before;
    assert_eq!(done(&plan(&seen, now())), [r#"SetParameters { set: [("work_mem", "8MB")], reset: [] }"#]);
    seen.probe = says(|_| ());
    assert_eq!(done(&plan(&seen, now())), ["apply ConfigMap shop-configuration"]);
    stand(&mut seen);
    seen.probe = says(|answer| answer.parameters.restart = vec!["shared_buffers".to_owned()]);
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"]);
}

#[test]
fn a_removed_parameter_is_reported_until_the_server_reads_a_file_without_it() {
    let mut seen = standing(&json!({}), &settled());
    seen.probe = says(|answer| answer.parameters.stale = vec!["work_mem".to_owned()]);
    let notes = plan(&seen, now());
    assert_eq!(done(&notes), ["apply Pod shop-0"]);
    let noted = applied(&notes, "Pod", "shop-0").body["metadata"]["annotations"].as_object().unwrap();
    let mut pod = Pod::decode(r#"{ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-1" } }"#).unwrap();
    let mut running = seen.pods[0].details.clone().unwrap();
    running.annotations.extend(noted.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())));
    pod.details = Some(running);
    seen.pods = vec![Arc::new(pod)];
    let waits = plan(&seen, now());
    assert_eq!(done(&waits), Vec::<String>::new());
    let status = waits.status.unwrap();
    assert_eq!(reason(&status, "Reconciling"), (ConditionStatus::True, "SettingParameters".to_owned()));
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True);
    seen.probe = says(|answer| answer.login = LoginCheck::DatabaseMissing);
    assert_eq!(reason(&plan(&seen, now()).status.unwrap(), "Stalled").1, "ApplicationRefused");
    seen.probe = says(|_| ());
    assert!(plan(&seen, now()).status.unwrap().contract.condition("Reconciling").is_none());
}

#[test]
fn a_refused_parameter_is_not_written() {
    let mut seen = standing(&json!({}), &settled());
    seen.db = observed(&json!({ "engine": { "parameters": { "work_mem": "a lot" } } }), &settled()).db;
    let before = std::mem::replace(&mut seen.configuration, ChildState::Absent);
    stand(&mut seen);
    seen.configuration = before;
    seen.probe = says(|answer| answer.parameters.refused = Some("invalid value".to_owned()));
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), Vec::<String>::new());
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Stalled").1, "ParameterRefused");
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True, "it runs on with what it has");
}

#[test]
fn parameters_that_fail_at_start_are_reported_while_the_server_runs_with_the_last_ones() {
    let with = |value: &str| json!({ "engine": { "parameters": { "shared_preload_libraries": value } } });
    let mut seen = standing(&with("nothere"), &settled());
    let attempt = SettingsAttempt { settings: file(&seen.db), fallen_back: true };
    let differs = vec![("shared_preload_libraries".to_owned(), "nothere".to_owned())];
    seen.probe = says(|answer| {
        answer.parameters.set.clone_from(&differs);
        answer.attempt = Some(attempt.clone());
    });
    let ended = json!({ "exitCode": 1, "message": "FATAL: could not access file \"nothere\"" });
    let status = json!({ "name": "postgres", "image": "i", "restartCount": 1, "state": { "running": {} },
        "lastState": { "terminated": ended } });
    let labels = json!({ "multi-operator.example.com/whole": "true" });
    let crashed = json!({ "metadata": { "namespace": "n", "name": "shop-0", "labels": labels },
        "status": { "containerStatuses": [status] } });
    let crashed = Pod::decode(&crashed.to_string()).unwrap().details.unwrap();
    let mut pod = Pod::decode(r#"{ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-1" } }"#).unwrap();
    let mut running = seen.pods[0].details.clone().unwrap();
    running.containers = crashed.containers;
    pod.details = Some(running);
    seen.pods = vec![Arc::new(pod)];
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), Vec::<String>::new(), "it would not start with them the next time");
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Stalled").1, "ParameterRefused");
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True);
    let message = &status.contract.condition("Stalled").unwrap().message;
    assert!(message.contains("could not access file \"nothere\""), "{message}");
    // The requested parameters have yet to be tried, as have those of a start a moment ago.
    seen.db = observed(&with(""), &settled()).db;
    assert_eq!(done(&plan(&seen, now())).len(), 1, "{:?}", done(&plan(&seen, now())));
    seen.db = observed(&with("nothere"), &settled()).db;
    seen.probe = says(|answer| answer.attempt = Some(SettingsAttempt { fallen_back: false, ..attempt.clone() }));
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
    assert!(plan(&seen, now()).status.unwrap().contract.condition("Stalled").is_none());
}

/// The later release may be the one that knows the parameter.
#[test]
fn an_upgrade_that_waits_for_parameters_is_reported_with_them() {
    let refused = |policy: &str| {
        let spec = json!({ "engine": { "version": "17", "parameters": { "event_triggers": "on" } },
            "upgrade": { "policy": policy } });
        let mut of = settled();
        of["engine"] = json!({ "version": "15.20", "running": "15.20", "image": "docker.io/library/postgres:15.20" });
        let mut seen = standing(&spec, &of);
        seen.probe = says(|answer| {
            answer.version = "15.20".to_owned();
            answer.parameters.refused = Some("unrecognized configuration parameter \"event_triggers\"".to_owned());
        });
        let planned = plan(&seen, now());
        assert_eq!(done(&planned), Vec::<String>::new());
        let status = planned.status.unwrap();
        assert_eq!(reason(&status, "Stalled").1, "ParameterRefused");
        status.contract.condition("Stalled").unwrap().message.to_string()
    };
    let planned = refused("Auto");
    assert!(
        planned.contains("event_triggers") && planned.contains("the upgrade to PostgreSQL 17.12 waits: remove"),
        "{planned}"
    );
    assert!(!refused("Manual").contains("the upgrade"), "nothing would be begun");
}
