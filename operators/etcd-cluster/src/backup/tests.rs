//! Decisions about backups, one by one.

use std::sync::Arc;
use std::time::Duration;

use api::condition_type::{READY, STALLED};
use api::etcd_backup::{BackupVerification, EtcdBackupStatus};
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection as _;
use runtime::job::JOB_NAME;
use runtime::plan::{Effect, Requeue};
use runtime::projections::{Job, Pod};
use serde_json::{Value, json};

use super::metrics::overdue_since;
use super::observed::BackupObserved;
use super::plan::{BackupPlan, plan};
use crate::referenced::Referenced;
use crate::{EtcdBackup, EtcdCluster};

const CREATED: &str = "2026-03-01T10:00:00Z";

fn at(seconds: i64) -> Timestamp {
    CREATED.parse::<Timestamp>().unwrap().checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

fn cluster(ready: &[&str]) -> Referenced<EtcdCluster> {
    let object = json!({
        "metadata": { "namespace": "n", "name": "c", "uid": "u-c" },
        "spec": { "size": 3, "version": "3.6.16", "repository": "registry.example.com/etcd" },
        "status": { "members": { "ready": ready }, "currentVersion": "3.5.35" },
    });
    Referenced::Found(Arc::new(EtcdCluster::decode(&object.to_string()).unwrap()))
}

/// An EtcdBackup of the cluster `c`, with more fields of its spec.
fn observed(more: &Value) -> BackupObserved {
    let mut spec = json!({ "clusterRef": { "name": "c" }, "pvc": { "claimName": "store" } });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let metadata =
        json!({ "namespace": "n", "name": "b", "uid": "u-b", "generation": 1, "creationTimestamp": CREATED });
    let object = json!({ "metadata": metadata, "spec": spec });
    BackupObserved {
        backup: Arc::new(EtcdBackup::decode(&object.to_string()).unwrap()),
        cluster: cluster(&["c-2", "c-1"]),
        jobs: Vec::new(),
        pods: Vec::new(),
        observing_since: Some(at(0)),
        namespace_assigns_uids: false,
        agent_image: "agent:1".into(),
    }
}

impl BackupObserved {
    fn edit(&mut self) -> &mut EtcdBackup {
        Arc::get_mut(&mut self.backup).unwrap()
    }

    /// Plans, and keeps the status that is written.
    fn step(&mut self, now: Timestamp) -> BackupPlan {
        let planned = plan(self, now);
        if let Some(status) = &planned.status {
            self.edit().status = status.clone();
        }
        planned
    }

    fn status(&self) -> &EtcdBackupStatus {
        &self.backup.status
    }

    fn reason(&self) -> &str {
        &self.status().contract.condition(READY).unwrap().reason
    }

    fn running(&self) -> Option<&str> {
        self.status().running.as_ref().map(|run| run.name.as_str())
    }

    /// The Job of that name, in which `condition` is true.
    fn job(&mut self, name: &str, condition: Option<&str>) {
        let conditions: Vec<Value> = condition
            .map(|type_| json!({ "type": type_, "status": "True", "message": "gave up" }))
            .into_iter()
            .collect();
        let controller =
            json!({ "apiVersion": "v", "kind": "EtcdBackup", "name": "b", "uid": "u-b", "controller": true });
        let metadata = json!({ "namespace": "n", "name": name, "uid": "u-j", "ownerReferences": [controller], "creationTimestamp": CREATED });
        let job = json!({ "metadata": metadata, "status": { "conditions": conditions } });
        self.jobs = vec![Arc::new(Job::decode(&job.to_string()).unwrap())];
    }

    /// Its pod, which ended like that.
    fn pod(&mut self, job: &str, code: i32, message: &Value) {
        let labels = json!({ "multi-operator.example.com/whole": "true", JOB_NAME: job });
        let state = json!({ "terminated": { "exitCode": code, "message": message.to_string() } });
        let pod = json!({ "metadata": { "namespace": "n", "name": format!("{job}-x"), "labels": labels }, "status": {
            "containerStatuses": [{ "name": "work", "image": "i", "restartCount": 0, "state": state }] } });
        self.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    }

    /// Its pod, which works, and may be terminating.
    fn working_pod(&mut self, job: &str, deleting: bool) {
        let labels = json!({ "multi-operator.example.com/whole": "true", JOB_NAME: job });
        let mut metadata = json!({ "namespace": "n", "name": format!("{job}-x"), "labels": labels });
        if deleting {
            metadata["deletionTimestamp"] = json!(CREATED);
        }
        let pod = json!({ "metadata": metadata, "status": { "phase": "Running" } });
        self.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    }

    /// The due backup is begun, and its Job ends well.
    fn succeed(&mut self, now: Timestamp) -> String {
        self.step(now);
        let name = self.running().unwrap().to_owned();
        self.job(&name, Some("Complete"));
        self.pod(&name, 0, &result(&name, now));
        self.step(now);
        self.jobs.clear();
        self.pods.clear();
        name
    }

    fn fail(&mut self, now: Timestamp) {
        self.step(now);
        let name = self.running().unwrap().to_owned();
        self.job(&name, Some("Failed"));
        self.pod(&name, 1, &json!({ "reason": "NoSpace", "message": "the volume is full" }));
        self.step(now);
        self.jobs.clear();
        self.pods.clear();
    }
}

fn result(name: &str, taken_at: Timestamp) -> Value {
    let entry = json!({ "name": name, "takenAt": taken_at.as_second(), "revision": 7, "bytes": 9, "sha256": "ab",
        "version": "3.5.35", "clusterID": "c1", "member": "http://m:2379", "verification": "HashCompared" });
    json!({ "backup": entry, "reused": false, "backups": [entry], "count": 3, "bytes": 27, "removed": 0 })
}

fn created_job(plan: &BackupPlan) -> &Value {
    let [Effect::Create(job)] = &*plan.effects else { panic!("{:?}", plan.effects) };
    &job.body
}

#[test]
fn one_backup_is_recorded_then_taken_and_its_job_deleted() {
    let mut of = observed(&json!({}));
    assert!(of.step(at(1)).effects.is_empty(), "the status comes first");
    assert_eq!((of.running(), of.reason()), (Some("b"), "BackupRunning"));
    let planned = of.step(at(2));
    let job = created_job(&planned);
    let work = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(work["image"], "registry.example.com/etcd:v3.5.35", "the version that runs");
    let command: Vec<&str> = work["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let expected = [
        "/multi-operator/agent",
        "etcd-backup",
        "--endpoint=http://c-1.c.n.svc:2379",
        "--endpoint=http://c-2.c.n.svc:2379",
        "--to=/backups/b/b",
        "--owner=u-b",
        "--scratch=/scratch",
    ];
    assert_eq!(command, expected);
    assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], "u-b");
    of.job("b", Some("Complete"));
    of.pod("b", 0, &result("b", at(1)));
    of.step(at(4));
    let status = of.status();
    assert_eq!((status.running.as_ref(), status.succeeded, status.etcd_revision), (None, true, Some(7)));
    assert_eq!(status.backups[0].verification, BackupVerification::HashCompared);
    assert_eq!((of.reason(), status.count, status.last_success_date), ("BackupVerified", 3, Some(at(1))));
    assert!(matches!(&*of.step(at(5)).effects, [Effect::Delete(job)] if *job.key.name == *"b"));
    of.jobs.clear();
    let settled = of.step(at(6));
    assert_eq!((settled.effects.len(), settled.next), (0, Requeue::OnChange));
}

