//! Single decisions about snapshots.

use std::sync::Arc;

use api::ConditionStatus;
use api::sample_db_snapshot::{SNAPSHOT_FILES, SampleDBSnapshotStatus, SnapshotPhase, VERIFY, VerificationPhase};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::Effect;
use runtime::projections::{Job, Pod};
use serde_json::{Value, json};

use super::effects::SnapshotPlan;
use super::observed::{Observed, Volume};
use super::plan::plan;
use super::record;
use crate::operand::kinds::{self, SampleDB, Snapshot};
use jobs::{failed, job, pod, terminating_job, terminating_pod};

mod finalizer;
mod import;
mod jobs;
mod mounts;
mod records;
mod upload;
mod verification;
mod volume;

fn now() -> Timestamp {
    "2027-01-15T08:00:00Z".parse().unwrap()
}

fn snapshot(name: &str, meta: &Value, spec: &Value, status: &Value) -> Arc<Snapshot> {
    let mut metadata = json!({ "namespace": "n", "name": name, "uid": name, "finalizers": [SNAPSHOT_FILES] });
    for (key, value) in meta.as_object().unwrap() {
        metadata[key] = value.clone();
    }
    let mut all = json!({ "sampleDB": "shop" });
    for (key, value) in spec.as_object().unwrap() {
        all[key] = value.clone();
    }
    let object = |metadata| json!({ "metadata": metadata, "spec": all, "status": status }).to_string();
    let decoded = Snapshot::decode(&object(metadata.clone())).unwrap();
    let annotations = &metadata["annotations"][kinds::RECORD];
    if let Some(Effect::Apply(apply)) = record::keep(&decoded).filter(|_| annotations.is_null()) {
        // [`records`] tests snapshots without the annotation.
        metadata["annotations"][kinds::RECORD] = apply.body["metadata"]["annotations"][kinds::RECORD].clone();
    }
    Arc::new(Snapshot::decode(&object(metadata)).unwrap())
}

fn database(meta: &Value, spec: &Value) -> Arc<SampleDB> {
    let mut metadata = json!({ "namespace": "n", "name": "shop", "uid": "u-1" });
    for (key, value) in meta.as_object().unwrap() {
        metadata[key] = value.clone();
    }
    let status = json!({ "ready": "1/1", "replicas": 1, "initialization": { "dataCreatedAt": "2026-01-01T00:00:00Z" },
        "engine": { "image": "postgres:17" }, "storage": { "claim": "data-shop-0" } });
    let db = json!({ "metadata": metadata, "spec": spec, "status": status });
    Arc::new(SampleDB::decode(&db.to_string()).unwrap())
}

/// A snapshot of a database that serves.
fn seen(meta: &Value, spec: &Value, status: &Value) -> Observed {
    Observed {
        server: None,
        snapshot: snapshot("one", meta, spec, status),
        db: Some(database(&json!({}), &json!({}))),
        siblings: Vec::new(),
        restoring: Vec::new(),
        volume: Volume::Unknown,
        jobs: Vec::new(),
        pods: Vec::new(),
        namespace_terminating: false,
        namespace_assigns_uids: false,
        agent_image: "agent:1".into(),
    }
}

fn done(plan: &SnapshotPlan) -> Vec<String> {
    let describe = |effect: &Effect| match effect {
        Effect::Apply(apply) => format!("apply {} {}", apply.kind.kind, apply.body["metadata"]["finalizers"]),
        Effect::Create(create) => format!("create {} {}", create.kind.kind, create.key.name),
        Effect::Delete(delete) => format!("delete {} {}", delete.kind.kind, delete.key.name),
        Effect::Act(never) => match *never {},
    };
    plan.effects.iter().map(describe).collect()
}

fn events(plan: &SnapshotPlan) -> Vec<(bool, &str)> {
    plan.events_after_status
        .iter()
        .chain(&plan.events_after_effects)
        .map(|event| (event.warning, &*event.reason))
        .collect()
}

/// Reason and message of the Ready condition.
fn ready(status: &SampleDBSnapshotStatus) -> (&str, &str) {
    let ready = status.contract.condition("Ready").unwrap();
    (&ready.reason, &ready.message)
}

const RUNNING: &str = r#"{"phase": "Running", "sampleDBUID": "u-1", "startedAt": "2027-01-15T07:00:00Z"}"#;

fn running() -> Value {
    serde_json::from_str(RUNNING).unwrap()
}

