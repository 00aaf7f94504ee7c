//! What is recovered after the loss of status.

use super::*;
use crate::operand::kinds::RECORD;
use crate::operand::snapshot_state::{awaits_location_check, is_verified};

/// A snapshot that was taken and verified.
fn verified() -> Value {
    json!({ "phase": "Ready", "sampleDBUID": "u-1", "systemIdentifier": "7", "method": "Logical", "database": "app",
        "engineVersion": "17.12", "image": "postgres:17.12", "startedAt": "2027-01-01T00:00:00Z",
        "completedAt": "2027-01-01T00:01:00Z", "bytes": 5, "size": "5", "sha256": "a", "databaseNames": ["app"],
        "notCovered": ["a slot"], "verification": { "phase": "Passed", "claimUID": "c-1" },
        "location": { "claim": "shop-snapshots", "path": "one-01234567", "claimUID": "c-1" } })
}

/// The annotation of a snapshot with that status.
fn recorded(status: &Value) -> String {
    let recorded_by = plan(&seen(&json!({ "annotations": { RECORD: "none" } }), &json!({}), status), now());
    let [Effect::Apply(apply)] = &recorded_by.effects[..] else { panic!("{:?}", recorded_by.effects) };
    assert!(recorded_by.status.is_none(), "a status that was computed before the write would conflict");
    assert_eq!(apply.manager_prefix, Some(record::MANAGER), "what owns nothing else takes nothing else away");
    apply.body["metadata"]["annotations"][RECORD].as_str().unwrap().to_owned()
}

/// The same snapshot with that annotation and without status, of a deleted database.
fn lost(record: &str, meta: &Value) -> Observed {
    let mut all = json!({ "annotations": { RECORD: record } });
    for (key, value) in meta.as_object().unwrap() {
        all[key] = value.clone();
    }
    Observed { db: None, ..seen(&all, &json!({}), &json!({})) }
}

fn changed(record: &str, field: &str, value: &Value) -> String {
    let mut record: Value = serde_json::from_str(record).unwrap();
    record[field] = value.clone();
    record.to_string()
}

/// The state after the plan for `seen` was performed.
fn next(seen: Observed) -> Observed {
    let status = plan(&seen, now()).status.unwrap();
    let volume = Volume::Claim { uid: "c-2".into(), terminating: false, lost: false, watched: true, capacity: None };
    let mut snapshot = (*seen.snapshot).clone();
    snapshot.status = status;
    if !snapshot.meta.deleting {
        // It is recorded again, with the new findings.
        let status = serde_json::to_value(&snapshot.status).unwrap();
        let meta = json!({ "uid": &*snapshot.meta.uid });
        return Observed { snapshot: super::snapshot("one", &meta, &json!({}), &status), volume, ..seen };
    }
    Observed { snapshot: Arc::new(snapshot), volume, ..seen }
}

#[test]
fn what_is_latched_is_recorded_before_anything_relies_on_it_and_once() {
    let mut started = running();
    started["location"] = json!({ "claim": "shop-snapshots", "path": "one-01234567" });
    let of = |status: &Value, record: &str| {
        let rests = seen(&json!({ "annotations": { RECORD: record } }), &json!({}), status);
        done(&plan(&rests, now()))
    };
    let recorded_by = ["apply SampleDBSnapshot null"];
    assert_eq!(of(&started, "nonsense"), recorded_by);
    assert_eq!(of(&started, &recorded(&started)), ["create Job one-backup"]);
    assert_eq!(of(&verified(), &recorded(&started)), recorded_by, "what was learned since");
    assert_eq!(of(&verified(), &recorded(&verified())), Vec::<String>::new());
    assert_eq!(of(&json!({}), "nonsense"), Vec::<String>::new(), "there is nothing to record yet");
}