#[test]
fn a_failure_is_reported_and_retried_with_growing_pauses() {
    let mut of = observed(&json!({}));
    of.fail(at(0));
    assert!(of.status().contract.is_true(STALLED));
    assert_eq!((of.reason(), of.status().reason.as_deref()), ("BackupFailed", Some("the volume is full")));
    let planned = of.step(at(10));
    assert_eq!((of.running(), planned.next), (None, Requeue::After(std::time::Duration::from_secs(20))));
    let message = of.status().contract.condition(READY).unwrap().message.clone();
    assert_eq!(message, "the backup failed: the volume is full; the next attempt begins at 2026-03-01T10:00:30Z");
    of.fail(at(30));
    of.step(at(89));
    assert_eq!(of.running(), None);
    // An edit is an attempt at a remedy.
    of.edit().meta.generation = 2;
    assert_eq!(of.succeed(at(89)), "b");
    assert_eq!((of.status().failures, of.reason()), (0, "BackupVerified"));
}

#[test]
fn without_a_ready_member_no_backup_begins() {
    let mut of = observed(&json!({}));
    for (cluster, reason, stalled) in [
        (Referenced::Missing, "ClusterMissing", true),
        (cluster(&[]), "ClusterNotReady", false),
        (Referenced::Unreadable("e".to_owned()), "ClusterUnreadable", true),
    ] {
        of.cluster = cluster;
        of.step(at(1));
        assert_eq!((of.running(), of.reason(), of.status().contract.is_true(STALLED)), (None, reason, stalled));
    }
}

