//! Volumes that a person says are to be taken over, by a database whose spec names a snapshot to be filled from.

use api::sample_db::ADOPT;

use super::records::{recorded, restored};
use super::server::{says, stand};
use super::*;
use crate::database::record::{RECORD, RETAINED};

fn from() -> Value {
    json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } } })
}

fn meta() -> Value {
    json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": { ADOPT: "u-0" } })
}

/// The record that a claim bears.
fn text(claim: &Claim) -> String {
    claim.annotations.get(RECORD).map(ToString::to_string).unwrap()
}

fn whole() -> Arc<Snapshot> {
    snapshot("whole", "Manual", &json!({ "phase": "Ready", "method": "Logical", "engineVersion": "17.12" }))
}

/// What the object latches before a person names the volume that was left.
fn begun() -> Value {
    let mut status = latched();
    status["storage"] = json!({ "claim": "data-shop-0" });
    status["restore"] = json!({ "snapshot": "whole", "snapshotUID": "whole", "job": "shop-restore" });
    status
}

/// The status that a plan writes.
fn next(seen: &Observed) -> SampleDBStatus {
    plan(seen, now()).status.unwrap()
}

/// With the server's pod ready, what is restored into it.
fn restores(seen: &mut Observed) -> bool {
    stand(seen);
    done(&plan(seen, now())).iter().any(|effect| effect.contains("restore"))
}

#[test]
fn a_volume_that_is_taken_over_with_its_record_is_not_restored_over() {
    let mut seen = with(&meta(), &from(), &begun());
    (seen.sources, seen.claims) = (vec![whole()], vec![recorded("u-0", &initialised(), &json!({}))]);
    let adopted = restored(&seen).expect("the record comes back");
    assert_eq!(
        (adopted.restore.snapshot_uid.as_deref(), &*adopted.storage.adopted_from),
        (None, &["u-0".to_owned()][..])
    );
    seen.db = with(&meta(), &from(), &serde_json::to_value(&adopted).unwrap()).db;
    assert!(!restores(&mut seen));
    assert_eq!(next(&seen).restore.snapshot_uid, None, "nothing claims that it was filled from a snapshot");
    seen.sources = Vec::new();
    let status = next(&seen);
    assert_ne!(status.contract.condition("Ready").map(|ready| &*ready.reason), Some("SnapshotMissing"));
}

#[test]
fn a_volume_that_is_taken_over_without_a_record_is_not_restored_over() {
    let mut seen = with(&meta(), &from(), &begun());
    (seen.sources, seen.claims) = (vec![whole()], vec![claim("u-0", "c-0")]);
    let status = next(&seen);
    assert_eq!(status.restore.snapshot_uid, None, "it is forgotten before the data are seen");
    let mut status = serde_json::to_value(&status).unwrap();
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    seen.db = with(&meta(), &from(), &status).db;
    assert!(!restores(&mut seen));
    assert_eq!(next(&seen).storage.adopted_from, ["u-0"], "its Secrets are the database's own from then on");
}

/// The next pass marks the volume as the database's own, and nothing else tells whose it was.
#[test]
fn whose_data_were_taken_over_is_known_as_soon_as_they_are() {
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

/// What the init step of the server's pod is told of whose data it is to find.
fn owner(seen: &Observed) -> String {
    let set = objects::server(seen, &crate::database::pinned::Pinned::of(seen).unwrap(), None);
    set.body["spec"]["template"]["spec"]["initContainers"][1]["command"].to_string()
}

/// As a backup tool does that brings status back as well.
#[test]
fn an_object_that_comes_back_with_its_status_under_another_uid_takes_its_volume_over() {
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
        assert!(!marks(&seen), "nobody has said so yet");
        (seen.db, seen.system, seen.app) = (named, SecretSeen::Foreign, SecretSeen::Foreign);
        let status = next(&seen);
        assert_eq!(status.storage.adopted_from, ["u-0"], "{claim_uid}");
        assert!(
            !status.contract.is_true("Stalled"),
            "nobody is to delete its Secrets: {:?}",
            status.contract.conditions
        );
        let message = &status.contract.condition("Reconciling").unwrap().message;
        assert!(message.contains("taking over the Secret shop-system"), "{message}");
        seen.db = with(&meta(), &json!({}), &serde_json::to_value(&status).unwrap()).db;
        assert!(owner(&seen).contains("--owner=u-0\""));
    }
}

