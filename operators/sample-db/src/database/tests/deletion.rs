//! What happens before a database is deleted.

use super::*;

mod protected;
mod snapshots;

/// One that is being deleted, with its volume and its Secrets.
fn deleting(spec: &Value, annotations: &Value) -> Observed {
    let mut status = initialised();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    let mut seen = with(&deleting_meta(annotations), spec, &status);
    seen.claims = vec![claim("u-1", "c-1"), snapshots_claim()];
    seen
}

fn deleting_meta(annotations: &Value) -> Value {
    json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": annotations })
}

fn pod() -> Arc<Pod> {
    let pod = json!({ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-1",
        "labels": { "multi-operator.example.com/whole": "true" } } });
    Arc::new(Pod::decode(&pod.to_string()).unwrap())
}

fn last(status: &Value) -> Arc<Snapshot> {
    let object = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1", "uid": "s-1" },
        "spec": { "sampleDB": "shop", "sampleDBUID": "u-1", "reason": "Final" }, "status": status });
    Arc::new(Snapshot::decode(&object.to_string()).unwrap())
}

fn verified_status() -> Value {
    json!({ "phase": "Ready", "startedAt": "2026-01-01T00:00:00Z", "completedAt": "2026-01-01T00:00:05Z",
        "verification": { "phase": "Passed" } })
}

#[test]
fn the_server_is_stopped_then_the_data_is_saved_then_deleted() {
    let mut seen = deleting(&json!({}), &json!({}));
    seen.pods = vec![pod()];
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"]);
    seen.pods = Vec::new();
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-u1"]);
    seen.snapshots = vec![last(&json!({ "phase": "Running", "startedAt": "2027-01-15T07:59:00Z" }))];
    let waits = plan(&seen, now());
    assert!(waits.effects.is_empty(), "{:?}", waits.effects);
    let status = waits.status.unwrap();
    assert_eq!((status.phase, status.deletion.step), (Some(SampleDBPhase::Deleting), Some(DeletionStep::Snapshot)));
    seen.snapshots = vec![last(&verified_status())];
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
    seen.claims = vec![snapshots_claim()];
    assert_eq!(done(&plan(&seen, now())), ["DeleteSecret(App)"]);
    seen.app_secret = SecretState::Absent;
    assert_eq!(done(&plan(&seen, now())), ["DeleteSecret(System)"]);
    seen.superuser_secret = SecretState::Absent;
    let released = plan(&seen, now());
    assert_eq!(done(&released), ["apply SampleDB shop"]);
    let Some(Effect::Apply(release)) = released.effects.first() else { panic!("{:?}", released.effects) };
    assert_eq!(release.body["metadata"]["finalizers"], json!([]));
}

#[test]
fn the_final_snapshot_is_kept_for_as_long_as_the_spec_says() {
    let until = |deletion: &Value| {
        let plan = plan(&deleting(&json!({ "deletion": deletion }), &json!({})), now());
        let Some(Effect::Create(create)) = plan.effects.last() else { panic!("{:?}", plan.effects) };
        assert_eq!(create.body["spec"]["reason"], "Final");
        create.body["spec"].get("retainUntil").cloned()
    };
    assert_eq!(until(&json!({})), None, "until a user deletes it");
    assert_eq!(until(&json!({ "keepFinalSnapshotFor": "48h" })), Some(json!("2027-01-17T08:00:00Z")));
}

#[test]
fn data_that_could_not_be_saved_stays_unless_the_user_gives_it_up() {
    let failed = json!({ "phase": "Failed", "error": "no space", "startedAt": "2026-01-01T00:00:00Z" });
    let blocked = |spec: &Value, annotations: &Value| {
        let mut seen = deleting(spec, annotations);
        seen.snapshots = vec![last(&failed)];
        plan(&seen, now())
    };
    let stays = blocked(&json!({}), &json!({}));
    assert!(stays.effects.is_empty());
    let status = stays.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked"), (ConditionStatus::True, "FinalSnapshotFailed".to_owned()));
    let message = &status.contract.condition("Ready").unwrap().message;
    assert!(message.contains("no space") && message.contains("skip-final-snapshot=shop"), "{message}");
    let deleted = ["delete PersistentVolumeClaim data-shop-0"];
    let proceed = json!({ "deletion": { "onSnapshotFailure": "Proceed" } });
    assert_eq!(done(&blocked(&proceed, &json!({}))), deleted);
    let annotation = |value: &str| json!({ api::sample_db::SKIP_FINAL_SNAPSHOT: value });
    assert_eq!(done(&blocked(&json!({}), &annotation("shop"))), deleted);
    assert!(blocked(&json!({}), &annotation("other")).effects.is_empty(), "the value must be its name");
}