#[test]
fn it_starts_once_its_database_serves() {
    let started = plan(&seen(&json!({}), &json!({}), &json!({})), now());
    assert_eq!(started.status.as_ref().unwrap().phase, Some(SnapshotPhase::Running));
    assert_eq!(events(&started), [(false, "BackupStarted")]);
    let mut none = seen(&json!({}), &json!({}), &json!({}));
    none.db = None;
    let waiting = plan(&none, now()).status.unwrap();
    assert_eq!((ready(&waiting).0, waiting.phase), ("SampleDBMissing", Some(SnapshotPhase::Pending)));
    let other = seen(&json!({}), &json!({ "sampleDBUID": "u-0" }), &json!({}));
    assert!(ready(&plan(&other, now()).status.unwrap()).1.contains("different UID"));
}

#[test]
fn a_final_one_is_not_taken_of_a_database_that_is_not_deleted() {
    let by_hand = seen(&json!({}), &json!({ "reason": "Final" }), &json!({}));
    let status = plan(&by_hand, now()).status.unwrap();
    assert_eq!(ready(&status).0, "NotDeleting");
    let mut terminating = seen(&json!({}), &json!({ "reason": "Final", "method": "Physical" }), &json!({}));
    terminating.db = Some(database(&json!({ "deletionTimestamp": "2027-01-01T00:00:00Z" }), &json!({})));
    let started = plan(&terminating, now()).status.unwrap();
    assert_eq!(
        started.method,
        Some(api::sample_db::Method::Logical),
        "there may be no server by then, so it is a dump whatever is asked for"
    );
    // The volume of the data is unknown until the database has recovered its status.
    let lost = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "u-1",
        "deletionTimestamp": "2027-01-01T00:00:00Z" }, "spec": {} });
    terminating.db = Some(Arc::new(SampleDB::decode(&lost.to_string()).unwrap()));
    assert_eq!(ready(&plan(&terminating, now()).status.unwrap()).0, "SampleDBDeleting");
}

/// It keeps serving, possibly for months.
#[test]
fn one_is_taken_of_a_database_that_is_deleted_and_protected() {
    let begins = |protection: bool, replicas: i32| {
        let mut by_hand = seen(&json!({}), &json!({}), &json!({}));
        let spec = json!({ "deletion": { "protection": protection } });
        let mut db = (*database(&json!({ "deletionTimestamp": "2027-01-01T00:00:00Z" }), &spec)).clone();
        db.status.replicas = Some(replicas);
        by_hand.db = Some(Arc::new(db));
        plan(&by_hand, now()).status.unwrap().phase
    };
    assert_eq!((begins(true, 1), begins(false, 1)), (Some(SnapshotPhase::Running), Some(SnapshotPhase::Pending)));
    assert_eq!(begins(true, 0), Some(SnapshotPhase::Pending), "its server is deleted");
}

#[test]
fn what_blocks_a_backup_is_reported_and_kept() {
    let mut waiting = seen(&json!({}), &json!({}), &running());
    waiting.jobs = vec![job("one-backup", &json!([]))];
    let pull = json!({ "name": "work", "image": "nowhere:1", "state": { "waiting": { "reason": "ErrImagePull" } } });
    let pod = json!({ "metadata": { "namespace": "n", "name": "p", "uid": "p" },
        "status": { "containerStatuses": [pull] } });
    waiting.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    let status = plan(&waiting, now()).status.unwrap();
    assert!(ready(&status).1.contains("nowhere:1 cannot be pulled"), "{:?}", ready(&status));
    // The deadline of the Job deletes its pods, and with them their failure.
    let mut over = seen(&json!({}), &json!({}), &serde_json::to_value(&status).unwrap());
    over.jobs = vec![failed("one-backup")];
    let ended = plan(&over, now());
    let status = ended.status.as_ref().unwrap();
    let error = status.error.as_deref().unwrap();
    assert!(error.contains("too late") && error.contains("cannot be pulled"), "{error}");
    assert_eq!((status.phase, ready(status).0), (Some(SnapshotPhase::Failed), "BackupFailed"));
    // The conditions announce the same message.
    assert_eq!(events(&ended), []);
}