/// It would be marked as the database's own, and removed with it, or taken for the newer one and served instead.
#[test]
fn a_volume_that_is_named_beside_data_is_left_as_it_is() {
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
        seen.asked = says(|_| ());
        for _ in 0..2 {
            assert_eq!(restored(&seen), None, "at revision {revision}");
            let told = crate::database::plan::plan(&seen, now());
            let touched =
                told.effects.iter().any(|effect| matches!(effect, Effect::Apply(of) if *of.key.name == *"data-shop-0"));
            assert!(!touched && told.independent.iter().all(|of| *of.key.name != *"data-shop-0"), "{:?}", told.effects);
            let status = told.status.unwrap();
            assert!(status.storage.adopted_from.is_empty(), "{:?}", status.storage);
            assert_eq!(reason(&status, "Ready").0, ConditionStatus::True);
            assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "AlreadyHasData".to_owned()));
            assert!(owner(&seen).contains("--owner=u-1\""), "no pod is told to look for that one's data");
            let message = &status.contract.condition("Stalled").unwrap().message;
            assert!(message.contains("claim data-shop-0,") && message.contains("the claim data-shop-17;"), "{message}");
            seen.db = with(&meta(), &json!({}), &serde_json::to_value(&status).unwrap()).db;
        }
        let mut going = meta();
        going["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        seen.db = with(&going, &json!({ "deletion": { "policy": "Delete" } }), &status_of(&seen)).db;
        (seen.servers, seen.pods) = (Vec::new(), Vec::new());
        assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-17"]);
        seen.claims.remove(0);
        assert_eq!(done(&plan(&seen, now())), ["DropSecret(App)"], "that one stays");
    }
}

