//! Which PVCs have the finalizer, from when on, and when they are released.

use api::sample_db::UNSAVED_DATA;

use super::failing::with_pod_of;
use super::records::{marks, recorded, restored};
use super::server::standing;
use super::*;
use crate::database::record::RETAINED;

/// A database whose data was just created: with all its children, and not configured yet.
fn created(held: bool) -> Observed {
    let mut status = initialised();
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    let mut seen = standing(&json!({}), &status);
    seen.claims = vec![if held { recorded("u-1", &status, &json!({})) } else { claim("u-1", "c-1") }];
    seen
}

/// Clients can connect as soon as the database is configured, and what they write must not be lost with a deleted PVC.
#[test]
fn the_volume_is_held_before_the_database_is_configured() {
    let seen = created(false);
    assert_eq!(marks(&seen).expect("it is held first")["finalizers"], json!([UNSAVED_DATA]));
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "nothing lets clients in meanwhile");
    let planned = plan(&seen, now());
    assert_eq!(planned.next, Requeue::After(REQUEUE_AFTER_STEP));
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Reconciling").1, "Provisioning");
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::False);
    assert_eq!(done(&plan(&created(true), now())), ["create Job shop-init"]);
    // Status does not record the data yet: the PVC is held once it does, in the next reconcile.
    let mut status = latched();
    status["storage"] = json!({ "claim": "data-shop-0", "claimUID": "c-1" });
    let pod = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "True" }],
        "initContainerStatuses": [{ "name": "prepare", "image": "i", "restartCount": 0,
            "state": { "terminated": { "exitCode": 0, "message": "{}" } } }] });
    let planned = plan(&with_pod_of(&json!({}), &status, &pod), now());
    assert_eq!(done(&planned), Vec::<String>::new());
    assert_eq!(planned.next, Requeue::After(REQUEUE_AFTER_STEP));
    assert!(planned.status.unwrap().initialization.data_created_at.is_some());
}

/// A status of a database that was deleted so long ago that PVCs are not waited for.
fn deleted_long_ago() -> Value {
    let mut status = initialised();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    status
}

/// One that is being deleted while its server runs.
pub(super) fn being_deleted(finalizers: &[&str], claim: &Value) -> Observed {
    let mut seen = standing(&json!({}), &initialised());
    let meta = json!({ "finalizers": finalizers, "deletionTimestamp": "2026-01-01T00:00:00Z" });
    seen.db = with(&meta, &json!({}), &deleted_long_ago()).db;
    let set = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "shop", "ownerReferences": [
        { "apiVersion": "example.com/v1alpha1", "kind": "SampleDB", "name": "shop", "uid": "u-1", "controller": true }] } });
    seen.servers = vec![Arc::new(runtime::projections::StatefulSet::decode(&set.to_string()).unwrap())];
    seen.claims = vec![recorded("u-1", &initialised(), claim), snapshots_claim()];
    seen
}

#[test]
fn the_final_snapshot_is_taken_of_the_running_server_with_clients_blocked() {
    let online = ["BlockConnections", "create SampleDBSnapshot shop-final-u1"];
    for claim in [json!({}), json!({ "deleting": true })] {
        let seen = being_deleted(&[FINAL_SNAPSHOT], &claim);
        let plan = plan(&seen, now());
        assert_eq!(done(&plan), online);
        let Some(Effect::Create(create)) = plan.effects.last() else { panic!("{:?}", plan.effects) };
        assert_eq!(create.body["metadata"]["annotations"][kinds::ONLINE], "true");
    }
    // A foreground deletion deletes the server at once.
    let mut seen = being_deleted(&[FINAL_SNAPSHOT, "foregroundDeletion"], &json!({}));
    assert_eq!(done(&plan(&seen, now())), ["delete StatefulSet shop"]);
    (seen.servers, seen.pods) = (Vec::new(), Vec::new());
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-u1"]);
    seen.claims = vec![recorded("u-1", &initialised(), &json!({ "deleting": true })), snapshots_claim()];
    let blocked = plan(&seen, now());
    assert!(blocked.effects.is_empty(), "{:?}", blocked.effects);
    assert_eq!(reason(&blocked.status.unwrap(), "DeletionBlocked").1, "ClaimTerminating");
}