#[test]
fn without_data_there_is_no_final_snapshot_and_retained_data_stays() {
    let mut never = deleting(&json!({}), &json!({}));
    never.db = with(
        &json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" }),
        &json!({}),
        &latched(),
    )
    .db;
    assert_eq!(done(&plan(&never, now())), ["delete PersistentVolumeClaim data-shop-0"]);
    let retained = deleting(&json!({ "deletion": { "policy": "Retain" } }), &json!({}));
    assert_eq!(done(&plan(&retained, now())), Vec::<String>::new(), "its claims are marked first");
    let deleted = deleting(&json!({ "deletion": { "policy": "Delete" } }), &json!({}));
    assert_eq!(done(&plan(&deleted, now())), ["delete PersistentVolumeClaim data-shop-0"]);
}

/// For example a replication slot: its users should know before the data is deleted.
#[test]
fn what_the_final_snapshot_lacks_is_listed_before_the_data_is_deleted() {
    let mut lacking = verified_status();
    lacking["notCovered"] = json!(["\"feed\" is a replication slot", "\"two\" is a prepared transaction"]);
    let with_last = |spec: &Value, annotations: &Value, status: &Value| {
        let mut seen = deleting(spec, annotations);
        seen.snapshots = vec![last(status)];
        seen
    };
    let blocked = plan(&with_last(&json!({}), &json!({}), &lacking), now());
    assert!(blocked.effects.is_empty());
    let status = blocked.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked"), (ConditionStatus::True, "FinalSnapshotIncomplete".to_owned()));
    let message = &status.contract.condition("DeletionBlocked").unwrap().message;
    for reported in ["\"feed\" is a replication slot", "prepared transaction", "accept-final-snapshot=shop-final-u1"] {
        assert!(message.contains(reported), "{message}");
    }
    let deleted = ["delete PersistentVolumeClaim data-shop-0"];
    let accepted = |value: &str| json!({ api::sample_db::ACCEPT_FINAL_SNAPSHOT: value });
    assert_eq!(done(&plan(&with_last(&json!({}), &accepted("shop-final-u1"), &lacking), now())), deleted);
    let other = plan(&with_last(&json!({}), &accepted("shop"), &lacking), now());
    assert!(other.effects.is_empty(), "the value must be the name of that snapshot");
    let skipped = json!({ api::sample_db::SKIP_FINAL_SNAPSHOT: "shop" });
    assert_eq!(done(&plan(&with_last(&json!({}), &skipped, &lacking), now())), deleted);
    let proceed = json!({ "deletion": { "onSnapshotFailure": "Proceed" } });
    assert_eq!(done(&plan(&with_last(&proceed, &json!({}), &lacking), now())), deleted);
    let mut namespace = with_last(&json!({}), &json!({}), &lacking);
    namespace.namespace_terminating = true;
    assert_eq!(done(&plan(&namespace, now())), ["apply SampleDB shop"]);
}

#[test]
fn a_terminating_namespace_is_not_held_and_its_data_is_not_touched() {
    let mut seen = deleting(&json!({}), &json!({}));
    seen.namespace_terminating = true;
    assert_eq!(done(&plan(&seen, now())), ["apply SampleDB shop"]);
}

#[test]
fn protection_holds_it_and_a_running_backup_is_waited_for() {
    let held = plan(&deleting(&json!({ "deletion": { "protection": true } }), &json!({})), now());
    assert!(held.effects.is_empty());
    assert_eq!(reason(&held.status.unwrap(), "DeletionBlocked").1, "Protected");
    let mut seen = deleting(&json!({}), &json!({}));
    seen.pods = vec![pod()];
    seen.snapshots = vec![snapshot("by-hand", "Manual", &json!({ "phase": "Running" }))];
    let waits = plan(&seen, now());
    assert!(waits.effects.is_empty(), "the server is needed: {:?}", waits.effects);
    let status = waits.status.unwrap();
    assert_eq!(status.deletion.step, Some(DeletionStep::WaitForBackup));
    // Each reconcile costs requests, so a long wait is polled seldom.
    assert!(matches!(waits.next, Requeue::After(delay) if delay == Duration::from_secs(2)), "{:?}", waits.next);
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let mut later = with(&meta, &json!({}), &serde_json::to_value(&status).unwrap());
    (later.claims, later.pods, later.snapshots) = (seen.claims.clone(), seen.pods.clone(), seen.snapshots.clone());
    let waits = plan(&later, now() + jiff::SignedDuration::from_mins(3));
    assert!(matches!(waits.next, Requeue::After(delay) if delay == Duration::from_secs(15)), "{:?}", waits.next);
    seen.superuser_secret = SecretState::Absent;
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"], "it can never log in");
}

#[test]
fn adopted_data_is_deleted_too() {
    let mut seen = deleting(&json!({ "deletion": { "policy": "Delete" } }), &json!({}));
    seen.claims = vec![claim("u-0", "c-1")];
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
    seen.claims = vec![claim("u-0", "c-0")];
    assert_eq!(done(&plan(&seen, now())), ["DeleteSecret(App)"], "a foreign one is kept");
}

