//! What follows if a PVC of snapshots is deleted, or replaced.

use super::*;
use crate::database::backup;

fn snapshots_claim(uid: &str, meta: &Value) -> Arc<Pvc> {
    let mut claim = json!({ "metadata": { "namespace": "n", "name": "shop-snapshots", "uid": uid } });
    for (key, value) in meta.as_object().unwrap() {
        claim["metadata"][key] = value.clone();
    }
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

/// A scheduled one, that many days old, on the PVC `s-1`.
fn taken(days: i64, phase: &str, verification: &Value) -> Arc<Snapshot> {
    let at = now() - jiff::SignedDuration::from_hours(24 * days);
    let status = json!({ "phase": phase, "startedAt": at, "completedAt": at, "sampleDBUID": "u-1", "error": "lost",
        "verification": verification, "location": { "claim": "shop-snapshots", "claimUID": "s-1" } });
    snapshot(&format!("shop-{days}"), "Scheduled", &status)
}

fn serving(spec: &Value, snapshots: Vec<Arc<Snapshot>>) -> Observed {
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-15T07:59:00Z" });
    Observed { snapshots, ..observed(spec, &status) }
}

fn healthy(seen: &Observed) -> (String, String) {
    let conditions = backup::health::conditions(seen, &backup::decide(seen, now()), now());
    let of = conditions.into_iter().find(|of| of.type_ == "BackupHealthy").unwrap();
    (format!("{:?} {}", of.status, of.reason), of.message)
}

#[test]
fn a_snapshots_claim_that_is_being_deleted_is_reported_once() {
    let mut seen = serving(&json!({}), vec![taken(1, "Ready", &json!({ "phase": "Passed" }))]);
    seen.claims = vec![claim("u-1", "c-1"), snapshots_claim("s-1", &json!({}))];
    let before = plan(&seen, now()).status.unwrap();
    seen.claims[1] = snapshots_claim("s-1", &json!({ "deletionTimestamp": "2027-01-01T00:00:00Z" }));
    let planned = plan(&seen, now());
    let after = planned.status.unwrap();
    for of in ["BackupHealthy", "StorageHealthy"] {
        assert_eq!(reason(&after, of), (ConditionStatus::False, "SnapshotClaimTerminating".to_owned()));
        assert!(after.contract.condition(of).unwrap().message.contains("the PVC shop-snapshots"));
    }
    let events = |before: &SampleDBStatus| -> Vec<String> {
        backup::events(before, &after).iter().map(|event| event.reason.to_string()).collect()
    };
    assert_eq!(events(&before), ["SnapshotClaimTerminating"]);
    assert_eq!(events(&after), Vec::<String>::new());
}

#[test]
fn a_snapshot_missing_from_its_volume_is_no_good_backup() {
    let lost = || taken(1, "Failed", &json!({ "phase": "Failed", "claimUID": "s-2" }));
    let seen = serving(&json!({}), vec![lost()]);
    assert_eq!(healthy(&seen), ("False LastFailed".to_owned(), "the snapshot shop-1: lost".to_owned()));
    let status = backup::status(&seen, &backup::decide(&seen, now()));
    assert_eq!((status.last_successful.name, status.last_verified.name, status.count), (None, None, Some(0)));
    // Nor can a database be restored from it.
    let mut copy = observed(&json!({ "bootstrap": { "fromSnapshot": { "ofSampleDB": "shop" } } }), &latched());
    let looked_for = || taken(1, "Ready", &json!({ "phase": "Running", "claimUID": "s-2" }));
    copy.restore_candidates = vec![lost(), looked_for(), taken(2, "Ready", &json!({ "phase": "Passed" }))];
    assert_eq!(plan(&copy, now()).status.unwrap().restore.snapshot.as_deref(), Some("shop-2"));
    let mut copy = observed(&json!({ "bootstrap": { "fromSnapshot": { "name": "shop-1" } } }), &latched());
    for source in [lost(), looked_for()] {
        copy.restore_candidates = vec![source];
        assert_eq!(reason(&plan(&copy, now()).status.unwrap(), "Stalled").1, "SnapshotNotReady");
    }
}

/// A missing PVC may come back, for example from a backup: its snapshots must exist by then.
#[test]
fn retention_waits_while_a_volume_is_missing() {
    let pruned = |snapshots| {
        let seen = serving(&json!({ "backup": { "retention": { "keepLast": 1 } } }), snapshots);
        let effects = backup::decide(&seen, now()).effect.into_iter().collect();
        done(&Plan { effects, ..Plan::nothing() })
    };
    let away = |days| taken(days, "Failed", &json!({ "phase": "Pending" }));
    assert_eq!(pruned(vec![away(1), away(2), away(3)]), Vec::<String>::new());
    let lost = |days| taken(days, "Failed", &json!({ "phase": "Failed" }));
    assert_eq!(pruned(vec![lost(1), lost(2)]), ["delete SampleDBSnapshot shop-2"]);
    let good = |days| taken(days, "Ready", &json!({ "phase": "Passed" }));
    assert_eq!(pruned(vec![lost(1), good(2)]), Vec::<String>::new(), "the newest verified one");
}

#[test]
fn a_final_snapshot_saves_nothing_on_a_volume_that_was_replaced() {
    let last = |status: &Value| {
        let object = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1", "uid": "f-1" },
            "spec": { "sampleDB": "shop", "sampleDBUID": "u-1", "reason": "Final" }, "status": status });
        Arc::new(Snapshot::decode(&object.to_string()).unwrap())
    };
    let status = |phase: &str, verification: &Value| {
        json!({ "phase": phase, "startedAt": "2027-01-15T07:59:00Z", "completedAt": "2027-01-15T07:59:00Z",
            "verification": verification, "location": { "claim": "shop-snapshots", "claimUID": "s-1" } })
    };
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let mut seen = with(&meta, &json!({}), &initialised());
    seen.claims = vec![claim("u-1", "c-1"), snapshots_claim("s-2", &json!({}))];
    for verification in
        [json!({ "phase": "Passed", "claimUID": "s-1" }), json!({ "phase": "Running", "claimUID": "s-2" })]
    {
        seen.snapshots = vec![last(&status("Ready", &verification))];
        let waits = plan(&seen, now());
        assert!(waits.effects.is_empty(), "{:?}", waits.effects);
        assert_eq!(waits.status.unwrap().deletion.step, Some(DeletionStep::Verify));
    }
    seen.snapshots = vec![last(&status("Failed", &json!({ "phase": "Failed", "claimUID": "s-2" })))];
    assert_eq!(done(&plan(&seen, now())), ["delete SampleDBSnapshot shop-final-u1"], "it is retaken");
    seen.claims[1] = snapshots_claim("s-1", &json!({}));
    seen.snapshots = vec![last(&status("Ready", &json!({ "phase": "Passed", "claimUID": "s-1" })))];
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
}
