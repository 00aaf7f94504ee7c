//! Snapshots that are imported from an object store.

use api::sample_db_snapshot::TransferPhase;

use super::*;

fn from() -> Value {
    json!({ "fromStore": { "s3": { "path": "b/shop", "awsSecret": "aws" } } })
}

fn claim() -> Volume {
    Volume::Claim { uid: "c-1".into(), terminating: false, lost: false, watched: true, capacity: None }
}

/// The import with that status, where no SampleDB exists.
fn importing(status: &Value, volume: Volume) -> Observed {
    Observed { db: None, volume, ..seen(&json!({}), &from(), status) }
}

fn latched() -> Value {
    json!({ "phase": "Pending", "location": { "claim": "shop-snapshots", "path": "one-one" }, "store": { "phase": "Pending" } })
}

fn result() -> Value {
    json!({ "kind": "Physical", "bytes": 5000, "sha256": "ab", "engineVersion": "15.20", "systemIdentifier": "7", "databaseNames": ["app"],
        "completedAt": 1_700_000_000, "from": "b/shop/other-12345678", "database": "app", "verified": true })
}

fn complete(observed: &mut Observed) {
    observed.jobs = vec![job("one-import", &json!([{ "type": "Complete", "status": "True" }]))];
    observed.pods = vec![pod("one-import", 0, &result())];
}

