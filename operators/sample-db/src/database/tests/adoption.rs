//! Volumes that an annotation names, and a database whose spec also names a snapshot.

use api::sample_db::ADOPT;

use super::records::{recorded, restored};
use super::server::{says, stand};
use super::*;
use crate::database::record::{RECORD, RETAINED};

pub(super) fn from() -> Value {
    json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } } })
}

fn meta() -> Value {
    json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": { ADOPT: "u-0" } })
}

/// The record on a PVC.
fn text(claim: &Pvc) -> String {
    claim.annotations.get(RECORD).map(ToString::to_string).unwrap()
}

fn candidate() -> Arc<Snapshot> {
    snapshot("whole", "Manual", &json!({ "phase": "Ready", "method": "Logical", "engineVersion": "17.12" }))
}

/// What the object latches before the annotation names the leftover volume.
pub(super) fn begun() -> Value {
    let mut status = latched();
    status["storage"] = json!({ "claim": "data-shop-0" });
    status["restore"] = json!({ "snapshot": "whole", "snapshotUID": "whole", "job": "shop-restore" });
    status
}

/// The status that a plan writes.
pub(super) fn next(seen: &Observed) -> SampleDBStatus {
    plan(seen, now()).status.unwrap()
}

/// Whether anything is restored once the server's pod is ready.
fn restores(seen: &mut Observed) -> bool {
    stand(seen);
    done(&plan(seen, now())).iter().any(|effect| effect.contains("restore"))
}

#[test]
fn an_adopted_volume_with_a_record_is_not_restored_over() {
    let mut seen = with(&meta(), &from(), &begun());
    (seen.restore_candidates, seen.claims) = (vec![candidate()], vec![recorded("u-0", &initialised(), &json!({}))]);
    let adopted = restored(&seen).expect("the record is restored");
    assert_eq!(
        (adopted.restore.snapshot_uid.as_deref(), &*adopted.storage.adopted_from),
        (None, &["u-0".to_owned()][..])
    );
    seen.db = with(&meta(), &from(), &serde_json::to_value(&adopted).unwrap()).db;
    assert!(!restores(&mut seen));
    assert_eq!(next(&seen).restore.snapshot_uid, None, "status does not say that it was restored from a snapshot");
    seen.restore_candidates = Vec::new();
    let status = next(&seen);
    assert_ne!(status.contract.condition("Ready").map(|ready| &*ready.reason), Some("SnapshotMissing"));
}

#[test]
fn an_adopted_volume_without_a_record_is_not_restored_over() {
    let mut seen = with(&meta(), &from(), &begun());
    (seen.restore_candidates, seen.claims) = (vec![candidate()], vec![claim("u-0", "c-0")]);
    let status = next(&seen);
    assert_eq!(status.restore.snapshot_uid, None, "it is forgotten before the data is observed");
    let mut status = serde_json::to_value(&status).unwrap();
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    seen.db = with(&meta(), &from(), &status).db;
    assert!(!restores(&mut seen));
    assert_eq!(next(&seen).storage.adopted_from, ["u-0"], "its Secrets are the database's own from then on");
}

/// The next reconcile marks the volume as the database's own, and nothing else says whose it was.
#[test]
fn whose_data_was_adopted_is_known_as_soon_as_it_is() {
    let mut seen = with(&meta(), &json!({}), &begun());
    seen.claims = vec![claim("u-0", "c-0")];
    stand(&mut seen);
    let said = json!({ "systemIdentifier": "7", "version": "17.12" }).to_string();
    let labels = json!({ "multi-operator.example.com/whole": "true" });
    let pod = json!({ "metadata": { "namespace": "n", "name": "shop-0", "uid": "p-1", "labels": labels }, "status": {
        "podIP": "10.0.0.1", "conditions": [{ "type": "Ready", "status": "True" }],
        "initContainerStatuses": [{ "name": "prepare", "image": "i", "restartCount": 0,
            "state": { "terminated": { "exitCode": 0, "message": said } } }] } });
    seen.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    let status = next(&seen);
    assert!(status.initialization.data_created_at.is_some());
    assert_eq!(status.storage.adopted_from, ["u-0"]);
    (seen.db, seen.claims) =
        (with(&meta(), &json!({}), &serde_json::to_value(&status).unwrap()).db, vec![claim("u-1", "c-0")]);
    assert_eq!(next(&seen).storage.adopted_from, ["u-0"]);
}