#[test]
fn one_of_a_deleted_database_is_verified_and_ready_again() {
    for meta in [json!({}), json!({ "uid": "98765432-1" })] {
        let seen = lost(&recorded(&verified()), &meta);
        let restored = plan(&seen, now());
        assert_eq!((events(&restored), done(&restored)), (vec![(true, "StatusRestored")], Vec::<String>::new()));
        let seen = next(seen);
        let status = &seen.snapshot.status;
        assert!(awaits_location_check(status) && !is_verified(status), "nothing counts before it is verified");
        assert!(!status.contract.is_true("Ready"));
        assert_eq!(status.location.path.as_deref(), Some("one-01234567"), "the earlier directory, whatever its UID");
        let mut seen = next(seen);
        let planned = plan(&seen, now());
        assert_eq!(done(&planned), ["create Job one-verify"]);
        let Some(Effect::Create(verify)) = planned.effects.last() else { panic!("{:?}", planned.effects) };
        let spec = verify.body["spec"].to_string();
        for restored in ["/one-01234567", "--sha256=a", "--mode=restore", "shop-snapshots", "postgres:17.12"] {
            assert!(spec.contains(restored), "{restored}: {spec}");
        }
        assert!(awaits_location_check(planned.status.as_ref().unwrap()), "no database is restored from it before");
        seen.jobs = vec![job("one-verify", &json!([{ "type": "Complete", "status": "True" }]))];
        seen.pods = vec![pod("one-verify", 0, &json!({ "systemIdentifier": "7" }))];
        let again = plan(&seen, now()).status.unwrap();
        assert!(is_verified(&again));
        let mut expected = serde_json::to_value(&again).unwrap();
        for field in ["verification", "conditions", "observedGeneration"] {
            expected.as_object_mut().unwrap().remove(field);
        }
        let mut before = verified();
        before["location"]["claimUID"] = json!("c-2");
        before.as_object_mut().unwrap().remove("verification");
        assert_eq!(expected, before);
        // Files of another database do not count as its own.
        seen.pods = vec![pod("one-verify", 0, &json!({ "systemIdentifier": "8" }))];
        let foreign = plan(&seen, now()).status.unwrap();
        assert_eq!(foreign.phase, Some(SnapshotPhase::Failed));
        assert!(ready(&foreign).1.contains("system identifier 8, not 7"), "{:?}", ready(&foreign));
    }
}

/// The files of a physical snapshot can be read only by PostgreSQL of their own major version, whose image is known nowhere else.
#[test]
fn one_of_an_earlier_major_version_is_verified_with_the_image_that_took_it() {
    let of = |repository: &str, version: &str| {
        let mut status = verified();
        let image = format!("{repository}:{version}");
        (status["method"], status["engineVersion"], status["image"]) =
            (json!("Physical"), json!(version), json!(image));
        let mut lost = lost(&recorded(&status), &json!({}));
        lost.db = Some(database(&json!({}), &json!({})));
        let seen = next(lost);
        (next(seen).snapshot.status.image.clone().unwrap(), image)
    };
    let (used, own) = of("postgres", "15.18");
    assert_eq!(used, own, "the database runs 17");
    assert_eq!(of("postgres", "17.5").0, "postgres:17", "that of the database, where that will do");
    for forged in ["evil/postgres", "registry:5000/postgres"] {
        assert_eq!(of(forged, "15.18").0, "postgres:17", "an annotation may be forged");
    }
}

#[test]
fn one_that_was_being_taken_continues() {
    let mut started = running();
    started["location"] = json!({ "claim": "shop-snapshots", "path": "one-01234567" });
    started["systemIdentifier"] = json!("7");
    let record = changed(&recorded(&started), "image", &json!("nowhere:1"));
    let mut lost = lost(&record, &json!({}));
    lost.db = Some(database(&json!({}), &json!({})));
    let mut seen = next(lost);
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), ["create Job one-backup"]);
    let Some(Effect::Create(backup)) = planned.effects.last() else { panic!("{:?}", planned.effects) };
    let spec = backup.body["spec"].to_string();
    assert!(spec.contains("/one-01234567") && spec.contains("postgres:17") && !spec.contains("nowhere"), "{spec}");
    seen.jobs = vec![job("one-backup", &json!([{ "type": "Complete", "status": "True" }]))];
    seen.pods = vec![pod("one-backup", 0, &json!({ "systemIdentifier": "8", "reused": true }))];
    let foreign = plan(&seen, now()).status.unwrap();
    assert_eq!((foreign.phase, foreign.completed_at), (Some(SnapshotPhase::Failed), None));
    // While the database is upgraded, both of its servers have its data.
    let mut upgraded = (*seen.db.clone().unwrap()).clone();
    upgraded.status.upgrade.step = Some(api::sample_db::UpgradeStep::Switch);
    seen.db = Some(Arc::new(upgraded));
    assert_eq!(plan(&seen, now()).status.unwrap().completed_at, None, "existing files do not count as its own");
    seen.pods = vec![pod("one-backup", 0, &json!({ "systemIdentifier": "8" }))];
    assert_eq!(plan(&seen, now()).status.unwrap().system_identifier.as_deref(), Some("8"));
}

