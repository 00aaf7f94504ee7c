//! The deletion of snapshots.

use super::*;
use api::sample_db_snapshot::RELEASE_SNAPSHOT;

const FILES: &str = r#"{"phase": "Ready", "sampleDBUID": "u-1", "startedAt": "2027-01-15T07:00:00Z",
    "completedAt": "2027-01-15T07:00:00Z", "location": {"claim": "c", "path": "one"}}"#;

fn terminating_with(spec: &Value, phase: &str) -> Observed {
    let mut status: Value = serde_json::from_str(FILES).unwrap();
    status["phase"] = json!(phase);
    seen(&json!({ "deletionTimestamp": "2027-01-15T07:30:00Z" }), spec, &status)
}

#[test]
fn files_are_removed_before_their_object_and_by_the_agent_alone() {
    let mut terminating = terminating_with(&json!({}), "Ready");
    terminating.jobs = vec![job("one-verify", &json!([]))];
    assert_eq!(done(&plan(&terminating, now())), ["delete Job one-verify"]);
    terminating.jobs = Vec::new();
    let planned = plan(&terminating, now());
    assert_eq!(done(&planned), ["create Job one-prune"]);
    assert_eq!(ready(planned.status.as_ref().unwrap()).0, "RemovingFiles");
    let Some(Effect::Create(prune)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
    assert_eq!(prune.body["spec"]["template"]["spec"]["containers"][0]["image"], "agent:1", "the engine's may be gone");
    let labels = &prune.body["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels[crate::operand::pod::ISOLATED], "true", "it calls nobody");
    terminating.jobs = vec![job("one-prune", &json!([{ "type": "Complete", "status": "True" }]))];
    let complete = plan(&terminating, now());
    assert_eq!(
        (done(&complete), events(&complete)),
        (vec!["apply SampleDBSnapshot []".to_owned()], vec![(false, "FilesRemoved")])
    );
    terminating.jobs = vec![failed("one-prune")];
    assert_eq!(events(&plan(&terminating, now())), [(true, "FilesLeft")]);
}

#[test]
fn files_of_a_final_one_stay_until_it_has_expired() {
    let last = json!({ "reason": "Final" });
    let kept = plan(&terminating_with(&last, "Ready"), now());
    assert_eq!(
        (done(&kept), events(&kept)),
        (vec!["apply SampleDBSnapshot []".to_owned()], vec![(false, "FilesKept")])
    );
    assert_eq!(done(&plan(&terminating_with(&last, "Expired"), now())), ["create Job one-prune"]);
    let ever = json!({ "reason": "Final", "deletionPolicy": "Retain" });
    assert_eq!(events(&plan(&terminating_with(&ever, "Expired"), now())), [(false, "FilesKept")]);

    let over = json!({ "reason": "Final", "retainUntil": "2027-01-15T07:59:00Z" });
    let status: Value = serde_json::from_str(FILES).unwrap();
    let mut expires = seen(&json!({}), &over, &status);
    assert_eq!(plan(&expires, now()).status.unwrap().phase, Some(SnapshotPhase::Expired));
    let mut expired = status.clone();
    expired["phase"] = json!("Expired");
    expires.snapshot = snapshot("one", &json!({}), &over, &expired);
    assert_eq!(done(&plan(&expires, now())), ["delete SampleDBSnapshot one"]);
}

#[test]
fn nothing_blocks_a_deletion_where_nothing_can_be_created() {
    let released = ["apply SampleDBSnapshot []"];
    let mut terminating = terminating_with(&json!({}), "Ready");
    terminating.namespace_terminating = true;
    assert_eq!(done(&plan(&terminating, now())), released);
    let mut nowhere = terminating_with(&json!({}), "Ready");
    nowhere.volume = Volume::Absent;
    assert_eq!(done(&plan(&nowhere, now())), released);
    // A Job that is to remove the files would wait for the volume, and outlive the object.
    nowhere.jobs = vec![job("one-prune", &json!([]))];
    assert_eq!(done(&plan(&nowhere, now())), ["delete Job one-prune"]);
    nowhere.jobs = vec![failed("one-prune")];
    assert_eq!(done(&plan(&nowhere, now())), released);
}

/// The snapshot before an upgrade may be all that is left of a database that was dropped since.
#[test]
fn the_only_snapshot_with_a_database_outlives_its_expiry_until_it_is_released() {
    let over = json!({ "reason": "PreUpgrade", "retainUntil": "2027-01-15T07:59:00Z" });
    let status = |at: &str, names: &Value| {
        json!({ "phase": "Ready", "startedAt": at, "completedAt": at, "sampleDBUID": "u-1", "databaseNames": names,
            "verification": { "phase": "Passed" } })
    };
    let before = status("2027-01-01T00:00:00Z", &json!(["app", "old"]));
    let mut seen = seen(&json!({}), &over, &before);
    assert_eq!(decided(&seen).phase, Some(SnapshotPhase::Expired), "nothing was taken since");
    let later = |names: &Value| {
        let later = status("2027-01-02T00:00:00Z", names);
        snapshot("later", &json!({}), &json!({ "reason": "Scheduled" }), &later)
    };
    seen.siblings = vec![seen.snapshot.clone(), later(&json!(["app"]))];
    let kept = decided(&seen);
    assert_eq!(kept.phase, Some(SnapshotPhase::Ready));
    let ready_condition = kept.contract.condition("Ready").unwrap();
    assert!(
        ready_condition.status == ConditionStatus::True && ready_condition.message.contains("the database old"),
        "{}",
        ready_condition.message
    );
    seen.siblings[1] = later(&json!(["app", "old"]));
    assert_eq!(decided(&seen).phase, Some(SnapshotPhase::Expired), "a later one contains it, too");
    let released = json!({ "annotations": { RELEASE_SNAPSHOT: "one" } });
    seen.snapshot = snapshot("one", &released, &over, &before);
    seen.siblings[1] = later(&json!(["app"]));
    assert_eq!(decided(&seen).phase, Some(SnapshotPhase::Expired));
}

fn decided(seen: &Observed) -> SampleDBSnapshotStatus {
    plan(seen, now()).status.unwrap()
}

/// Retention, expiry or a user may delete it while a new database is restored from it, whose data may exist nowhere else.
#[test]
fn files_stay_while_a_database_is_restored_from_them() {
    let mut terminating = terminating_with(&json!({}), "Ready");
    terminating.restoring = vec!["copy".into()];
    let waiting = plan(&terminating, now());
    assert_eq!(done(&waiting), Vec::<String>::new());
    let (reason, message) = ready(waiting.status.as_ref().unwrap());
    assert!(reason == "SnapshotInUse" && message.contains("restored into SampleDB copy"), "{reason}: {message}");
    let kept = Observed { restoring: vec!["copy".into()], ..terminating_with(&json!({ "reason": "Final" }), "Ready") };
    assert_eq!(done(&plan(&kept, now())), Vec::<String>::new(), "its object is needed, too");
    terminating.namespace_terminating = true;
    assert_eq!(done(&plan(&terminating, now())), ["apply SampleDBSnapshot []"]);
    terminating = terminating_with(&json!({}), "Ready");
    assert_eq!(done(&plan(&terminating, now())), ["create Job one-prune"], "once that is over");

    let over = json!({ "reason": "PreUpgrade", "retainUntil": "2027-01-15T07:59:00Z" });
    let mut status: Value = serde_json::from_str(FILES).unwrap();
    status["verification"] = json!({ "phase": "Passed" });
    let mut expires = seen(&json!({}), &over, &status);
    expires.restoring = vec!["copy".into()];
    let kept = decided(&expires);
    assert_eq!(kept.phase, Some(SnapshotPhase::Ready));
    assert!(ready(&kept).1.contains("expired, but") && ready(&kept).1.contains("copy"), "{:?}", ready(&kept));
}

#[test]
fn restoring_databases_are_found_by_their_latched_snapshot() {
    let one = terminating_with(&json!({}), "Ready").snapshot;
    let restores_with = |from: &Snapshot, meta: &Value, spec: &Value, status: &Value| {
        let mut metadata = json!({ "namespace": "n", "name": "copy", "uid": "u-2" });
        for (key, value) in meta.as_object().unwrap() {
            metadata[key] = value.clone();
        }
        let db = json!({ "metadata": metadata, "spec": spec, "status": status });
        super::super::observed::is_restoring_from(from, &SampleDB::decode(&db.to_string()).unwrap())
    };
    let restores = |from: &Snapshot, meta: &Value, status: &Value| restores_with(from, meta, &json!({}), status);
    let restores_from = |meta: &Value, status: &Value| restores(&one, meta, status);
    let latched = json!({ "restore": { "snapshot": "one", "snapshotUID": "one" } });
    assert!(restores_from(&json!({}), &latched));
    let terminating = json!({ "deletionTimestamp": "2027-01-15T07:30:00Z" });
    assert!(!restores_from(&terminating, &latched));
    let protected = json!({ "deletion": { "protection": true } });
    assert!(restores_with(&one, &terminating, &protected, &latched), "its Job continues");
    assert!(!restores_from(&json!({ "namespace": "m" }), &latched));
    let of = |restore: Value| json!({ "restore": restore });
    assert!(!restores_from(&json!({}), &of(json!({ "snapshot": "one", "snapshotUID": "an-earlier-one" }))));
    assert!(!restores_from(&json!({}), &of(json!({ "snapshotUID": "one", "completedAt": "2027-01-15T07:30:00Z" }))));
    let damaged = terminating_with(&json!({}), "Failed").snapshot;
    assert!(!restores(&damaged, &json!({}), &latched), "nothing can be restored from damaged files");
    assert!(super::super::observed::may_remove_files(&one, now()), "and then it is looked at");
}

/// That Job has no owner, and stays for a minute after its snapshot was deleted.
#[test]
fn the_prune_job_of_an_earlier_snapshot_of_the_name_does_not_count() {
    let of = |uid: &str| {
        let job = json!({ "metadata": { "namespace": "n", "name": "one-prune", "uid": "p",
            "labels": { "multi-operator.example.com/owner-uid": uid } },
            "status": { "conditions": [{ "type": "Complete", "status": "True" }] } });
        let mut terminating = terminating_with(&json!({}), "Ready");
        terminating.jobs = vec![Arc::new(Job::decode(&job.to_string()).unwrap())];
        plan(&terminating, now())
    };
    let earlier = of("s-1");
    assert_eq!((done(&earlier), events(&earlier)), (vec!["delete Job one-prune".to_owned()], vec![]));
    assert_eq!(events(&of("one")), [(false, "FilesRemoved")]);
    let Effect::Create(prune) = plan(&terminating_with(&json!({}), "Ready"), now()).effects.remove(0) else { panic!() };
    assert_eq!(prune.body["metadata"]["labels"]["multi-operator.example.com/owner-uid"], "one");
}
