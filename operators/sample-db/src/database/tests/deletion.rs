//! What is done before a database goes.

use super::*;

mod protected;
mod snapshots;

/// One that is being deleted, with its volume and its Secrets.
fn leaving(spec: &Value, annotations: &Value) -> Observed {
    let mut status = initialised();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    let mut seen = with(&leaving_meta(annotations), spec, &status);
    seen.claims = vec![claim("u-1", "c-1"), snapshots_claim()];
    seen
}

fn leaving_meta(annotations: &Value) -> Value {
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

fn proved() -> Value {
    json!({ "phase": "Ready", "startedAt": "2026-01-01T00:00:00Z", "completedAt": "2026-01-01T00:00:05Z",
        "verification": { "phase": "Passed" } })
}

#[test]
fn the_server_is_stopped_then_the_data_are_saved_then_they_go() {
    let mut seen = leaving(&json!({}), &json!({}));
    seen.pods = vec![pod()];
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"]);
    seen.pods = Vec::new();
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-u1"]);
    seen.snapshots = vec![last(&json!({ "phase": "Running", "startedAt": "2027-01-15T07:59:00Z" }))];
    let waits = plan(&seen, now());
    assert!(waits.effects.is_empty(), "{:?}", waits.effects);
    let status = waits.status.unwrap();
    assert_eq!((status.phase, status.deletion.step), (Some(Phase::Deleting), Some(DeletionStep::Snapshot)));
    seen.snapshots = vec![last(&proved())];
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
    seen.claims = vec![snapshots_claim()];
    assert_eq!(done(&plan(&seen, now())), ["DropSecret(App)"]);
    seen.app = SecretSeen::Absent;
    assert_eq!(done(&plan(&seen, now())), ["DropSecret(System)"]);
    seen.system = SecretSeen::Absent;
    let released = plan(&seen, now());
    assert_eq!(done(&released), ["apply SampleDB shop"]);
    let Some(Effect::Apply(release)) = released.effects.first() else { panic!("{:?}", released.effects) };
    assert_eq!(release.body["metadata"]["finalizers"], json!([]));
}

#[test]
fn the_final_snapshot_is_kept_for_as_long_as_the_spec_says() {
    let until = |deletion: &Value| {
        let plan = plan(&leaving(&json!({ "deletion": deletion }), &json!({})), now());
        let Some(Effect::Create(create)) = plan.effects.last() else { panic!("{:?}", plan.effects) };
        assert_eq!(create.body["spec"]["reason"], "Final");
        create.body["spec"].get("retainUntil").cloned()
    };
    assert_eq!(until(&json!({})), None, "until somebody deletes it");
    assert_eq!(until(&json!({ "keepFinalSnapshotFor": "48h" })), Some(json!("2027-01-17T08:00:00Z")));
}

#[test]
fn data_that_could_not_be_saved_stay_unless_told_otherwise() {
    let failed = json!({ "phase": "Failed", "error": "no space", "startedAt": "2026-01-01T00:00:00Z" });
    let blocked = |spec: &Value, annotations: &Value| {
        let mut seen = leaving(spec, annotations);
        seen.snapshots = vec![last(&failed)];
        plan(&seen, now())
    };
    let stays = blocked(&json!({}), &json!({}));
    assert!(stays.effects.is_empty());
    let status = stays.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked"), (ConditionStatus::True, "FinalSnapshotFailed".to_owned()));
    let message = &status.contract.condition("Ready").unwrap().message;
    assert!(message.contains("no space") && message.contains("skip-final-snapshot=shop"), "{message}");
    let goes = ["delete PersistentVolumeClaim data-shop-0"];
    let proceed = json!({ "deletion": { "onSnapshotFailure": "Proceed" } });
    assert_eq!(done(&blocked(&proceed, &json!({}))), goes);
    let annotation = |value: &str| json!({ api::sample_db::SKIP_FINAL_SNAPSHOT: value });
    assert_eq!(done(&blocked(&json!({}), &annotation("shop"))), goes);
    assert!(blocked(&json!({}), &annotation("other")).effects.is_empty(), "the value must be its name");
}

#[test]
fn nothing_to_save_saves_nothing_and_retained_data_stay() {
    let mut never = leaving(&json!({}), &json!({}));
    never.db = with(
        &json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" }),
        &json!({}),
        &latched(),
    )
    .db;
    assert_eq!(done(&plan(&never, now())), ["delete PersistentVolumeClaim data-shop-0"]);
    let retained = leaving(&json!({ "deletion": { "policy": "Retain" } }), &json!({}));
    assert_eq!(done(&plan(&retained, now())), Vec::<String>::new(), "its claims are marked first");
    let deleted = leaving(&json!({ "deletion": { "policy": "Delete" } }), &json!({}));
    assert_eq!(done(&plan(&deleted, now())), ["delete PersistentVolumeClaim data-shop-0"]);
}

/// A replication slot, for one: whoever relies on it is to hear of it before the data are gone.
#[test]
fn what_the_final_snapshot_lacks_is_listed_before_the_data_go() {
    let mut lacking = proved();
    lacking["notCovered"] = json!(["\"feed\" is a replication slot", "\"two\" is a prepared transaction"]);
    let with_last = |spec: &Value, annotations: &Value, status: &Value| {
        let mut seen = leaving(spec, annotations);
        seen.snapshots = vec![last(status)];
        seen
    };
    let blocked = plan(&with_last(&json!({}), &json!({}), &lacking), now());
    assert!(blocked.effects.is_empty());
    let status = blocked.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked"), (ConditionStatus::True, "FinalSnapshotIncomplete".to_owned()));
    let message = &status.contract.condition("DeletionBlocked").unwrap().message;
    for told in ["\"feed\" is a replication slot", "prepared transaction", "accept-final-snapshot=shop-final-u1"] {
        assert!(message.contains(told), "{message}");
    }
    let goes = ["delete PersistentVolumeClaim data-shop-0"];
    let accepted = |value: &str| json!({ api::sample_db::ACCEPT_FINAL_SNAPSHOT: value });
    assert_eq!(done(&plan(&with_last(&json!({}), &accepted("shop-final-u1"), &lacking), now())), goes);
    let other = plan(&with_last(&json!({}), &accepted("shop"), &lacking), now());
    assert!(other.effects.is_empty(), "the value must be the name of that snapshot");
    let skipped = json!({ api::sample_db::SKIP_FINAL_SNAPSHOT: "shop" });
    assert_eq!(done(&plan(&with_last(&json!({}), &skipped, &lacking), now())), goes);
    let proceed = json!({ "deletion": { "onSnapshotFailure": "Proceed" } });
    assert_eq!(done(&plan(&with_last(&proceed, &json!({}), &lacking), now())), goes);
    let mut namespace = with_last(&json!({}), &json!({}), &lacking);
    namespace.namespace_going = true;
    assert_eq!(done(&plan(&namespace, now())), ["apply SampleDB shop"]);
}

#[test]
fn a_namespace_that_goes_is_not_held_and_its_data_are_not_touched() {
    let mut seen = leaving(&json!({}), &json!({}));
    seen.namespace_going = true;
    assert_eq!(done(&plan(&seen, now())), ["apply SampleDB shop"]);
}

#[test]
fn protection_holds_it_and_a_running_backup_is_waited_for() {
    let held = plan(&leaving(&json!({ "deletion": { "protection": true } }), &json!({})), now());
    assert!(held.effects.is_empty());
    assert_eq!(reason(&held.status.unwrap(), "DeletionBlocked").1, "Protected");
    let mut seen = leaving(&json!({}), &json!({}));
    seen.pods = vec![pod()];
    seen.snapshots = vec![snapshot("by-hand", "Manual", &json!({ "phase": "Running" }))];
    let waits = plan(&seen, now());
    assert!(waits.effects.is_empty(), "the server is needed: {:?}", waits.effects);
    let status = waits.status.unwrap();
    assert_eq!(status.deletion.step, Some(DeletionStep::WaitForBackup));
    // Each look takes requests: one that waits for long looks seldom.
    assert!(matches!(waits.next, Requeue::After(delay) if delay == Duration::from_secs(2)), "{:?}", waits.next);
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let mut later = with(&meta, &json!({}), &serde_json::to_value(&status).unwrap());
    (later.claims, later.pods, later.snapshots) = (seen.claims.clone(), seen.pods.clone(), seen.snapshots.clone());
    let waits = plan(&later, now() + jiff::SignedDuration::from_mins(3));
    assert!(matches!(waits.next, Requeue::After(delay) if delay == Duration::from_secs(15)), "{:?}", waits.next);
    seen.system = SecretSeen::Absent;
    assert_eq!(done(&plan(&seen, now())), ["delete Pod shop-0"], "it can never log in");
}

#[test]
fn what_was_taken_over_goes_too() {
    let mut seen = leaving(&json!({ "deletion": { "policy": "Delete" } }), &json!({}));
    seen.claims = vec![claim("u-0", "c-1")];
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
    seen.claims = vec![claim("u-0", "c-0")];
    assert_eq!(done(&plan(&seen, now())), ["DropSecret(App)"], "somebody else's stays");
}

#[test]
fn the_last_snapshot_of_another_database_is_not_taken_for_this_ones() {
    let mut seen = leaving(&json!({}), &json!({}));
    seen.db = with(
        &json!({ "uid": "abcd-efgh", "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" }),
        &json!({}),
        &initialised(),
    )
    .db;
    let others = json!({ "metadata": { "namespace": "n", "name": "shop-final-abcd", "uid": "s" },
        "spec": { "sampleDB": "shop", "sampleDBUID": "abcd-0000", "reason": "Final" }, "status": proved() });
    seen.snapshots = vec![Arc::new(Snapshot::decode(&others.to_string()).unwrap())];
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-efgh"]);
}

#[test]
fn a_proof_that_could_not_be_carried_out_keeps_the_data_too() {
    let mut seen = leaving(&json!({}), &json!({}));
    let unproved = json!({ "phase": "Ready", "startedAt": "2027-01-15T07:59:00Z", "error": "no room to prove it",
        "completedAt": "2027-01-15T07:59:00Z", "verification": { "phase": "Failed" } });
    seen.snapshots = vec![last(&unproved)];
    let blocked = plan(&seen, now());
    assert!(blocked.effects.is_empty());
    let status = blocked.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked").1, "FinalSnapshotFailed");
    assert_eq!(status.ready.as_deref(), Some("0/1"), "by which snapshots under way know that there is no server");
}

#[test]
fn what_is_gone_without_a_last_snapshot_is_told_of() {
    let told = |seen: &Observed| {
        let plan = plan(seen, now());
        plan.events.iter().chain(&plan.done).map(|event| event.reason.to_string()).collect::<Vec<_>>()
    };
    let mut gone = leaving(&json!({}), &json!({}));
    (gone.claims, gone.system, gone.app) = (Vec::new(), SecretSeen::Absent, SecretSeen::Absent);
    assert_eq!(told(&gone), ["FinalSnapshotSkipped"]);
    gone.snapshots = vec![last(&proved())];
    assert_eq!(told(&gone), Vec::<String>::new());
    let mut saved = leaving(&json!({}), &json!({}));
    saved.snapshots = vec![last(&proved())];
    assert_eq!(told(&saved), ["FinalSnapshotTaken"]);
}

/// A database that says VolumeLeft, or is stuck while it takes over what was left, and is deleted.
#[test]
fn what_an_earlier_database_left_is_not_this_ones_to_delete() {
    for annotations in [json!({}), json!({ api::sample_db::ADOPT: "u-0" })] {
        let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": annotations });
        let mut seen = with(&meta, &json!({}), &latched());
        seen.claims = vec![claim("u-0", "c-0")];
        let told = plan(&seen, now());
        let relabelled = told.independent.iter().any(|apply| apply.body["metadata"]["name"] == "data-shop-0");
        assert!(!relabelled, "its data have not been seen");
        let mut meta = meta.clone();
        meta["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut seen = with(&meta, &json!({}), &serde_json::to_value(told.status.unwrap()).unwrap());
        seen.claims = vec![claim("u-0", "c-0")];
        (seen.app, seen.system) = (SecretSeen::Foreign, SecretSeen::Foreign);
        assert_eq!(done(&plan(&seen, now())), ["apply SampleDB shop"], "it is let go, and nothing else");
    }
}

/// A status of a database whose restore has begun, and has not ended.
fn half() -> Value {
    let mut status = initialised();
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    status["restore"] = json!({ "snapshot": "whole", "snapshotUID": "s-0" });
    status
}

#[test]
fn a_restore_that_has_not_come_to_its_end_is_nothing_to_save() {
    let from = json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } } });
    let mut seen = leaving(&from, &json!({}));
    seen.db = with(&leaving_meta(&json!({})), &from, &half()).db;
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
}

/// What was taken over was not restored, whatever the spec says of a snapshot.
#[test]
fn data_that_were_taken_over_or_configured_are_saved_though_no_restore_has_ended() {
    let from = json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } } });
    let saves = |annotations: &Value, status: &Value| {
        let mut seen = leaving(&from, &json!({}));
        seen.db = with(&leaving_meta(annotations), &from, status).db;
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