/// Its files are removed as usual.
#[test]
fn the_status_of_a_terminating_one_is_restored_first() {
    let seen = lost(&recorded(&verified()), &json!({ "deletionTimestamp": "2027-01-15T07:30:00Z" }));
    assert_eq!(events(&plan(&seen, now())), [(true, "StatusRestored")]);
    assert_eq!(done(&plan(&next(seen), now())), ["create Job one-prune"]);
}

#[test]
fn a_record_of_another_snapshot_does_not_count() {
    let record = recorded(&verified());
    let path = |path: &str| changed(&record, "path", &json!(path));
    for forged in [
        "nonsense".to_owned(),
        "{}".to_owned(),
        path("../data"),
        path("pgdata"),
        path("other-01234567"),
        path("one-0123456789"),
        path("one-/x"),
        changed(&record, "claim", &json!("data-shop-0")),
        changed(&record, "startedAt", &Value::Null),
        changed(&record, "startedAt", &json!("yesterday")),
    ] {
        let restored = plan(&lost(&forged, &json!({})), now()).status.unwrap();
        assert_eq!((restored.phase, ready(&restored).0), (Some(SnapshotPhase::Pending), "SampleDBMissing"), "{forged}");
    }
    let mut other = lost(&record, &json!({}));
    other.snapshot =
        snapshot("one", &json!({ "annotations": { RECORD: record } }), &json!({ "sampleDBUID": "u-2" }), &json!({}));
    assert_eq!(plan(&other, now()).status.unwrap().phase, Some(SnapshotPhase::Pending));
    // A user's PVC is known from the other snapshots on it.
    let mut users = lost(&changed(&record, "claim", &json!("mine")), &json!({}));
    assert_eq!(plan(&users, now()).status.unwrap().phase, Some(SnapshotPhase::Pending));
    users.siblings = vec![snapshot("two", &json!({}), &json!({}), &json!({ "location": { "claim": "mine" } }))];
    assert_eq!(plan(&users, now()).status.unwrap().location.claim.as_deref(), Some("mine"));
}

/// A user who may annotate a snapshot may name files that an earlier one of its name left, and that lack later rows.
#[test]
fn a_deletion_does_not_wait_for_files_of_an_earlier_snapshot() {
    let of = |path: &str, reason: &str, db: Option<Arc<SampleDB>>| {
        let record = changed(&recorded(&verified()), "path", &json!(path));
        let meta = json!({ "annotations": { RECORD: record } });
        let spec = json!({ "sampleDBUID": "u-1", "reason": reason });
        let forged = Observed { db, ..seen(&meta, &spec, &json!({})) };
        plan(&forged, now()).status.unwrap().location.path
    };
    let terminating = || Some(database(&json!({ "deletionTimestamp": "2027-01-01T00:00:00Z" }), &json!({})));
    assert_eq!(
        of("one-01234567", "Final", terminating()).as_deref(),
        Some("one-one"),
        "it is taken, into its own directory"
    );
    assert_eq!(of("one-one", "Final", terminating()).as_deref(), Some("one-one"));
    assert_eq!(of("one-01234567", "Manual", terminating()).as_deref(), Some("one-01234567"), "nothing waits for it");
    assert_eq!(of("one-01234567", "Final", None).as_deref(), Some("one-01234567"), "it is all there is by now");
}