/// The controller recreates the pod, and no node accepts it while the PVC is terminating.
#[test]
fn a_pod_that_never_started_is_not_waited_for() {
    let mut seen = being_deleted(&[FINAL_SNAPSHOT], &json!({ "deleting": true }));
    let pod = json!({ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-2",
        "labels": { "multi-operator.example.com/whole": "true" } }, "status": { "phase": "Pending" } });
    seen.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    seen.probe = ServerProbe::Skipped;
    let blocked = plan(&seen, now());
    assert!(done(&blocked).is_empty(), "{:?}", blocked.effects);
    assert_eq!(reason(&blocked.status.unwrap(), "DeletionBlocked").1, "ClaimTerminating");
}

/// The final snapshot is being taken of the volume when a user deletes the PVC.
#[test]
fn a_final_snapshot_of_a_volume_that_no_pod_has_is_not_waited_for() {
    let mut seen = being_deleted(&[FINAL_SNAPSHOT], &json!({ "deleting": true }));
    (seen.servers, seen.pods, seen.probe) = (Vec::new(), Vec::new(), ServerProbe::Skipped);
    let last = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1", "uid": "s-1" },
        "spec": { "sampleDB": "shop", "sampleDBUID": "u-1", "reason": "Final" },
        "status": { "phase": "Running", "startedAt": "2027-01-15T07:59:00Z" } });
    seen.snapshots = vec![Arc::new(Snapshot::decode(&last.to_string()).unwrap())];
    let pod = |spec: Value| {
        let pod = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1-backup-x", "uid": "p-3",
            "labels": { "multi-operator.example.com/whole": "true" } }, "spec": spec });
        Arc::new(Pod::decode(&pod.to_string()).unwrap())
    };
    for (saving, waits) in
        [(vec![], false), (vec![pod(json!({}))], false), (vec![pod(json!({ "nodeName": "one" }))], true)]
    {
        seen.final_snapshot_pods = saving;
        let status = plan(&seen, now()).status.unwrap();
        assert_eq!(status.contract.condition("DeletionBlocked").is_none(), waits);
    }
}

/// `kubectl delete sdb,pvc -l ...` deletes the object first.
#[test]
fn nothing_is_stopped_or_released_before_pvcs_deleted_with_the_object_are_observed() {
    let at = |seconds: i64| json!(Timestamp::from_second(NOW - seconds).unwrap());
    let seen = |policy: &str, finalizers: &[&str], age: Option<i64>| {
        let meta = json!({ "finalizers": finalizers, "deletionTimestamp": "2026-01-01T00:00:00Z" });
        let mut status = initialised();
        status["deletion"] = json!({ "startedAt": age.map(at) });
        let mut seen = being_deleted(finalizers, &json!({}));
        seen.db = with(&meta, &json!({ "deletion": { "policy": policy } }), &status).db;
        seen
    };
    let young = seen("Retain", &[FINAL_SNAPSHOT], None);
    let waits = crate::database::plan::plan(&young, now());
    assert!(waits.effects.is_empty(), "{:?}", waits.effects);
    let status = waits.status.unwrap();
    assert_eq!(status.deletion.started_at, Some(now()));
    assert!(status.deletion.message.unwrap().contains("10 s"));
    assert!(done(&plan(&seen("Retain", &[FINAL_SNAPSHOT], Some(9)), now())).is_empty());
    let stopped = ["delete StatefulSet shop"];
    assert_eq!(done(&plan(&seen("Retain", &[FINAL_SNAPSHOT], Some(10)), now())), stopped);
    let foreground = [FINAL_SNAPSHOT, "foregroundDeletion"];
    assert_eq!(done(&plan(&seen("Retain", &foreground, None), now())), stopped, "it is deleted at once all the same");
    // The server is not ready for a moment.
    let silent = |age: i64| {
        let mut seen = seen("Snapshot", &[FINAL_SNAPSHOT], Some(age));
        seen.probe = ServerProbe::Skipped;
        done(&plan(&seen, now()))
    };
    assert!(silent(9).is_empty());
    assert_eq!(silent(10), stopped);
    // What cannot be retained can be saved as long as a server can read it.
    let mut terminating_claim = seen("Retain", &[FINAL_SNAPSHOT], Some(3));
    terminating_claim.claims = vec![recorded("u-1", &initialised(), &json!({ "deleting": true })), snapshots_claim()];
    let message = |seen: &Observed| {
        let status = plan(seen, now()).status.unwrap();
        assert_eq!(reason(&status, "DeletionBlocked").1, "ClaimTerminating");
        status.contract.condition("DeletionBlocked").unwrap().message.clone()
    };
    assert!(message(&terminating_claim).contains("set deletion.policy to Snapshot"), "{}", message(&terminating_claim));
    (terminating_claim.pods, terminating_claim.servers) = (Vec::new(), Vec::new());
    assert!(message(&terminating_claim).contains("persistentVolumeReclaimPolicy"), "{}", message(&terminating_claim));
}

