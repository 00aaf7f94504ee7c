//! From which snapshot a new database is restored.

use super::adoption::{begun, from, next};
use super::backups::old;
use super::*;

/// A new database that is being restored, with that end of its Job.
fn restoring(end: &Value) -> Observed {
    let mut status = initialised();
    status["restore"] = json!({ "snapshot": "old", "snapshotUID": "old" });
    status["initialization"] = json!({ "dataCreatedAt": "2026-01-01T00:00:00Z" });
    let mut seen = observed(&json!({ "bootstrap": { "fromSnapshot": { "name": "old" } } }), &status);
    let job = json!({ "metadata": { "namespace": "n", "name": "shop-restore", "uid": "j" },
        "status": { "conditions": end } });
    seen.claims = vec![claim("u-1", "c-1")];
    seen.jobs = vec![Arc::new(runtime::projections::Job::decode(&job.to_string()).unwrap())];
    seen
}

#[test]
fn a_started_restore_is_judged_by_its_job() {
    let bad = snapshot("old", "Manual", &json!({ "phase": "Failed", "sampleDBUID": "u-0" }));
    let complete = json!([{ "type": "Complete", "status": "True" }]);
    // Whatever happened to the snapshot meanwhile: deleted, or bad.
    for sources in [Vec::new(), vec![bad.clone()]] {
        let mut seen = restoring(&complete);
        seen.restore_candidates = sources;
        let status = plan(&seen, now()).status.unwrap();
        assert!(status.restore.completed_at.is_some(), "{:?}", status.restore);
        assert_eq!(status.restore.snapshot.as_deref(), Some("old"));
    }
    let mut seen = restoring(&json!([]));
    seen.restore_candidates = vec![bad.clone()];
    assert!(!plan(&seen, now()).status.unwrap().contract.is_true("Stalled"), "its Job runs");
    seen.jobs = Vec::new();
    assert_eq!(reason(&plan(&seen, now()).status.unwrap(), "Stalled").1, "SnapshotNotReady", "and none is begun");
}

#[test]
fn of_a_databases_snapshots_the_newest_good_one_is_restored() {
    let mut seen = observed(&json!({ "bootstrap": { "fromSnapshot": { "ofSampleDB": "old" } } }), &latched());
    seen.restore_candidates = vec![old(1, "Ready", "Failed"), old(2, "Ready", "Passed"), old(3, "Ready", "Passed")];
    let status = plan(&seen, now()).status.unwrap();
    assert_eq!(status.restore.snapshot.as_deref(), Some("shop-2"));
}

/// A terminating snapshot is deleted as soon as no database is being restored from it.
#[test]
fn a_snapshot_that_is_being_deleted_is_not_chosen() {
    let deleted = json!({ "metadata": { "namespace": "n", "name": "whole", "uid": "whole", "finalizers": ["f"],
        "deletionTimestamp": "2026-01-01T00:00:00Z" }, "spec": { "sampleDB": "shop" },
        "status": { "phase": "Ready", "method": "Logical", "engineVersion": "17.12" } });
    let deleted = Arc::new(Snapshot::decode(&deleted.to_string()).unwrap());
    let mut seen = observed(&from(), &latched());
    seen.restore_candidates = vec![deleted];
    assert_eq!(reason(&next(&seen), "Stalled").1, "SnapshotNotReady");
    seen.db = observed(&from(), &begun()).db;
    assert!(next(&seen).contract.condition("Stalled").is_none(), "it waits for one that had chosen it");
}

