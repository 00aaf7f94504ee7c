//! Copies of snapshots in an object store.

use api::sample_db_snapshot::TransferPhase;

use super::*;

/// A store, as the SampleDB and the status name it.
fn store(path: &str) -> Value {
    json!({ "path": path, "awsSecret": "aws", "endpoint": "http://store:7070", "forcePathStyle": true })
}

/// A snapshot that was verified, and whose copy has that status.
fn ready(copy: &Value) -> Value {
    json!({ "phase": "Ready", "sampleDBUID": "u-1", "startedAt": "2027-01-15T07:00:00Z", "sha256": "ab",
        "completedAt": "2027-01-15T07:00:00Z", "database": "app", "verification": { "phase": "Passed", "claimUID": "c-1" },
        "location": { "claim": "shop-snapshots", "path": "one-one", "claimUID": "c-1" }, "store": copy })
}

/// That snapshot, of a database that names that store.
fn with(named: Option<&str>, copy: &Value) -> Observed {
    with_status(named, &ready(copy))
}

fn with_status(named: Option<&str>, status: &Value) -> Observed {
    let spec = named.map_or_else(|| json!({}), |path| json!({ "backup": { "store": { "s3": store(path) } } }));
    Observed {
        db: Some(database(&json!({}), &spec)),
        volume: Volume::Claim { uid: "c-1".into(), terminating: false, lost: false, watched: true, capacity: None },
        ..seen(&json!({}), &json!({}), status)
    }
}

fn copy(plan: &SnapshotPlan) -> (Option<TransferPhase>, Option<i32>) {
    let store = &plan.status.as_ref().unwrap().store;
    (store.phase, store.failures)
}

fn complete(result: &Value) -> (Vec<Arc<Job>>, Vec<Arc<Pod>>) {
    let job = job("one-upload", &json!([{ "type": "Complete", "status": "True" }]));
    (vec![job], vec![pod("one-upload", 0, result)])
}

const PENDING: (Option<TransferPhase>, Option<i32>) = (Some(TransferPhase::Pending), None);
const RUNNING: (Option<TransferPhase>, Option<i32>) = (Some(TransferPhase::Running), None);