#[test]
fn the_final_snapshot_of_another_database_is_not_mistaken_for_this_ones() {
    let mut seen = deleting(&json!({}), &json!({}));
    seen.db = with(
        &json!({ "uid": "abcd-efgh", "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" }),
        &json!({}),
        &initialised(),
    )
    .db;
    let others = json!({ "metadata": { "namespace": "n", "name": "shop-final-abcd", "uid": "s" },
        "spec": { "sampleDB": "shop", "sampleDBUID": "abcd-0000", "reason": "Final" }, "status": verified_status() });
    seen.snapshots = vec![Arc::new(Snapshot::decode(&others.to_string()).unwrap())];
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-efgh"]);
}

#[test]
fn a_verification_that_could_not_run_keeps_the_data_too() {
    let mut seen = deleting(&json!({}), &json!({}));
    let unverified = json!({ "phase": "Ready", "startedAt": "2027-01-15T07:59:00Z", "error": "no space to verify it",
        "completedAt": "2027-01-15T07:59:00Z", "verification": { "phase": "Failed" } });
    seen.snapshots = vec![last(&unverified)];
    let blocked = plan(&seen, now());
    assert!(blocked.effects.is_empty());
    let status = blocked.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked").1, "FinalSnapshotFailed");
    assert_eq!(status.ready.as_deref(), Some("0/1"), "by which snapshots under way know that there is no server");
}

#[test]
fn data_deleted_without_a_final_snapshot_is_reported() {
    let reported = |seen: &Observed| {
        let plan = plan(seen, now());
        plan.events_after_status
            .iter()
            .chain(&plan.events_after_effects)
            .map(|event| event.reason.to_string())
            .collect::<Vec<_>>()
    };
    let mut missing = deleting(&json!({}), &json!({}));
    (missing.claims, missing.superuser_secret, missing.app_secret) =
        (Vec::new(), SecretState::Absent, SecretState::Absent);
    assert_eq!(reported(&missing), ["FinalSnapshotSkipped"]);
    missing.snapshots = vec![last(&verified_status())];
    assert_eq!(reported(&missing), Vec::<String>::new());
    let mut saved = deleting(&json!({}), &json!({}));
    saved.snapshots = vec![last(&verified_status())];
    assert_eq!(reported(&saved), ["FinalSnapshotTaken"]);
}

/// A database that reports VolumeLeft, or is blocked while it adopts what was left, and is deleted.
#[test]
fn what_an_earlier_database_left_is_not_this_ones_to_delete() {
    for annotations in [json!({}), json!({ api::sample_db::ADOPT: "u-0" })] {
        let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": annotations });
        let mut seen = with(&meta, &json!({}), &latched());
        seen.claims = vec![claim("u-0", "c-0")];
        let planned = plan(&seen, now());
        let relabelled = planned.independent.iter().any(|apply| apply.body["metadata"]["name"] == "data-shop-0");
        assert!(!relabelled, "its data was not observed");
        let mut meta = meta.clone();
        meta["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut seen = with(&meta, &json!({}), &serde_json::to_value(planned.status.unwrap()).unwrap());
        seen.claims = vec![claim("u-0", "c-0")];
        (seen.app_secret, seen.superuser_secret) = (SecretState::Foreign, SecretState::Foreign);
        assert_eq!(done(&plan(&seen, now())), ["apply SampleDB shop"], "it is let go, and nothing else");
    }
}

/// A status of a database whose restore has started, and not completed.
fn half() -> Value {
    let mut status = initialised();
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    status["restore"] = json!({ "snapshot": "whole", "snapshotUID": "s-0" });
    status
}

#[test]
fn an_incomplete_restore_is_not_saved() {
    let from = json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } } });
    let mut seen = deleting(&from, &json!({}));
    seen.db = with(&deleting_meta(&json!({})), &from, &half()).db;
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
}

/// Adopted data was not restored, even if the spec names a snapshot.
#[test]
fn adopted_or_configured_data_is_saved_although_no_restore_completed() {
    let from = json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } } });
    let saves = |annotations: &Value, status: &Value| {
        let mut seen = deleting(&from, &json!({}));
        seen.db = with(&deleting_meta(annotations), &from, status).db;
        assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-u1"], "{annotations} {status}");
    };
    saves(&json!({}), &initialised());
    saves(&json!({ api::sample_db::ADOPT: "u-0" }), &half());
    let mut adopted = half();
    adopted["storage"]["adoptedFrom"] = json!(["u-0"]);
    saves(&json!({}), &adopted);
    let mut other = half();
    other["restore"] = json!({});
    saves(&json!({}), &other);
}