/// Its files stay for the restore that has started, and that its object waits for.
#[test]
fn a_snapshot_that_expires_when_it_is_chosen_is_restored() {
    let expired = |completed: &Value| {
        let object = json!({ "metadata": { "namespace": "n", "name": "whole", "uid": "whole", "finalizers": ["f"],
            "deletionTimestamp": "2026-01-01T00:00:00Z" }, "spec": { "sampleDB": "shop" },
            "status": { "phase": "Expired", "completedAt": completed, "method": "Logical", "engineVersion": "17.12" } });
        Arc::new(Snapshot::decode(&object.to_string()).unwrap())
    };
    let taken = expired(&json!("2025-12-01T00:00:00Z"));
    let mut seen = observed(&from(), &begun());
    seen.restore_candidates = vec![taken.clone()];
    assert!(next(&seen).contract.condition("Stalled").is_none(), "it had been chosen");
    seen.restore_candidates = vec![expired(&Value::Null)];
    assert_eq!(reason(&next(&seen), "Stalled").1, "SnapshotNotReady", "it has never been taken");
    (seen.db, seen.restore_candidates) = (observed(&from(), &latched()).db, vec![taken]);
    assert_eq!(reason(&next(&seen), "Stalled").1, "SnapshotNotReady", "it was not chosen");
}

/// An import for the new database, with that status.
fn import(status: &Value) -> Arc<Snapshot> {
    let from = json!({ "s3": { "path": "b/shop", "awsSecret": "aws" } });
    let object = json!({ "metadata": { "namespace": "n", "name": "whole", "uid": "whole" },
        "spec": { "sampleDB": "shop", "fromStore": from }, "status": status });
    Arc::new(Snapshot::decode(&object.to_string()).unwrap())
}

#[test]
fn a_database_waits_for_its_import_with_nothing_but_the_volume_for_it() {
    let ready = |message: &str| json!([{ "type": "Ready", "status": "False", "reason": "Importing", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    let mut seen = observed(&from(), &json!({}));
    seen.restore_candidates = vec![import(&json!({ "phase": "Running", "conditions": ready("downloading") }))];
    let waiting = plan(&seen, now());
    let created: Vec<&str> = waiting.independent.iter().map(|apply| &*apply.key.name).collect();
    assert_eq!((created, waiting.effects.len()), (vec!["shop-snapshots"], 0));
    let status = waiting.status.unwrap();
    assert_eq!(status.phase, Some(api::sample_db::SampleDBPhase::Restoring));
    assert_eq!(reason(&status, "Reconciling").1, "Restoring");
    let message = &status.contract.condition("Ready").unwrap().message;
    assert_eq!(message, "waiting for the snapshot whole: downloading");
    assert!(status.contract.condition("Stalled").is_none() && status.contract.is_true("SpecValid"));

    seen.restore_candidates = vec![import(&json!({ "phase": "Failed", "error": "no such bucket" }))];
    let failed = plan(&seen, now());
    assert_eq!(failed.independent.len(), 1, "it is tried again");
    assert_eq!(reason(&failed.status.unwrap(), "Stalled").1, "SnapshotNotReady");
    let imported = json!({ "phase": "Ready", "completedAt": "2025-12-01T00:00:00Z", "method": "Logical", "engineVersion": "17.12" });
    seen.restore_candidates = vec![import(&imported)];
    assert_eq!(plan(&seen, now()).status.unwrap().restore.snapshot.as_deref(), Some("whole"));
    seen.db = observed(&json!({ "paused": true, "bootstrap": { "fromSnapshot": { "name": "whole" } } }), &json!({})).db;
    seen.restore_candidates = vec![import(&json!({ "phase": "Running" }))];
    assert_eq!(plan(&seen, now()).independent.len(), 0);
}

/// A user who may only create snapshots could offer one that is newer.
#[test]
fn an_import_is_restored_only_by_its_name() {
    let mut seen = observed(&json!({ "bootstrap": { "fromSnapshot": { "ofSampleDB": "shop" } } }), &latched());
    let imported = json!({ "phase": "Ready", "completedAt": "2026-12-01T00:00:00Z", "method": "Logical", "engineVersion": "17.12",
        "verification": { "phase": "Passed" } });
    seen.restore_candidates = vec![old(1, "Ready", "Passed"), import(&imported)];
    assert_eq!(plan(&seen, now()).status.unwrap().restore.snapshot.as_deref(), Some("shop-1"));
}
