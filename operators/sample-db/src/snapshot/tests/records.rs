//! What is found again once status is lost.

use super::*;
use crate::operand::kinds::RECORD;
use crate::operand::snapshot_state::{is_looked_for, is_proved};

/// One that was taken and proved.
fn proved() -> Value {
    json!({ "phase": "Ready", "sampleDBUID": "u-1", "systemIdentifier": "7", "method": "Logical", "database": "app",
        "engineVersion": "17.12", "image": "postgres:17.12", "startedAt": "2027-01-01T00:00:00Z",
        "completedAt": "2027-01-01T00:01:00Z", "bytes": 5, "size": "5", "sha256": "a", "databaseNames": ["app"],
        "notCovered": ["a slot"], "verification": { "phase": "Passed", "claimUID": "c-1" },
        "location": { "claim": "shop-snapshots", "path": "one-01234567", "claimUID": "c-1" } })
}

/// The annotation that a snapshot of that status gets.
fn recorded(status: &Value) -> String {
    let kept = plan(&seen(&json!({ "annotations": { RECORD: "none" } }), &json!({}), status), now());
    let [Effect::Apply(apply)] = &kept.effects[..] else { panic!("{:?}", kept.effects) };
    assert!(kept.status.is_none(), "a status that was judged before would be refused");
    assert_eq!(apply.hand_over, Some(record::MANAGER), "what owns nothing else takes nothing else away");
    apply.body["metadata"]["annotations"][RECORD].as_str().unwrap().to_owned()
}

/// The same snapshot with that annotation and without status, of a database that is gone.
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

/// What `seen` is once its plan is carried out.
fn next(seen: Observed) -> Observed {
    let status = plan(&seen, now()).status.unwrap();
    let volume = Volume::Claim { uid: "c-2".into(), leaving: false, lost: false, watched: true, capacity: None };
    let mut snapshot = (*seen.snapshot).clone();
    snapshot.status = status;
    if !snapshot.meta.deleting {
        // It is recorded again, with what was found.
        let status = serde_json::to_value(&snapshot.status).unwrap();
        let meta = json!({ "uid": &*snapshot.meta.uid });
        return Observed { snapshot: super::snapshot("one", &meta, &json!({}), &status), volume, ..seen };
    }
    Observed { snapshot: Arc::new(snapshot), volume, ..seen }
}

#[test]
fn what_is_latched_is_recorded_before_anything_relies_on_it_and_once() {
    let mut begun = running();
    begun["location"] = json!({ "claim": "shop-snapshots", "path": "one-01234567" });
    let of = |status: &Value, record: &str| {
        let rests = seen(&json!({ "annotations": { RECORD: record } }), &json!({}), status);
        done(&plan(&rests, now()))
    };
    let kept = ["apply SampleDBSnapshot null"];
    assert_eq!(of(&begun, "nonsense"), kept);
    assert_eq!(of(&begun, &recorded(&begun)), ["create Job one-backup"]);
    assert_eq!(of(&proved(), &recorded(&begun)), kept, "what was learned since");
    assert_eq!(of(&proved(), &recorded(&proved())), Vec::<String>::new());
    assert_eq!(of(&json!({}), "nonsense"), Vec::<String>::new(), "there is nothing to record yet");
}

#[test]
fn one_of_a_database_that_is_gone_is_verified_and_ready_again() {
    for meta in [json!({}), json!({ "uid": "98765432-1" })] {
        let seen = lost(&recorded(&proved()), &meta);
        let told = plan(&seen, now());
        assert_eq!((events(&told), done(&told)), (vec![(true, "StatusRestored")], Vec::<String>::new()));
        let seen = next(seen);
        let status = &seen.snapshot.status;
        assert!(is_looked_for(status) && !is_proved(status), "nothing is taken for granted");
        assert!(!status.contract.is_true("Ready"));
        assert_eq!(status.location.path.as_deref(), Some("one-01234567"), "the folder of before, whatever its uid");
        let mut seen = next(seen);
        let made = plan(&seen, now());
        assert_eq!(done(&made), ["create Job one-verify"]);
        let Some(Effect::Create(verify)) = made.effects.last() else { panic!("{:?}", made.effects) };
        let spec = verify.body["spec"].to_string();
        for told in ["/one-01234567", "--sha256=a", "--mode=restore", "shop-snapshots", "postgres:17.12"] {
            assert!(spec.contains(told), "{told}: {spec}");
        }
        assert!(is_looked_for(made.status.as_ref().unwrap()), "no database is restored from it before");
        seen.jobs = vec![job("one-verify", &json!([{ "type": "Complete", "status": "True" }]))];
        seen.pods = vec![pod("one-verify", 0, &json!({ "systemIdentifier": "7" }))];
        let again = plan(&seen, now()).status.unwrap();
        assert!(is_proved(&again));
        let mut expected = serde_json::to_value(&again).unwrap();
        for field in ["verification", "conditions", "observedGeneration"] {
            expected.as_object_mut().unwrap().remove(field);
        }
        let mut before = proved();
        before["location"]["claimUID"] = json!("c-2");
        before.as_object_mut().unwrap().remove("verification");
        assert_eq!(expected, before);
        // Files of another database are not booked as its own.
        seen.pods = vec![pod("one-verify", 0, &json!({ "systemIdentifier": "8" }))];
        let foreign = plan(&seen, now()).status.unwrap();
        assert_eq!(foreign.phase, Some(SnapshotPhase::Failed));
        assert!(ready(&foreign).1.contains("system identifier 8, not 7"), "{:?}", ready(&foreign));
    }
}