#[test]
fn it_waits_for_its_volume_and_is_then_downloaded_by_the_agent_alone() {
    let first = plan(&importing(&json!({}), Volume::Absent), now()).status.unwrap();
    assert_eq!(
        (first.location.claim.as_deref(), first.location.path.as_deref()),
        (Some("shop-snapshots"), Some("one-one"))
    );
    assert_eq!(
        (first.phase, first.sample_db_uid),
        (Some(SnapshotPhase::Pending), None),
        "it is no backup of a database here"
    );
    let waiting = plan(&importing(&latched(), Volume::Absent), now());
    assert_eq!(done(&waiting), Vec::<String>::new());
    let (reason, message) = ready(waiting.status.as_ref().unwrap());
    assert!(reason == "VolumeMissing" && message.contains("fromSnapshot.name: one"), "{reason}: {message}");

    let planned = plan(&importing(&latched(), claim()), now());
    assert_eq!(done(&planned), ["create Job one-import"]);
    let status = planned.status.as_ref().unwrap();
    assert_eq!((ready(status).0, status.started_at), ("Importing", Some(now())));
    let Some(Effect::Create(import)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
    let work = &import.body["spec"]["template"]["spec"]["containers"][0];
    let argv: Vec<&str> = work["command"].as_array().unwrap().iter().skip(1).filter_map(Value::as_str).collect();
    let expected = "pg-download --to=/snapshots/one-one --bucket=b/shop --bucket-credentials=/bucket/credentials";
    assert_eq!((argv.join(" "), work["image"].as_str()), (expected.to_owned(), Some("agent:1")));
}

#[test]
fn what_was_downloaded_can_be_restored_and_stays_in_the_store() {
    let mut running = latched();
    running["phase"] = json!("Running");
    running["startedAt"] = json!("2027-01-15T07:59:00Z");
    running["store"]["phase"] = json!("Running");
    let mut observed = importing(&running, claim());
    complete(&mut observed);
    let imported = plan(&observed, now());
    assert_eq!(events(&imported), [], "its conditions announce it");
    let status = imported.status.unwrap();
    assert_eq!(ready(&status).0, "Imported");
    assert_eq!((status.phase, status.method), (Some(SnapshotPhase::Ready), Some(api::sample_db::Method::Physical)));
    assert_eq!((status.database.as_deref(), status.engine_version.as_deref()), (Some("app"), Some("15.20")));
    assert_eq!(status.completed_at, Some(Timestamp::from_second(1_700_000_000).unwrap()), "as it was taken");
    assert_eq!(status.verification.phase, Some(VerificationPhase::Passed));
    assert_eq!(
        (status.store.phase, status.store.path.as_deref()),
        (Some(TransferPhase::Imported), Some("b/shop/other-12345678"))
    );

    let value = serde_json::to_value(&status).unwrap();
    let mut settled = importing(&value, claim());
    settled.jobs = observed.jobs.clone();
    assert_eq!(done(&plan(&settled, now())), ["delete Job one-import"]);
    settled.jobs = Vec::new();
    assert_eq!(done(&plan(&settled, now())), Vec::<String>::new());
    // Nor is it uploaded for a SampleDB with a store of its own.
    settled.db = Some(database(
        &json!({}),
        &json!({ "backup": { "store": { "s3": { "path": "b/new", "awsSecret": "aws" } } } }),
    ));
    assert_eq!(done(&plan(&settled, now())), Vec::<String>::new());

    let deleting = json!({ "deletionTimestamp": "2027-01-15T07:30:00Z" });
    let terminating = Observed { db: None, volume: claim(), ..seen(&deleting, &from(), &value) };
    let planned = plan(&terminating, now());
    let Some(Effect::Create(prune)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
    assert!(!prune.body.to_string().contains("--bucket"), "only its files on the volume are removed");
}

/// Its status is lost: what was downloaded is checked, and nothing else is put in its place.
#[test]
fn a_status_that_was_lost_comes_back_from_the_record() {
    let mut running = latched();
    running["startedAt"] = json!("2027-01-15T07:59:00Z");
    running["store"]["phase"] = json!("Running");
    assert!(
        record::keep(&importing(&running, claim()).snapshot).is_none(),
        "an import can be repeated until it is complete"
    );
    let mut observed = importing(&running, claim());
    complete(&mut observed);
    let status = serde_json::to_value(plan(&observed, now()).status.unwrap()).unwrap();
    let kept = importing(&status, claim());
    let annotations = json!({ "annotations": { kinds::RECORD: kept.snapshot.annotations[kinds::RECORD] } });
    let lost = Observed { db: None, volume: claim(), ..seen(&annotations, &from(), &json!({})) };
    let restored = plan(&lost, now()).status.unwrap();
    assert_eq!((restored.phase, restored.store.phase), (Some(SnapshotPhase::Ready), Some(TransferPhase::Imported)));
    assert_eq!(
        (restored.sha256.as_deref(), restored.verification.phase),
        (Some("ab"), Some(VerificationPhase::Pending))
    );
}

#[test]
fn a_result_that_cannot_be_read_is_no_success() {
    let mut running = latched();
    running["store"]["phase"] = json!("Running");
    let mut observed = importing(&running, claim());
    complete(&mut observed);
    observed.pods = vec![pod("one-import", 0, &json!("cut"))];
    let planned = plan(&observed, now());
    assert_eq!(done(&planned), ["delete Job one-import"]);
    assert_eq!(ready(planned.status.as_ref().unwrap()).0, "ImportFailed");
}

#[test]
fn a_download_that_failed_says_why_and_is_tried_again() {
    let mut running = latched();
    running["phase"] = json!("Running");
    running["store"]["phase"] = json!("Running");
    let mut observed = importing(&running, claim());
    observed.jobs = vec![failed("one-import")];
    observed.pods =
        vec![pod("one-import", 1, &json!({ "reason": "AuthenticationFailed", "message": "SignatureDoesNotMatch" }))];
    let broken = plan(&observed, now());
    assert_eq!(done(&broken), ["delete Job one-import"]);
    let status = broken.status.unwrap();
    let (reason, message) = ready(&status);
    assert_eq!((reason, status.phase), ("ImportFailed", Some(SnapshotPhase::Failed)));
    assert!(message.contains("SignatureDoesNotMatch; the next attempt begins at 2027-01-15T08:00:30Z"), "{message}");
    observed.pods = vec![pod("one-import", 1, &json!({ "reason": "NoSpace", "message": "No space left on device" }))];
    let full = plan(&observed, now()).status.unwrap();
    assert!(ready(&full).1.contains("raise backup.storage.size"), "{}", ready(&full).1);
    // Its Job, and then the pod of that, are still being deleted.
    let mut paused = importing(&serde_json::to_value(&status).unwrap(), claim());
    for jobs in [vec![terminating_job("one-import")], Vec::new()] {
        let gone = Observed {
            jobs,
            pods: vec![terminating_pod("one-import")],
            ..importing(&serde_json::to_value(&status).unwrap(), claim())
        };
        let ending = plan(&gone, now());
        assert_eq!((done(&ending), ending.status.as_ref()), (Vec::new(), Some(&status)), "the pause holds");
    }
    assert_eq!(done(&plan(&paused, now())), Vec::<String>::new());
    let later = "2027-01-15T08:00:30Z".parse().unwrap();
    assert_eq!(done(&plan(&paused, later)), ["create Job one-import"]);
    // Not onto a PVC that is not for snapshots.
    let foreign = Volume::Claim { uid: "c-1".into(), terminating: false, lost: false, watched: false, capacity: None };
    for volume in [Volume::Absent, Volume::Unknown, foreign] {
        paused.volume = volume;
        assert_eq!(done(&plan(&paused, later)), Vec::<String>::new());
    }
    paused.volume =
        Volume::Claim { uid: "c-1".into(), terminating: false, lost: false, watched: false, capacity: None };
    let named = json!({ "backup": { "storage": { "existingClaim": "shop-snapshots" } } });
    paused.db = Some(database(&json!({}), &named));
    assert_eq!(done(&plan(&paused, later)), ["create Job one-import"]);
    let data = json!({ "backup": { "storage": { "existingClaim": "data-other-0" } } });
    let mut on_data = importing(
        &json!({ "phase": "Pending", "location": { "claim": "data-other-0", "path": "one-one" } }),
        paused.volume.clone(),
    );
    on_data.db = Some(database(&json!({}), &data));
    assert_eq!(done(&plan(&on_data, later)), Vec::<String>::new());
}

/// No image is run because a store says so.
#[test]
fn it_is_verified_by_restoring_it_only_with_the_image_of_its_database() {
    let mut running = latched();
    running["store"]["phase"] = json!("Running");
    let mut observed = importing(&running, claim());
    complete(&mut observed);
    let status = plan(&observed, now()).status.unwrap();
    let verify = |db: Option<Arc<SampleDB>>| {
        let again = json!({ "annotations": { VERIFY: "again" } });
        let mut asked =
            Observed { db, volume: claim(), ..seen(&again, &from(), &serde_json::to_value(&status).unwrap()) };
        let begun = plan(&asked, now()).status.unwrap();
        assert_eq!(begun.verification.phase, Some(VerificationPhase::Running));
        asked.snapshot = snapshot("one", &again, &from(), &serde_json::to_value(&begun).unwrap());
        let planned = plan(&asked, now());
        let Some(Effect::Create(verify)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
        let work = &verify.body["spec"]["template"]["spec"]["containers"][0];
        (work["image"].as_str().unwrap().to_owned(), work["command"].to_string().contains("--mode=checksum"))
    };
    assert_eq!(verify(None), ("agent:1".to_owned(), true));
    assert_eq!(verify(Some(database(&json!({}), &json!({})))), ("postgres:17".to_owned(), false));
}
