//! Jobs that the status does not know, and results that are lost or cannot be read.

use super::*;

/// Status is lost while the Job runs, and after it has ended.
#[test]
fn a_job_that_the_status_does_not_know_is_followed() {
    let mut of = observed(&json!({ "schedule": "0 * * * *" }));
    of.step(at(4500));
    let name = of.running().unwrap().to_owned();
    of.edit().status = EtcdBackupStatus::default();
    of.job(&name, None);
    of.step(at(4501));
    let run = of.status().running.clone().unwrap();
    assert_eq!((run.name.as_str(), run.scheduled), (name.as_str(), Some(at(3600))));
    of.job(&name, Some("Failed"));
    of.edit().status = EtcdBackupStatus::default();
    assert!(matches!(&*of.step(at(4502)).effects, [Effect::Delete(_)]), "it is tried again under the same name");
}

/// The agent reports an old backup that is not among the newest.
#[test]
fn a_backup_that_was_found_is_not_taken_for_an_unknown_one() {
    let mut of = observed(&json!({}));
    of.step(at(1));
    of.job("b", Some("Complete"));
    let mut found = result("b", at(1));
    found["backups"] = json!([result("b-2", at(2))["backup"]]);
    of.pod("b", 0, &found);
    of.step(at(2));
    assert!(matches!(&*of.step(at(3)).effects, [Effect::Delete(_)]));
    assert_eq!(of.running(), None);
}

#[test]
fn a_result_that_was_lost_is_found_by_another_job() {
    let mut of = observed(&json!({}));
    of.step(at(1));
    of.job("b", Some("Complete"));
    assert!(matches!(&*of.step(at(2)).effects, [Effect::Delete(_)]));
    assert_eq!(of.running(), Some("b"));
}

/// The kubelet truncates long termination messages.
#[test]
fn a_result_that_cannot_be_read_is_no_backup() {
    let mut of = observed(&json!({}));
    of.step(at(1));
    of.job("b", Some("Complete"));
    of.pod("b", 0, &json!("{\"backup\": {\"na"));
    of.step(at(2));
    assert_eq!((of.reason(), of.status().succeeded, of.status().last_success_date), ("BackupFailed", false, None));
}

/// A quota leaves no room for the pod.
#[test]
fn a_job_without_a_pod_is_reported_after_a_minute() {
    let mut of = observed(&json!({}));
    of.step(at(1));
    of.job("b", None);
    let planned = of.step(at(59));
    assert_eq!((of.reason(), planned.next), ("BackupRunning", Requeue::After(Duration::from_secs(30))));
    of.step(at(60));
    assert_eq!(of.reason(), "PodInTrouble");
    of.working_pod("b", false);
    of.step(at(61));
    assert_eq!(of.reason(), "BackupRunning");
}

/// The Job was deleted while its pod worked.
#[test]
fn a_job_that_was_deleted_is_created_again_once_its_pod_is_gone() {
    let mut of = observed(&json!({}));
    of.step(at(1));
    of.working_pod("b", true);
    assert!(of.step(at(2)).effects.is_empty());
    of.pods.clear();
    assert!(matches!(&*of.step(at(3)).effects, [Effect::Create(_)]));
}