#[test]
fn a_verified_snapshot_is_uploaded_by_the_agent_alone() {
    let begun = plan(&with(Some("b/shop"), &json!({})), now());
    assert_eq!((done(&begun), copy(&begun)), (Vec::new(), PENDING), "first it is recorded where");
    let mut pending = with(Some("b/shop"), &json!({ "phase": "Pending", "s3": store("b/shop") }));
    let planned = plan(&pending, now());
    assert_eq!((done(&planned), copy(&planned)), (vec!["create Job one-upload".to_owned()], RUNNING));
    let Some(Effect::Create(upload)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
    let pod = &upload.body["spec"]["template"]["spec"];
    let work = &pod["containers"][0];
    assert_eq!(work["image"], "agent:1");
    let argv: Vec<&str> = work["command"].as_array().unwrap().iter().skip(2).filter_map(Value::as_str).collect();
    assert_eq!(
        argv.join(" "),
        "--snapshot=/snapshots/one-one --sha256=ab --bucket=b/shop --bucket-endpoint=http://store:7070 --bucket-path-style \
         --bucket-credentials=/bucket/credentials --owner=u-1 --owner-name=n/shop --database=app --verified"
    );
    let volume = &work["volumeMounts"].as_array().unwrap().iter().find(|mount| mount["name"] == "snapshots").unwrap();
    assert_eq!(volume["readOnly"], true);
    assert!(upload.body["spec"]["template"]["metadata"]["labels"][crate::operand::pod::ISOLATED].is_null());

    pending.snapshot =
        snapshot("one", &json!({}), &json!({}), &ready(&json!({ "phase": "Running", "s3": store("b/shop") })));
    (pending.jobs, pending.pods) = complete(&json!({ "path": "b/shop/one-one" }));
    let stored = plan(&pending, now());
    assert_eq!((copy(&stored), events(&stored)), ((Some(TransferPhase::Stored), None), vec![(false, "Uploaded")]));
    assert_eq!(stored.status.unwrap().store.path.as_deref(), Some("b/shop/one-one"));

    // Its Job is deleted, and the copy stays where it is, whatever the SampleDB names for later snapshots.
    let known = json!({ "phase": "Stored", "path": "b/shop/one-one", "s3": store("b/shop") });
    for named in [Some("b/shop"), Some("b/other"), None] {
        let mut known = with(named, &known);
        known.jobs = vec![job("one-upload", &json!([{ "type": "Complete", "status": "True" }]))];
        assert_eq!(done(&plan(&known, now())), ["delete Job one-upload"]);
        known.jobs = Vec::new();
        let idle = plan(&known, now());
        assert_eq!((done(&idle), idle.status.as_ref()), (Vec::new(), Some(&known.snapshot.status)));
    }
}

#[test]
fn what_cannot_be_restored_is_not_uploaded() {
    let pending = json!({ "phase": "Pending", "s3": store("b/shop") });
    let change = |field: &str, value: &Value| {
        let mut status = ready(&pending);
        status[field] = value.clone();
        done(&plan(&with_status(Some("b/shop"), &status), now()))
    };
    let none = Vec::<String>::new();
    assert_eq!(change("phase", &json!("Failed")), none);
    assert_eq!(change("verification", &json!({ "phase": "Failed", "claimUID": "c-1" })), none);
    assert_eq!(change("verification", &json!({ "phase": "Skipped", "claimUID": "c-1" })), ["create Job one-upload"]);
    let mut absent = with(Some("b/shop"), &pending);
    absent.volume = Volume::Absent;
    assert_eq!(done(&plan(&absent, now())), none);
    assert_eq!(done(&plan(&with(None, &json!({})), now())), none);
    let forgotten = plan(&with(None, &pending), now());
    assert_eq!((done(&forgotten), copy(&forgotten)), (none, (None, None)), "the SampleDB names no store any more");
}

#[test]
fn an_upload_that_failed_is_tried_again_after_a_pause_and_at_once_in_another_store() {
    let running = json!({ "phase": "Running", "s3": store("b/shop"), "failures": 1, "message": "earlier" });
    let mut broken = with(Some("b/shop"), &running);
    broken.jobs = vec![failed("one-upload")];
    broken.pods = vec![pod("one-upload", 1, &json!({ "reason": "ConnectionFailed", "message": "refused" }))];
    let planned = plan(&broken, now());
    assert_eq!(done(&planned), ["delete Job one-upload"]);
    assert_eq!(
        (copy(&planned), events(&planned)),
        ((Some(TransferPhase::Failed), Some(2)), vec![(true, "UploadFailed")])
    );
    let status = planned.status.unwrap();
    assert_eq!(status.store.message.as_deref(), Some("refused"));
    assert_eq!(status.phase, Some(SnapshotPhase::Ready), "the volume has it");

    let failed_at =
        |at: &str| json!({ "phase": "Failed", "s3": store("b/shop"), "failures": 2, "at": at, "message": "refused" });
    assert_eq!(done(&plan(&with(Some("b/shop"), &failed_at("2027-01-15T07:59:30Z")), now())), Vec::<String>::new());
    let again = plan(&with(Some("b/shop"), &failed_at("2027-01-15T07:58:59Z")), now());
    assert_eq!((done(&again), copy(&again)), (vec!["create Job one-upload".to_owned()], (RUNNING.0, Some(2))));
    assert_eq!(again.status.unwrap().store.message.as_deref(), Some("refused"), "until an attempt succeeds");
    let mut corrected = with(Some("b/right"), &failed_at("2027-01-15T07:59:59Z"));
    corrected.jobs = vec![job("one-upload", &json!([]))];
    let moved = plan(&corrected, now());
    assert_eq!((done(&moved), copy(&moved)), (vec!["delete Job one-upload".to_owned()], PENDING));
}

#[test]
fn uploads_of_one_database_follow_one_another() {
    let of = |phase: &str| json!({ "phase": phase, "s3": store("b/shop") });
    let mut observed = with(Some("b/shop"), &of("Pending"));
    let other = |spec: &Value, status: &Value| snapshot("other", &json!({}), spec, status);
    let none = json!({});
    observed.siblings = vec![observed.snapshot.clone(), other(&none, &ready(&of("Running")))];
    let waiting = plan(&observed, now());
    let message = waiting.status.as_ref().unwrap().store.message.as_deref();
    assert_eq!((done(&waiting), message), (Vec::new(), Some("waiting until the snapshot other is uploaded")));

    // One that failed says why; one whose own Job was deleted does not wait for another one like it.
    let failure = json!({ "phase": "Failed", "s3": store("b/shop"), "failures": 1, "at": "2027-01-15T07:00:00Z", "message": "refused" });
    observed.snapshot = snapshot("one", &none, &none, &ready(&failure));
    let waiting = plan(&observed, now());
    assert_eq!(waiting.status.as_ref(), Some(&observed.snapshot.status));
    assert_eq!((done(&waiting), events(&waiting)), (Vec::new(), Vec::new()));
    observed.snapshot = snapshot("one", &none, &none, &ready(&of("Running")));
    assert_eq!(done(&plan(&observed, now())), ["create Job one-upload"]);

    // Nor does any wait for one that has failed, has lost its volume, or is imported.
    observed.snapshot = snapshot("one", &none, &none, &ready(&of("Pending")));
    let mut lost = ready(&of("Running"));
    lost["phase"] = json!("Failed");
    let mut unconfirmed = ready(&of("Running"));
    unconfirmed["verification"]["phase"] = json!("Pending");
    let imports = json!({ "fromStore": { "s3": { "path": "b/x", "awsSecret": "aws" } } });
    for (spec, status) in [
        (&none, &ready(&of("Failed"))),
        (&none, &lost),
        (&none, &unconfirmed),
        (&imports, &ready(&json!({ "phase": "Running" }))),
    ] {
        observed.siblings[1] = other(spec, status);
        assert_eq!(done(&plan(&observed, now())), ["create Job one-upload"], "{status}");
    }
}

#[test]
fn a_result_that_cannot_be_read_is_no_success() {
    let mut observed = with(Some("b/shop"), &json!({ "phase": "Running", "s3": store("b/shop") }));
    (observed.jobs, observed.pods) = complete(&json!("cut"));
    let planned = plan(&observed, now());
    assert_eq!(
        (done(&planned), copy(&planned)),
        (vec!["delete Job one-upload".to_owned()], (Some(TransferPhase::Failed), Some(1)))
    );
}

#[test]
fn the_last_snapshot_of_a_database_is_uploaded_once_that_is_deleted() {
    let mut observed = with(None, &json!({ "phase": "Pending", "s3": store("b/shop") }));
    observed.db = None;
    assert_eq!(done(&plan(&observed, now())), ["create Job one-upload"]);
    let mut starts = seen(&json!({}), &json!({}), &json!({}));
    starts.db = Some(database(&json!({}), &json!({ "backup": { "store": { "s3": store("b/shop") } } })));
    assert_eq!(copy(&plan(&starts, now())), PENDING, "recorded before the database can be deleted");
}

#[test]
fn the_copy_is_removed_with_the_files_even_without_their_volume() {
    let terminating = |spec: &Value, copy: &Value, volume: Volume| Observed {
        volume,
        ..seen(&json!({ "deletionTimestamp": "2027-01-15T07:30:00Z" }), spec, &ready(copy))
    };
    let stored = json!({ "phase": "Stored", "path": "b/shop/one-one", "s3": store("b/shop") });
    let prune = |spec: &Value, copy: &Value, volume: Volume| {
        let planned = plan(&terminating(spec, copy, volume), now());
        let Some(Effect::Create(prune)) = planned.effects.first() else { return None };
        let pod = &prune.body["spec"]["template"]["spec"];
        let claims =
            pod["volumes"].as_array().unwrap().iter().filter(|of| !of["persistentVolumeClaim"].is_null()).count();
        let isolated = !prune.body["spec"]["template"]["metadata"]["labels"][crate::operand::pod::ISOLATED].is_null();
        Some((pod["containers"][0]["command"].to_string().contains("--bucket=b/shop"), claims, isolated))
    };
    let none = json!({});
    assert_eq!(prune(&none, &stored, Volume::Unknown), Some((true, 1, false)));
    assert_eq!(prune(&none, &stored, Volume::Absent), Some((true, 0, false)));
    assert_eq!(
        prune(&none, &json!({ "phase": "Failed", "s3": store("b/shop") }), Volume::Unknown),
        Some((true, 1, false))
    );
    assert_eq!(
        prune(&none, &json!({ "phase": "Pending", "s3": store("b/shop") }), Volume::Unknown),
        Some((false, 1, true))
    );
    assert_eq!(prune(&json!({ "deletionPolicy": "Retain" }), &stored, Volume::Unknown), None);

    // Its status was lost, so that it is unknown whether there is a copy.
    let mut lost = terminating(&none, &none, Volume::Unknown);
    lost.db = with(Some("b/shop"), &none).db;
    let planned = plan(&lost, now());
    let Some(Effect::Create(prune)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
    assert!(prune.body.to_string().contains("--bucket=b/shop"));

    // A Job that waits for the volume is replaced by one without it.
    let mut gone = terminating(&none, &stored, Volume::Absent);
    gone.jobs = vec![job("one-prune", &json!([]))];
    assert_eq!(done(&plan(&gone, now())), ["delete Job one-prune"]);
    let label = json!({ "namespace": "n", "name": "one-prune", "uid": "j", "labels": { "multi-operator.example.com/without-volume": "true" } });
    gone.jobs = vec![Arc::new(Job::decode(&json!({ "metadata": label, "status": {} }).to_string()).unwrap())];
    assert_eq!(done(&plan(&gone, now())), Vec::<String>::new());
}

/// The object was created again around the volume of the earlier one: the prefix is its own.
#[test]
fn an_adopted_database_uploads_to_the_prefix_that_it_had() {
    let pending = json!({ "phase": "Pending", "s3": store("b/shop") });
    let mut observed = with(Some("b/shop"), &pending);
    let db = observed.db.as_ref().unwrap();
    let status = json!({ "storage": { "adoptedFrom": ["u-1"] } });
    let again =
        json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "u-2" }, "spec": db.spec, "status": status });
    observed.db = Some(Arc::new(SampleDB::decode(&again.to_string()).unwrap()));
    let planned = plan(&observed, now());
    let Some(Effect::Create(upload)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
    assert!(upload.body.to_string().contains(r#""--owner=u-2","--earlier-owner=u-1""#), "{}", upload.body);
}

#[test]
fn a_verification_does_not_wait_for_a_store_that_is_away() {
    let copy = json!({ "phase": "Failed", "s3": store("b/shop"), "failures": 2, "at": "2027-01-15T07:59:59Z", "message": "refused" });
    let asked = json!({ "annotations": { VERIFY: "now" } });
    let mut observed = with(Some("b/shop"), &copy);
    observed.snapshot = snapshot("one", &asked, &json!({}), &ready(&copy));
    assert_eq!(plan(&observed, now()).status.unwrap().verification.phase, Some(VerificationPhase::Running));
}

#[test]
fn a_pod_that_does_not_start_counts_as_a_failure() {
    let mut observed = with(Some("b/shop"), &json!({ "phase": "Running", "s3": store("b/shop") }));
    let created = |at: &str| {
        let job = json!({ "metadata": { "namespace": "n", "name": "one-upload", "uid": "j", "creationTimestamp": at }, "status": {} });
        vec![Arc::new(Job::decode(&job.to_string()).unwrap())]
    };
    let labels = json!({ "multi-operator.example.com/whole": "true", "batch.kubernetes.io/job-name": "one-upload" });
    let waiting =
        json!({ "name": "work", "state": { "waiting": { "reason": "ImagePullBackOff", "message": "no such image" } } });
    let pod = json!({ "metadata": { "namespace": "n", "name": "p", "uid": "p", "labels": labels },
        "status": { "phase": "Pending", "containerStatuses": [waiting] } });
    observed.pods = vec![Arc::new(Pod::decode(&pod.to_string()).unwrap())];
    observed.jobs = created("2027-01-15T07:55:00Z");
    let waits = plan(&observed, now());
    assert_eq!((done(&waits), copy(&waits)), (Vec::new(), RUNNING));
    assert!(waits.status.unwrap().store.message.unwrap().contains("no such image"));
    observed.jobs = created("2027-01-15T07:49:59Z");
    let stuck = plan(&observed, now());
    assert_eq!(
        (done(&stuck), copy(&stuck)),
        (vec!["delete Job one-upload".to_owned()], (Some(TransferPhase::Failed), Some(1)))
    );
}