#[test]
fn a_deleted_volume_of_snapshots_is_recreated_for_the_final_one() {
    let mut seen = being_deleted(&[FINAL_SNAPSHOT], &json!({}));
    seen.claims.pop();
    assert_eq!(done(&plan(&seen, now())), ["apply PersistentVolumeClaim shop-snapshots"]);
    let verified = json!({ "phase": "Ready", "verification": { "phase": "Passed" } });
    let last = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1", "uid": "s-1" },
        "spec": { "sampleDB": "shop", "sampleDBUID": "u-1", "reason": "Final" }, "status": verified });
    seen.snapshots = vec![Arc::new(Snapshot::decode(&last.to_string()).unwrap())];
    assert_eq!(done(&plan(&seen, now())), ["delete SampleDBSnapshot shop-final-u1"], "it went with its volume");
}

#[test]
fn pvcs_are_released_with_their_namespace_and_when_they_are_retained() {
    let mut seen = being_deleted(&[FINAL_SNAPSHOT], &json!({}));
    seen.namespace_terminating = true;
    assert_eq!(marks(&seen).unwrap()["finalizers"], json!([]));
    let mut seen = being_deleted(&[FINAL_SNAPSHOT], &json!({}));
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let retain = json!({ "deletion": { "policy": "Retain" } });
    seen.db = with(&meta, &retain, &deleted_long_ago()).db;
    (seen.servers, seen.pods) = (Vec::new(), Vec::new());
    let marked = marks(&seen).unwrap();
    assert_eq!((&marked["finalizers"], &marked["annotations"][RETAINED]), (&json!([]), &json!("true")));
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1", "labels": marked["labels"],
        "annotations": marked["annotations"] } });
    seen.claims = vec![Arc::new(Pvc::decode(&claim.to_string()).unwrap())];
    assert_eq!(done(&plan(&seen, now())), ["apply SampleDB shop"], "then it is deleted");
    // A terminating one would not stay.
    seen.claims = vec![recorded("u-1", &initialised(), &json!({ "deleting": true }))];
    assert_eq!(reason(&plan(&seen, now()).status.unwrap(), "DeletionBlocked").1, "ClaimTerminating");
}

#[test]
fn a_claim_is_held_whatever_the_spec_says() {
    let mut seen = standing(&json!({}), &initialised());
    seen.snapshots_on_data = true;
    assert_eq!(marks(&seen).expect("it is marked")["finalizers"], json!([UNSAVED_DATA]));
    seen.db = with(&json!({}), &json!({}), &initialised()).db;
    assert_eq!(marks(&seen), None, "the database itself is held first");
    seen.db = observed(&json!({ "paused": true }), &initialised()).db;
    assert_eq!(marks(&seen), None);
}

/// A database whose init container just created data that status does not record yet.
fn prepared(spec: &Value) -> Observed {
    let mut status = latched();
    status["storage"] = json!({ "claim": "data-shop-0", "claimUID": "c-1" });
    let said = json!({ "systemIdentifier": "7", "version": "17.12" }).to_string();
    let pod = json!({ "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "True" }],
        "initContainerStatuses": [{ "name": "prepare", "image": "i", "restartCount": 0,
            "state": { "terminated": { "exitCode": 0, "message": said } } }] });
    let mut seen = with_pod_of(&json!({}), &status, &pod);
    seen.db = observed(spec, &serde_json::to_value(&seen.db.status).unwrap()).db;
    seen
}