#[test]
fn a_schedule_takes_what_it_missed_once() {
    let mut of = observed(&json!({ "schedule": "0 * * * *" }));
    of.step(at(60));
    assert_eq!((of.running(), of.reason(), of.status().contract.is_true(READY)), (None, "WaitingForSchedule", true));
    // Starts are spread over a quarter of the interval, and missed ones over five minutes.
    assert_eq!(of.succeed(at(3600 + 900)), "b-20260301-110000");
    of.observing_since = Some(at(5 * 3600));
    of.step(at(5 * 3600 + 1200));
    assert_eq!(of.running(), Some("b-20260301-150000"));
    let mut of = observed(&json!({ "schedule": "0 0 30 2 *" }));
    of.step(at(1));
    assert_eq!(of.reason(), "InvalidSchedule");
    let message = &of.status().contract.condition(READY).unwrap().message;
    assert!(message.starts_with("spec.schedule names"), "{message}");
}

#[test]
fn an_interval_begins_at_once_and_skips_what_it_missed() {
    let mut of = observed(&json!({ "backupPolicy": { "backupIntervalInSecond": 60 } }));
    assert_eq!(of.succeed(at(5)), "b-20260301-100000");
    of.step(at(59));
    assert_eq!(of.running(), None);
    assert_eq!(of.succeed(at(61)), "b-20260301-100100");
    assert_eq!(of.succeed(at(605)), "b-20260301-101000");
}

#[test]
fn while_a_backup_is_missing_the_newest_one_counts_as_overdue() {
    let mut of = observed(&json!({ "schedule": "0 * * * *" }));
    let since = |of: &BackupObserved, now| overdue_since(of, now);
    assert_eq!((since(&of, at(60)), since(&of, at(4500))), (None, Some(at(0))), "there is none yet");
    of.succeed(at(4500));
    assert_eq!((since(&of, at(4600)), since(&of, at(8200))), (None, Some(at(4500))));
    of.fail(at(8200));
    assert_eq!(since(&of, at(8210)), Some(at(4500)));
    of.edit().spec.suspend = true;
    assert_eq!(since(&of, at(8210)), None);
}

#[test]
fn each_value_of_the_annotation_requests_one_backup() {
    let mut of = observed(&json!({}));
    of.succeed(at(1));
    of.edit().annotations.insert(api::etcd_backup::BACKUP_NOW, "one".into());
    let first = of.succeed(at(2));
    assert!(first.starts_with("b-r"), "{first}");
    of.step(at(3));
    assert_eq!(of.running(), None);
    of.edit().annotations.insert(api::etcd_backup::BACKUP_NOW, "two".into());
    assert_ne!(of.succeed(at(4)), first);
}

/// Whoever watches the health of an EtcdBackup is not alarmed each night.
#[test]
fn while_another_backup_is_taken_it_stays_ready_and_an_event_tells_the_result() {
    let mut of = observed(&json!({ "backupPolicy": { "backupIntervalInSecond": 60 } }));
    of.step(at(0));
    assert!(!of.status().contract.is_true(READY), "there is no backup yet");
    of.succeed(at(0));
    of.step(at(60));
    let message = of.status().contract.condition(READY).unwrap().message.clone();
    assert_eq!((of.status().contract.is_true(READY), of.reason()), (true, "BackupRunning"));
    assert!(message.ends_with("the newest one is b-20260301-100000, of revision 7"), "{message}");
    let name = of.running().unwrap().to_owned();
    of.job(&name, Some("Complete"));
    of.pod(&name, 0, &result(&name, at(60)));
    let events = of.step(at(61)).events_after_status;
    assert_eq!(
        events.iter().map(|event| (event.warning, event.reason.as_str())).collect::<Vec<_>>(),
        [(false, "BackupVerified")]
    );
    // A failure is no small thing, and ends with the next success.
    of.jobs.clear();
    of.fail(at(120));
    of.step(at(200));
    assert!(!of.status().contract.is_true(READY));
}

#[test]
fn suspended_backups_do_not_begin() {
    let mut of = observed(&json!({ "suspend": true }));
    of.step(at(1));
    assert_eq!((of.running(), of.reason()), (None, "Suspended"));
}

mod jobs;
mod targets;
