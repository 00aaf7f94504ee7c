//! Volumes that a person says are to be taken over, by a database whose spec names a snapshot to be filled from.

use super::records::{recorded, restored};
use super::server::stand;
use super::*;
use crate::plan::record::RECORD;
use api::sample_db::ADOPT;

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
    assert!(told.effects.is_empty() && told.aside.is_empty(), "{:?}", told.effects);
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