/// The owner of the data that the server's init container expects.
fn owner(seen: &Observed) -> String {
    let set = objects::server(seen, &crate::database::pinned::Pinned::of(seen).unwrap(), None);
    set.body["spec"]["template"]["spec"]["initContainers"][1]["command"].to_string()
}

/// As after a restore by a backup tool that also restores status.
#[test]
fn an_object_restored_with_its_status_under_another_uid_adopts_its_volume() {
    let mut status = initialised();
    status["systemIdentifier"] = json!("7");
    status["storage"] = json!({ "claim": "data-shop-0", "claimUID": "c-0" });
    for claim_uid in ["c-0", "c-2"] {
        let mut back = status.clone();
        back["storage"]["claimUID"] = json!(claim_uid);
        let claim = recorded("u-0", &status, &json!({}));
        let named = with(&meta(), &json!({}), &back).db;
        let mut seen = with(&json!({ "finalizers": [FINAL_SNAPSHOT] }), &json!({}), &back);
        seen.claims = vec![claim];
        let marks =
            |seen: &Observed| done(&plan(seen, now())).contains(&"apply PersistentVolumeClaim data-shop-0".to_owned());
        assert!(!marks(&seen), "the user has not said so yet");
        (seen.db, seen.superuser_secret, seen.app_secret) = (named, SecretState::Foreign, SecretState::Foreign);
        let status = next(&seen);
        assert_eq!(status.storage.adopted_from, ["u-0"], "{claim_uid}");
        assert!(
            !status.contract.is_true("Stalled"),
            "its Secrets must not be deleted: {:?}",
            status.contract.conditions
        );
        let message = &status.contract.condition("Reconciling").unwrap().message;
        assert!(message.contains("adopting the Secret shop-system"), "{message}");
        seen.db = with(&meta(), &json!({}), &serde_json::to_value(&status).unwrap()).db;
        assert!(owner(&seen).contains("--owner=u-0\""));
    }
}

/// It would be marked as the database's own and deleted with it, or served instead because it is newer.
#[test]
fn a_volume_that_is_named_next_to_existing_data_is_not_changed() {
    let mut status = initialised();
    (status["server"], status["revision"]) = (json!("shop-17"), json!(9));
    status["storage"] = json!({ "claim": "data-shop-17", "claimUID": "c-17" });
    for revision in [3, 12] {
        let mut older = initialised();
        (older["revision"], older["storage"]["claimUID"]) = (json!(revision), json!("c-0"));
        let retained = json!({ "annotations": { RETAINED: "true" } });
        let mut seen = with(&meta(), &json!({}), &status);
        seen.claims = vec![recorded("u-1", &status, &json!({})), recorded("u-0", &older, &retained)];
        stand(&mut seen);
        seen.probe = says(|_| ());
        for _ in 0..2 {
            assert_eq!(restored(&seen), None, "at revision {revision}");
            let reported = crate::database::plan::plan(&seen, now());
            let touched = reported
                .effects
                .iter()
                .any(|effect| matches!(effect, Effect::Apply(of) if *of.key.name == *"data-shop-0"));
            assert!(
                !touched && reported.independent.iter().all(|of| *of.key.name != *"data-shop-0"),
                "{:?}",
                reported.effects
            );
            let status = reported.status.unwrap();
            assert!(status.storage.adopted_from.is_empty(), "{:?}", status.storage);
            assert_eq!(reason(&status, "Ready").0, ConditionStatus::True);
            assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "AlreadyHasData".to_owned()));
            assert!(owner(&seen).contains("--owner=u-1\""), "no pod expects that one's data");
            let message = &status.contract.condition("Stalled").unwrap().message;
            assert!(message.contains("PVC data-shop-0,") && message.contains("the PVC data-shop-17;"), "{message}");
            seen.db = with(&meta(), &json!({}), &serde_json::to_value(&status).unwrap()).db;
        }
        let mut deleted = meta();
        deleted["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        seen.db = with(&deleted, &json!({ "deletion": { "policy": "Delete" } }), &status_of(&seen)).db;
        (seen.servers, seen.pods) = (Vec::new(), Vec::new());
        assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-17"]);
        seen.claims.remove(0);
        assert_eq!(done(&plan(&seen, now())), ["DeleteSecret(App)"], "that one is kept");
    }
}