/// Without a finalizer the volume may be deleted at any moment, and clients are not allowed yet: status does not record data that
/// it cannot hold.
#[test]
fn data_are_latched_only_where_the_volume_can_be_held() {
    let reported = |seen: &Observed| {
        let status = plan(seen, now()).status.unwrap();
        (status.initialization.data_created_at.is_some(), status.system_identifier)
    };
    assert_eq!(reported(&prepared(&json!({}))), (true, Some("7".to_owned())));
    let paused = prepared(&json!({ "paused": true }));
    assert_eq!(reported(&paused), (false, None));
    let mut terminating = prepared(&json!({}));
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": "c-1", "labels": labels_of("u-1"),
        "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    terminating.claims = vec![Arc::new(Pvc::decode(&claim.to_string()).unwrap())];
    assert_eq!(reported(&terminating), (false, None));
    // Adopted data was in use before.
    let mut adopted = prepared(&json!({ "paused": true }));
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": { api::sample_db::ADOPT: "u-1" } });
    let status = serde_json::to_value(&adopted.db.status).unwrap();
    adopted.db = with(&meta, &json!({ "paused": true }), &status).db;
    assert_eq!(reported(&adopted), (true, Some("7".to_owned())));
    // A superuser may have used it meanwhile: if it is deleted, it is saved.
    let mut deleted = prepared(&json!({ "paused": true }));
    deleted.db = with(&deleting(), &json!({ "paused": true }), &status).db;
    assert_eq!(reported(&deleted), (true, Some("7".to_owned())));
    // What it adopted is deleted with it, including Secrets.
    let mut named = deleting();
    named["annotations"] = json!({ api::sample_db::ADOPT: "u-0" });
    (deleted.db, deleted.claims) =
        (with(&named, &json!({ "paused": true }), &status).db, vec![super::claim("u-0", "c-1")]);
    assert_eq!(plan(&deleted, now()).status.unwrap().storage.adopted_from, ["u-0"]);
}

fn deleting() -> Value {
    json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" })
}

#[test]
fn a_volume_that_was_replaced_before_it_had_data_is_the_databases() {
    let mut seen = prepared(&json!({}));
    seen.claims = vec![claim("u-1", "c-2")];
    assert_eq!(plan(&seen, now()).status.unwrap().storage.claim_uid.as_deref(), Some("c-2"));
    let mut created = created(false);
    created.claims = vec![claim("u-1", "c-2")];
    let status = plan(&created, now()).status.unwrap();
    assert_eq!(status.storage.claim_uid.as_deref(), Some("c-1"), "from then on another one is not the data's");
    assert_eq!(reason(&status, "Stalled").1, "DataMissing");
    created.claims = Vec::new();
    let message = plan(&created, now()).status.unwrap().contract.condition("Ready").unwrap().message.clone();
    assert!(message.contains("before the database was configured") && message.contains("recreate it"), "{message}");
}

/// The finalizer of the earlier database was removed, and nothing removes that of its PVC.
#[test]
fn a_pvc_that_nothing_releases_any_more_is_reported_with_the_command_that_does() {
    let left = recorded("u-0", &initialised(), &json!({ "deleting": true }));
    for spec in [json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } } }), json!({})] {
        let mut seen = observed(&spec, &latched());
        seen.restore_candidates =
            vec![snapshot("whole", "Manual", &json!({ "phase": "Ready", "engineVersion": "17.12" }))];
        seen.claims = vec![left.clone()];
        // The Secrets of the earlier one are left, too.
        (seen.superuser_secret, seen.app_secret) = (SecretState::Foreign, SecretState::Foreign);
        assert_eq!(restored(&seen), None, "a terminating volume is not adopted");
        let status = plan(&seen, now()).status.unwrap();
        let ready = status.contract.condition("Ready").unwrap();
        assert_eq!(&*ready.reason, "WaitingForDeletion");
        let command =
            "kubectl patch pvc data-shop-0 --namespace n --type=merge --patch '{\"metadata\":{\"finalizers\":null}}'";
        assert!(ready.message.contains(command) && ready.message.contains("Retain"), "{}", ready.message);
        seen.db = observed(&spec, &json!({})).db;
        assert_eq!(restored(&seen), None, "nor is it before anything is latched");
    }
}