#[test]
fn a_backup_of_a_deleted_database_is_given_up() {
    let terminating = json!({ "deletionTimestamp": "2027-01-01T00:00:00Z" });
    let mut lost = seen(&json!({}), &json!({}), &running());
    lost.jobs = vec![job("one-backup", &json!([]))];
    lost.db = Some(database(&terminating, &json!({})));
    assert_eq!(plan(&lost, now()).status.unwrap().phase, Some(SnapshotPhase::Running), "its server still serves");
    let mut stopped = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "u-1" }, "spec": {} });
    stopped["metadata"]["deletionTimestamp"] = terminating["deletionTimestamp"].clone();
    stopped["status"] = json!({ "ready": "0/1", "replicas": 1 });
    lost.db = Some(Arc::new(SampleDB::decode(&stopped.to_string()).unwrap()));
    assert_eq!(plan(&lost, now()).status.unwrap().phase, Some(SnapshotPhase::Running), "it may be ready again at once");
    stopped["status"] = json!({ "ready": "0/1", "replicas": 0 });
    for db in [Some(Arc::new(SampleDB::decode(&stopped.to_string()).unwrap())), None] {
        lost.db = db;
        let status = plan(&lost, now()).status.unwrap();
        assert_eq!(status.phase, Some(SnapshotPhase::Failed));
        assert!(ready(&status).1.contains("given up"), "{:?}", ready(&status));
    }
    // A backup that completed meanwhile counts.
    lost.jobs = vec![job("one-backup", &json!([{ "type": "Complete", "status": "True" }]))];
    lost.pods = vec![pod("one-backup", 0, &json!({ "bytes": 5 }))];
    assert_eq!(plan(&lost, now()).status.unwrap().bytes, Some(5));
}

#[test]
fn without_space_the_message_says_how_to_free_some() {
    let mut status = running();
    status["location"] = json!({ "claim": "shop-snapshots" });
    let mut full = seen(&json!({}), &json!({}), &status);
    full.jobs = vec![failed("one-backup")];
    full.pods = vec![pod("one-backup", 1, &json!({ "reason": "NoSpace", "message": "no space left" }))];
    let error = plan(&full, now()).status.unwrap().error.unwrap();
    assert!(error.contains("no space left; make room on the volume shop-snapshots"), "{error}");
}

#[test]
fn files_of_an_earlier_snapshot_of_the_name_are_not_its_own() {
    let directory = |uid: &str| {
        let started = plan(&seen(&json!({ "uid": uid }), &json!({}), &json!({})), now()).status.unwrap();
        started.location.path.unwrap()
    };
    assert_eq!(directory("0123-45678-9"), "one-01234567");
    assert_ne!(directory("u-1"), directory("u-2"));
}

/// Retention and `ofSampleDB` use these times: a snapshot that is retaken from its existing files does not become the newest.
#[test]
fn one_that_has_lost_its_status_is_as_old_as_its_files() {
    let status = |message: Value| {
        let mut taken = seen(&json!({}), &json!({}), &running());
        taken.jobs = vec![job("one-backup", &json!([{ "type": "Complete", "status": "True" }]))];
        taken.pods = vec![pod("one-backup", 0, &message)];
        let status = plan(&taken, now()).status.unwrap();
        (status.started_at.unwrap().to_string(), status.completed_at.unwrap().to_string(), status.system_identifier)
    };
    // Midnight of the first of January.
    let old = json!({ "completedAt": 1_798_761_600, "reused": true, "systemIdentifier": "7" });
    let midnight = "2027-01-01T00:00:00Z".to_owned();
    assert_eq!(status(old), (midnight.clone(), midnight, Some("7".to_owned())));
    let new = json!({ "completedAt": 1_798_761_600, "reused": false });
    assert_eq!(status(new), ("2027-01-15T07:00:00Z".to_owned(), "2027-01-15T08:00:00Z".to_owned(), None));
}

/// Network policies use it to allow a Job access to the server of its own database only.
#[test]
fn pods_of_jobs_have_the_name_of_their_database() {
    let taken = plan(&seen(&json!({}), &json!({}), &running()), now());
    let Some(Effect::Create(create)) = taken.effects.first() else { panic!("{:?}", taken.effects) };
    let labels = &create.body["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["multi-operator.example.com/sampledb"], "shop");
    assert_eq!(labels["app.kubernetes.io/instance"], "one");
}

#[test]
fn the_pods_of_its_jobs_run_where_the_server_does_whatever_the_spec_says_since() {
    let annotations = json!({ "multi-operator.example.com/placement": r#"{"nodeSelector":{"disk":"ssd"}}"# });
    let labels = json!({ "multi-operator.example.com/whole": "true" });
    let server =
        json!({ "metadata": { "namespace": "n", "name": "shop-0", "labels": labels, "annotations": annotations } });
    let spec = json!({ "nodeSelector": { "disk": "nowhere" } });
    let of = |server: Option<Value>| {
        let mut seen = seen(&json!({}), &json!({}), &json!({}));
        let db = database(&json!({}), &spec);
        seen.server = server.map(|server| Arc::new(Pod::decode(&server.to_string()).unwrap()));
        let job = super::jobs::backup(&Observed { db: Some(db.clone()), ..seen }, &db);
        job.body["spec"]["template"]["spec"]["nodeSelector"]["disk"].clone()
    };
    assert_eq!((of(Some(server)), of(None)), (json!("ssd"), json!("nowhere")));
}