/// An empty one in its place would be ready, and used.
#[test]
fn no_database_is_created_while_the_volume_to_adopt_is_missing() {
    for status in [json!({}), latched()] {
        let mut seen = with(&meta(), &json!({}), &status);
        let planned = plan(&seen, now());
        assert!(planned.effects.is_empty() && planned.independent.is_empty(), "{:?}", planned.effects);
        let status = planned.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumeToAdoptMissing".to_owned()));
        assert!(status.engine.image.is_none() || status.storage.claim.is_none(), "its claim is yet to be found");
        seen.claims = vec![recorded("u-0", &initialised(), &json!({}))];
        assert!(restored(&seen).is_some(), "it is adopted once it exists");
        seen.claims = vec![claim("u-0", "c-0")];
        assert!(next(&seen).contract.condition("Stalled").is_none(), "also without a record");
        seen = observed(&json!({}), &status_of(&seen));
        assert!(next(&seen).contract.condition("Stalled").is_none(), "the user wants an empty one");
    }
    let own = json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": { ADOPT: "u-1" } });
    assert!(next(&with(&own, &json!({}), &latched())).contract.condition("Stalled").is_none());
    let mut deleted = meta();
    deleted["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut deleted = with(&deleted, &json!({}), &latched());
    (deleted.app_secret, deleted.superuser_secret) = (SecretState::Absent, SecretState::Absent);
    assert_eq!(done(&plan(&deleted, now())), ["apply SampleDB shop"], "there is nothing to wait for");
}

fn status_of(seen: &Observed) -> Value {
    serde_json::to_value(&seen.db.status).unwrap()
}

#[test]
fn a_database_that_names_a_missing_volume_is_restored_from_its_snapshot() {
    let mut seen = with(&meta(), &from(), &latched());
    (seen.restore_candidates, seen.claims) = (vec![candidate()], vec![held_claim("u-1", "c-1")]);
    let mut status = begun();
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    status["storage"] = json!({ "claim": "data-shop-0", "claimUID": "c-1" });
    seen.db = with(&meta(), &from(), &status).db;
    assert!(restores(&mut seen));
}

/// An earlier object had started to restore it.
#[test]
fn a_restore_that_an_earlier_object_has_begun_is_continued() {
    let mut half = initialised();
    half["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    half["restore"] = json!({ "snapshot": "whole", "snapshotUID": "whole" });
    let mut seen = with(&meta(), &from(), &latched());
    (seen.restore_candidates, seen.claims) = (vec![candidate()], vec![recorded("u-0", &half, &json!({}))]);
    let adopted = restored(&seen).expect("the record is restored");
    seen.db = with(&meta(), &from(), &serde_json::to_value(&adopted).unwrap()).db;
    assert!(restores(&mut seen));
}

/// The earlier object was deleted before there was anything on its volume.
#[test]
fn a_record_of_a_volume_without_data_is_adopted_once() {
    let mut empty = latched();
    (empty["storage"], empty["revision"]) = (json!({ "claim": "data-shop-0", "claimUID": "c-0" }), json!(1));
    let mut seen = with(&meta(), &json!({}), &json!({}));
    seen.claims = vec![recorded("u-0", &empty, &json!({}))];
    let adopted = restored(&seen).expect("the record is restored");
    seen.db = with(&meta(), &json!({}), &serde_json::to_value(&adopted).unwrap()).db;
    assert_eq!(restored(&seen), None);
}

/// All objects would be named after a database that does not exist.
#[test]
fn a_volume_with_another_application_database_is_not_adopted() {
    let other = |spec: Value| {
        let mut record: Value = serde_json::from_str(&text(&recorded("u-0", &initialised(), &json!({})))).unwrap();
        record["database"] = json!("shop");
        let annotations = json!({ "annotations": { RECORD: record.to_string() } });
        let mut seen = with(&meta(), &spec, &json!({}));
        seen.claims = vec![recorded("u-0", &initialised(), &annotations)];
        seen
    };
    let seen = other(json!({}));
    assert_eq!(restored(&seen), None);
    let planned = plan(&seen, now());
    assert!(planned.effects.is_empty() && planned.independent.is_empty(), "{:?}", planned.effects);
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumeOfOtherDatabase".to_owned()));
    let message = &status.contract.condition("Stalled").unwrap().message;
    assert!(message.contains("data-shop-0") && message.contains("bootstrap.database: shop"), "{message}");
    assert!(restored(&other(json!({ "bootstrap": { "database": "shop" } }))).is_some(), "with its own it is");
    let mut deleted = other(json!({}));
    let mut meta = meta();
    meta["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    deleted.db = with(&meta, &json!({}), &json!({ "deletion": { "startedAt": "2026-01-01T00:00:00Z" } })).db;
    let left = done(&plan(&deleted, now()));
    assert_eq!(left, ["apply SampleDB shop"], "the Secrets belong to that volume, and are kept with it");
}
