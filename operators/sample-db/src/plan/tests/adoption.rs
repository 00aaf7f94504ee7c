//! Volumes that a person says are to be taken over, by a database whose spec names a snapshot to be filled from.

use super::records::{recorded, restored};
use super::server::stand;
use super::*;
use api::sample_db::ADOPT;

fn from() -> Value {
    json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } } })
}

fn meta() -> Value {
    json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": { ADOPT: "u-0" } })
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