/// An empty one in its place would be ready, and used.
#[test]
fn no_database_is_made_while_the_volume_to_take_over_is_not_there() {
    for status in [json!({}), latched()] {
        let mut seen = with(&meta(), &json!({}), &status);
        let told = plan(&seen, now());
        assert!(told.effects.is_empty() && told.independent.is_empty(), "{:?}", told.effects);
        let status = told.status.unwrap();
        assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumeToAdoptMissing".to_owned()));
        assert!(status.engine.image.is_none() || status.storage.claim.is_none(), "its claim is yet to be found");
        seen.claims = vec![recorded("u-0", &initialised(), &json!({}))];
        assert!(restored(&seen).is_some(), "it is taken over once it is there");
        seen.claims = vec![claim("u-0", "c-0")];
        assert!(next(&seen).contract.condition("Stalled").is_none(), "also without a record");
        seen = observed(&json!({}), &status_of(&seen));
        assert!(next(&seen).contract.condition("Stalled").is_none(), "a person wants an empty one");
    }
    let own = json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": { ADOPT: "u-1" } });
    assert!(next(&with(&own, &json!({}), &latched())).contract.condition("Stalled").is_none());
    let mut going = meta();
    going["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut going = with(&going, &json!({}), &latched());
    (going.app, going.system) = (SecretSeen::Absent, SecretSeen::Absent);
    assert_eq!(done(&plan(&going, now())), ["apply SampleDB shop"], "there is nothing to wait for");
}

fn status_of(seen: &Observed) -> Value {
    serde_json::to_value(&seen.db.status).unwrap()
}

#[test]
fn a_database_that_names_a_volume_which_is_not_there_is_restored() {
    let mut seen = with(&meta(), &from(), &latched());
    (seen.sources, seen.claims) = (vec![whole()], vec![held_claim("u-1", "c-1")]);
    let mut status = begun();
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    status["storage"] = json!({ "claim": "data-shop-0", "claimUID": "c-1" });
    seen.db = with(&meta(), &from(), &status).db;
    assert!(restores(&mut seen));
}

/// Its first object had begun to restore it.
#[test]
fn a_restore_that_an_earlier_object_has_begun_is_continued() {
    let mut half = initialised();
    half["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    half["restore"] = json!({ "snapshot": "whole", "snapshotUID": "whole" });
    let mut seen = with(&meta(), &from(), &latched());
    (seen.sources, seen.claims) = (vec![whole()], vec![recorded("u-0", &half, &json!({}))]);
    let adopted = restored(&seen).expect("the record comes back");
    seen.db = with(&meta(), &from(), &serde_json::to_value(&adopted).unwrap()).db;
    assert!(restores(&mut seen));
}

/// It was deleted before there was anything in its volume.
#[test]
fn a_record_of_a_volume_without_data_is_taken_over_once() {
    let mut empty = latched();
    (empty["storage"], empty["revision"]) = (json!({ "claim": "data-shop-0", "claimUID": "c-0" }), json!(1));
    let mut seen = with(&meta(), &json!({}), &json!({}));
    seen.claims = vec![recorded("u-0", &empty, &json!({}))];
    let adopted = restored(&seen).expect("the record comes back");
    seen.db = with(&meta(), &json!({}), &serde_json::to_value(&adopted).unwrap()).db;
    assert_eq!(restored(&seen), None);
}

/// All that it writes would be named after a database that is not there.
#[test]
fn a_volume_with_another_database_for_applications_is_not_taken_over() {
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
    let told = plan(&seen, now());
    assert!(told.effects.is_empty() && told.independent.is_empty(), "{:?}", told.effects);
    let status = told.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumeOfOtherDatabase".to_owned()));
    let message = &status.contract.condition("Stalled").unwrap().message;
    assert!(message.contains("data-shop-0") && message.contains("bootstrap.database: shop"), "{message}");
    assert!(restored(&other(json!({ "bootstrap": { "database": "shop" } }))).is_some(), "with its own it is");
    let mut going = other(json!({}));
    let mut meta = meta();
    meta["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    going.db = with(&meta, &json!({}), &json!({ "deletion": { "startedAt": "2026-01-01T00:00:00Z" } })).db;
    let left = done(&plan(&going, now()));
    assert_eq!(left, ["apply SampleDB shop"], "the Secrets are that volume's, and stay with it");
}

/// A snapshot that somebody has deleted goes as soon as no database is being filled from it.
#[test]
fn a_snapshot_that_is_being_deleted_is_not_chosen() {
    let going = json!({ "metadata": { "namespace": "n", "name": "whole", "uid": "whole", "finalizers": ["f"],
        "deletionTimestamp": "2026-01-01T00:00:00Z" }, "spec": { "sampleDB": "shop" },
        "status": { "phase": "Ready", "method": "Logical", "engineVersion": "17.12" } });
    let going = Arc::new(Snapshot::decode(&going.to_string()).unwrap());
    let mut seen = observed(&from(), &latched());
    seen.sources = vec![going];
    assert_eq!(reason(&next(&seen), "Stalled").1, "SnapshotNotReady");
    seen.db = observed(&from(), &begun()).db;
    assert!(next(&seen).contract.condition("Stalled").is_none(), "it waits for one that had chosen it");
}

/// Its files stay for the restore that has been begun, and for which its object waits.
#[test]
fn a_snapshot_whose_time_comes_to_its_end_when_it_is_chosen_is_restored() {
    let expired = |completed: &Value| {
        let object = json!({ "metadata": { "namespace": "n", "name": "whole", "uid": "whole", "finalizers": ["f"],
            "deletionTimestamp": "2026-01-01T00:00:00Z" }, "spec": { "sampleDB": "shop" },
            "status": { "phase": "Expired", "completedAt": completed, "method": "Logical", "engineVersion": "17.12" } });
        Arc::new(Snapshot::decode(&object.to_string()).unwrap())
    };
    let taken = expired(&json!("2025-12-01T00:00:00Z"));
    let mut seen = observed(&from(), &begun());
    seen.sources = vec![taken.clone()];
    assert!(next(&seen).contract.condition("Stalled").is_none(), "it had been chosen");
    seen.sources = vec![expired(&Value::Null)];
    assert_eq!(reason(&next(&seen), "Stalled").1, "SnapshotNotReady", "it has never been taken");
    (seen.db, seen.sources) = (observed(&from(), &latched()).db, vec![taken]);
    assert_eq!(reason(&next(&seen), "Stalled").1, "SnapshotNotReady", "nobody has chosen it");
}
