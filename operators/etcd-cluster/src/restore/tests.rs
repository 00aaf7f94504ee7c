//! Decisions about restores, one by one.

use std::sync::Arc;

use api::condition_type::{READY, STALLED};
use api::etcd_restore::{EtcdRestorePhase, EtcdRestoreStatus};
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection as _;
use runtime::job::JOB_NAME;
use runtime::plan::Effect;
use runtime::projections::{Job, Pod};
use serde_json::{Value, json};

use super::observed::RestoreObserved;
use super::plan::{RestorePlan, plan};
use crate::referenced::Referenced;
use crate::{EtcdBackup, EtcdCluster, EtcdRestore};

fn at(seconds: i64) -> Timestamp {
    "2026-03-01T10:00:00Z".parse::<Timestamp>().unwrap().checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

/// The EtcdCluster `c`, with that status.
fn cluster(status: &Value) -> Referenced<EtcdCluster> {
    let object = json!({
        "metadata": { "namespace": "n", "name": "c", "uid": "u-c" },
        "spec": { "size": 3, "version": "3.6.16", "repository": "registry.example.com/etcd" },
        "status": status,
    });
    Referenced::Found(Arc::new(EtcdCluster::decode(&object.to_string()).unwrap()))
}

/// An EtcdRestore of the cluster `c`, with more fields of its spec.
fn observed(more: &Value) -> RestoreObserved {
    let pvc = json!({ "claimName": "store", "file": "b/b.db" });
    let mut spec = json!({ "etcdCluster": { "name": "c" }, "pvc": pvc });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let metadata = json!({ "namespace": "n", "name": "r", "uid": "u-r", "generation": 1 });
    let object = json!({ "metadata": metadata, "spec": spec });
    RestoreObserved {
        restore: Arc::new(EtcdRestore::decode(&object.to_string()).unwrap()),
        cluster: cluster(&json!({ "clusterID": "a1", "storage": { "durable": true } })),
        backup: Referenced::Nothing,
        jobs: Vec::new(),
        pods: Vec::new(),
        namespace_assigns_uids: false,
        agent_image: "agent:1".into(),
    }
}

fn consented() -> RestoreObserved {
    observed(&json!({ "replaceClusterID": "a1" }))
}

impl RestoreObserved {
    fn edit(&mut self) -> &mut EtcdRestore {
        Arc::get_mut(&mut self.restore).unwrap()
    }

    /// Plans, and keeps the status that is written.
    fn step(&mut self, now: Timestamp) -> RestorePlan {
        let planned = plan(self, now);
        self.edit().status = planned.status.clone().unwrap();
        planned
    }

    fn status(&self) -> &EtcdRestoreStatus {
        &self.restore.status
    }

    /// The reason and the message of Ready, and whether it is Stalled.
    fn ready(&self) -> (String, String, bool) {
        let contract = &self.status().contract;
        let ready = contract.condition(READY).unwrap();
        (ready.reason.to_string(), ready.message.clone(), contract.is_true(STALLED))
    }

    /// The Job of the generation ends with that result.
    fn finish(&mut self, generation: i64, code: i32, result: &Value) {
        let owner = json!([{ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdRestore", "name": "r", "uid": "u-r", "controller": true }]);
        let labels = json!({ "multi-operator.example.com/generation": generation.to_string() });
        let end = if code == 0 {
            json!({ "type": "Complete", "status": "True" })
        } else {
            json!({ "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "no" })
        };
        let job = json!({ "metadata": { "namespace": "n", "name": "r-verify", "uid": "u-j", "labels": labels, "ownerReferences": owner },
            "status": { "conditions": [end] } });
        let terminated = json!({ "exitCode": code, "message": result.to_string(), "reason": "x" });
        let pod = json!({
            "metadata": { "namespace": "n", "name": "r-verify-1", "uid": "u-p", "labels": { JOB_NAME: "r-verify",
                "multi-operator.example.com/whole": "true" } },
            "spec": { "containers": [{ "name": "work", "image": "i" }] },
            "status": { "phase": "Succeeded", "containerStatuses": [{ "name": "work", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": { "terminated": terminated } }] },
        });
        self.jobs = vec![Arc::new(Job::decode(&job.to_string()).unwrap())];
        self.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    }
}

fn kinds(plan: &RestorePlan) -> Vec<String> {
    let of = |effect: &Effect<_>| match effect {
        Effect::Create(create) => format!("create {}", create.key.name),
        Effect::Delete(delete) => format!("delete {}", delete.key.name),
        other => format!("{other:?}"),
    };
    plan.effects.iter().map(of).collect()
}

#[test]
fn a_cluster_that_exists_is_untouched_without_consent() {
    let mut seen = observed(&json!({}));
    assert!(kinds(&seen.step(at(0))).is_empty());
    let (reason, message, stalled) = seen.ready();
    assert_eq!((&*reason, stalled, seen.status().phase), ("ConsentRequired", true, Some(EtcdRestorePhase::Pending)));
    let command = "kubectl patch etcdrestore -n n r --type merge -p '{\"spec\":{\"replaceClusterID\":\"a1\"}}'";
    assert!(message.contains("clusterID a1") && message.ends_with(command), "{message}");
    seen.edit().spec.replace_cluster_id = Some("a0".to_owned());
    assert!(kinds(&seen.step(at(1))).is_empty(), "it names another one");
    seen.edit().spec.replace_cluster_id = Some("a1".to_owned());
    seen.edit().meta.generation = 2;
    assert_eq!(kinds(&seen.step(at(1))), ["create r-verify"]);
}

#[test]
fn what_cannot_begin_says_why() {
    let mut seen = consented();
    for (of, reason) in [
        (Referenced::Missing, "ClusterMissing"),
        (Referenced::Unreadable("no".to_owned()), "ClusterUnreadable"),
        (cluster(&json!({ "storage": { "durable": false } })), "DataInPods"),
    ] {
        seen.cluster = of;
        assert!(kinds(&seen.step(at(0))).is_empty());
        assert_eq!((&*seen.ready().0, seen.ready().2), (reason, true));
    }
}

#[test]
fn a_snapshot_is_verified_by_the_programs_of_the_cluster() {
    let mut seen = consented();
    let plan = seen.step(at(0));
    let [Effect::Create(job)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    let pod = &job.body["spec"]["template"]["spec"];
    let work = &pod["containers"][0];
    assert_eq!(work["image"], "registry.example.com/etcd:v3.6.16");
    let command = work["command"].to_string();
    assert!(command.contains("etcd-verify") && command.contains("--from=/snapshot/b/b.db"), "{command}");
    let mount = work["volumeMounts"].as_array().unwrap().iter().find(|mount| mount["mountPath"] == "/snapshot");
    assert_eq!(mount.unwrap()["readOnly"], true);
    assert_eq!((&*seen.ready().0, seen.status().phase), ("Verifying", Some(EtcdRestorePhase::Verifying)));
}

#[test]
fn a_verified_snapshot_is_handed_over_and_the_end_is_that_of_the_cluster() {
    let mut seen = consented();
    seen.step(at(0));
    seen.finish(1, 0, &json!({ "revision": 9, "bytes": 100, "sha256": "ab" }));
    assert!(kinds(&seen.step(at(1))).is_empty(), "the status comes first");
    assert_eq!(seen.status().verified.as_ref().map(|of| (of.generation, of.revision)), Some((1, 9)));
    assert_eq!(kinds(&seen.step(at(2))), ["delete r-verify"]);
    seen.jobs.clear();
    assert_eq!((&*seen.ready().0, seen.status().phase), ("Restoring", Some(EtcdRestorePhase::Restoring)));

    let progress = |outcome: Value| {
        let restore =
            json!({ "name": "r", "uid": "u-r", "previousClusterID": "a1", "stage": "Beginning", "outcome": outcome });
        cluster(&json!({ "clusterID": "b2", "storage": { "durable": true }, "restore": restore }))
    };
    seen.cluster = progress(Value::Null);
    seen.step(at(3));
    assert_eq!((seen.status().phase, seen.status().succeeded), (Some(EtcdRestorePhase::Restoring), false));
    seen.cluster = progress(json!("Restored"));
    seen.step(at(4));
    let status = seen.status().clone();
    assert_eq!((status.phase, status.succeeded), (Some(EtcdRestorePhase::Succeeded), true));
    assert_eq!((status.cluster_id.as_deref(), status.previous_cluster_id.as_deref()), (Some("b2"), Some("a1")));
    let message = seen.ready().1;
    assert!(message.contains("revision 9") && message.contains("replaced-by=u-r"), "{message}");

    // Whatever comes later, the cluster is not restored again.
    seen.cluster = cluster(&json!({ "clusterID": "c3", "storage": { "durable": true } }));
    assert_eq!((kinds(&seen.step(at(5))).len(), seen.status()), (0, &status));
}

#[test]
fn a_failed_verification_is_repeated_later_and_after_an_edit_at_once() {
    let mut seen = consented();
    seen.step(at(0));
    seen.finish(1, 1, &json!({ "reason": "SnapshotMissing", "message": "there is no snapshot b.db" }));
    assert_eq!(kinds(&seen.step(at(1))), ["delete r-verify"]);
    (seen.jobs, seen.pods) = (Vec::new(), Vec::new());
    assert!(kinds(&seen.step(at(10))).is_empty());
    let (reason, message, stalled) = seen.ready();
    assert_eq!((&*reason, stalled), ("VerificationFailed", true));
    assert!(message.contains("there is no snapshot b.db") && message.contains("10:00:31Z"), "{message}");
    assert_eq!(seen.status().reason.as_deref(), Some("there is no snapshot b.db"));
    assert_eq!(kinds(&seen.step(at(32))), ["create r-verify"]);

    seen.finish(1, 1, &json!({ "reason": "SnapshotMissing", "message": "there is no snapshot b.db" }));
    seen.step(at(40));
    (seen.jobs, seen.pods) = (Vec::new(), Vec::new());
    seen.edit().meta.generation = 2;
    assert_eq!(kinds(&seen.step(at(41))), ["create r-verify"]);
}

#[test]
fn what_a_job_found_of_an_earlier_spec_does_not_count() {
    let mut seen = consented();
    seen.step(at(0));
    seen.edit().meta.generation = 2;
    seen.finish(1, 0, &json!({ "revision": 9, "bytes": 100, "sha256": "ab" }));
    assert_eq!(kinds(&seen.step(at(1))), ["delete r-verify"]);
    assert_eq!(seen.status().verified, None);
    seen.finish(2, 0, &json!({}));
    seen.step(at(2));
    assert_eq!((seen.status().verified.clone(), seen.status().failures), (None, 1), "no checksum, no proof");
}

/// An EtcdBackup with these backups, the newest first, and with other fields of its spec.
fn backups(spec: &Value, entries: &Value) -> Referenced<EtcdBackup> {
    let object = json!({
        "metadata": { "namespace": "n", "name": "nightly", "uid": "u-b" }, "spec": spec, "status": { "backups": entries },
    });
    Referenced::Found(Arc::new(EtcdBackup::decode(&object.to_string()).unwrap()))
}

#[test]
fn the_newest_backup_of_an_etcd_backup_is_restored_and_no_later_one() {
    let (old, new) = (
        json!({ "name": "nightly-1", "takenAt": "2026-02-27T03:00:00Z", "sha256": "a" }),
        json!({ "name": "nightly-2", "takenAt": "2026-02-28T03:00:00Z", "sha256": "b" }),
    );
    let newest = json!({ "name": "nightly-3", "takenAt": "2026-03-01T03:00:00Z", "sha256": "c" });
    let on_volume = json!({ "clusterRef": { "name": "c" }, "pvc": { "claimName": "store" } });
    let mut seen = observed(&json!({ "replaceClusterID": "a1", "pvc": null, "etcdBackup": { "name": "nightly" } }));
    seen.backup = backups(&on_volume, &json!([new, old]));
    assert!(kinds(&seen.step(at(0))).is_empty(), "the status comes first");
    assert_eq!(seen.status().backup.as_ref().map(|of| (of.generation, &*of.name)), Some((1, "nightly-2")));
    seen.backup = backups(&on_volume, &json!([newest, new, old]));
    let plan = seen.step(at(1));
    let [Effect::Create(job)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    let command = job.body["spec"]["template"]["spec"]["containers"][0]["command"].to_string();
    assert!(command.contains("--from=/snapshot/nightly/nightly-2.db") && command.contains("--sha256=b"), "{command}");

    // It may be chosen, and is found in a bucket by its path.
    seen.edit().spec.etcd_backup.as_mut().unwrap().backup = Some("nightly-1".to_owned());
    seen.edit().meta.generation = 2;
    let in_bucket = json!({ "clusterRef": { "name": "c" }, "storageType": "S3",
        "s3": { "path": "backups/etcd", "awsSecret": "aws", "forcePathStyle": true } });
    let at_path = json!({ "name": "nightly-1", "path": "backups/etcd_v9_nightly-1", "sha256": "a" });
    seen.backup = backups(&in_bucket, &json!([new, at_path]));
    seen.step(at(2));
    let source = seen.status().backup.clone().unwrap().source;
    let stored = source.s3.as_ref().map(|s3| (&*s3.path, &*s3.aws_secret, s3.force_path_style));
    assert_eq!(stored, Some(("backups/etcd_v9_nightly-1", "aws", true)));
    assert_eq!((source.claim_name.as_deref(), source.sha256.as_deref()), (None, Some("a")));
}

#[test]
fn a_backup_that_does_not_exist_is_named() {
    let mut seen =
        observed(&json!({ "replaceClusterID": "a1", "pvc": null, "etcdBackup": { "name": "nightly", "backup": "x" } }));
    let spec = json!({ "clusterRef": { "name": "c" }, "storageType": "S3", "s3": { "path": "backups/etcd", "awsSecret": "aws" } });
    for (of, reason, says) in [
        (Referenced::Missing, "BackupMissing", "the EtcdBackup nightly does not exist"),
        (Referenced::Unreadable("no".to_owned()), "BackupUnreadable", "cannot be read: no"),
        (backups(&spec, &json!([])), "BackupMissing", "has no verified backup yet"),
        (backups(&spec, &json!([{ "name": "a" }, { "name": "b" }])), "BackupMissing", "its newest ones are a, b;"),
        (backups(&spec, &json!([{ "name": "x" }])), "BackupMissing", "does not say where its backup x is"),
    ] {
        seen.backup = of;
        assert!(kinds(&seen.step(at(0))).is_empty());
        let (found, message, stalled) = seen.ready();
        assert_eq!((&*found, stalled, message.contains(says)), (reason, true, true), "{message}");
    }
}