/// The files of a physical one can be read by PostgreSQL of their own major version alone, and its image is known nowhere else.
#[test]
fn one_of_an_earlier_major_version_is_verified_with_the_image_that_took_it() {
    let of = |repository: &str, version: &str| {
        let mut status = proved();
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
fn one_that_was_being_taken_goes_on() {
    let mut begun = running();
    begun["location"] = json!({ "claim": "shop-snapshots", "path": "one-01234567" });
    begun["systemIdentifier"] = json!("7");
    let record = changed(&recorded(&begun), "image", &json!("nowhere:1"));
    let mut lost = lost(&record, &json!({}));
    lost.db = Some(database(&json!({}), &json!({})));
    let mut seen = next(lost);
    let made = plan(&seen, now());
    assert_eq!(done(&made), ["create Job one-backup"]);
    let Some(Effect::Create(backup)) = made.effects.last() else { panic!("{:?}", made.effects) };
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
    assert_eq!(plan(&seen, now()).status.unwrap().completed_at, None, "what was there already is none of theirs");
    seen.pods = vec![pod("one-backup", 0, &json!({ "systemIdentifier": "8" }))];
    assert_eq!(plan(&seen, now()).status.unwrap().system_identifier.as_deref(), Some("8"));
}

/// Its files go with it as if nothing had happened.
#[test]
fn one_that_goes_is_restored_first() {
    let seen = lost(&recorded(&proved()), &json!({ "deletionTimestamp": "2027-01-15T07:30:00Z" }));
    assert_eq!(events(&plan(&seen, now())), [(true, "StatusRestored")]);
    assert_eq!(done(&plan(&next(seen), now())), ["create Job one-prune"]);
}

#[test]
fn a_record_that_is_none_of_its_own_counts_as_none() {
    let record = recorded(&proved());
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
        let told = plan(&lost(&forged, &json!({})), now()).status.unwrap();
        assert_eq!((told.phase, ready(&told).0), (Some(SnapshotPhase::Pending), "SampleDBMissing"), "{forged}");
    }
    let mut other = lost(&record, &json!({}));
    other.snapshot =
        snapshot("one", &json!({ "annotations": { RECORD: record } }), &json!({ "sampleDBUID": "u-2" }), &json!({}));
    assert_eq!(plan(&other, now()).status.unwrap().phase, Some(SnapshotPhase::Pending));
    // A claim of the user's is known by the other snapshots on it.
    let mut users = lost(&changed(&record, "claim", &json!("mine")), &json!({}));
    assert_eq!(plan(&users, now()).status.unwrap().phase, Some(SnapshotPhase::Pending));
    users.siblings = vec![snapshot("two", &json!({}), &json!({}), &json!({ "location": { "claim": "mine" } }))];
    assert_eq!(plan(&users, now()).status.unwrap().location.claim.as_deref(), Some("mine"));
}

/// Who may annotate a snapshot may name files that an earlier one of its name has left, and that lack what was written since.
#[test]
fn files_of_an_earlier_one_are_not_what_a_deletion_waits_for() {
    let of = |path: &str, reason: &str, db: Option<Arc<SampleDB>>| {
        let record = changed(&recorded(&proved()), "path", &json!(path));
        let meta = json!({ "annotations": { RECORD: record } });
        let spec = json!({ "sampleDBUID": "u-1", "reason": reason });
        let forged = Observed { db, ..seen(&meta, &spec, &json!({})) };
        plan(&forged, now()).status.unwrap().location.path
    };
    let going = || Some(database(&json!({ "deletionTimestamp": "2027-01-01T00:00:00Z" }), &json!({})));
    assert_eq!(of("one-01234567", "Final", going()).as_deref(), Some("one-one"), "it is taken, into its own folder");
    assert_eq!(of("one-one", "Final", going()).as_deref(), Some("one-one"));
    assert_eq!(of("one-01234567", "Manual", going()).as_deref(), Some("one-01234567"), "nothing waits for it");
    assert_eq!(of("one-01234567", "Final", None).as_deref(), Some("one-01234567"), "it is all there is by now");
}
