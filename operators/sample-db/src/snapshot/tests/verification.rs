//! The verification of snapshots.

use super::*;

/// A snapshot that was taken so many hours after midnight, with that result of its verification.
fn taken(hour: u8, verification: &str) -> Value {
    json!({ "phase": "Ready", "sampleDBUID": "u-1", "startedAt": format!("2027-01-15T0{hour}:00:00Z"),
        "completedAt": format!("2027-01-15T0{hour}:01:00Z"), "sha256": "a", "verification": { "phase": verification } })
}

fn checked(spec: &Value) -> Option<Arc<SampleDB>> {
    Some(database(&json!({}), &json!({ "backup": { "verify": spec } })))
}

#[test]
fn it_is_verified_again_once_for_each_request() {
    let request = |value: &str| json!({ "annotations": { VERIFY: value } });
    let mut old = seen(&request("now"), &json!({}), &taken(1, "Passed"));
    old.jobs = vec![job("one-verify", &json!([{ "type": "Complete", "status": "True" }]))];
    assert_eq!(done(&plan(&old, now())), ["delete Job one-verify"], "an old answer is none");
    old.jobs = Vec::new();
    let started = plan(&old, now()).status.unwrap();
    assert_eq!(started.verification.phase, Some(VerificationPhase::Running));
    assert_eq!(started.phase, Some(SnapshotPhase::Ready), "it is what it was until that ends");
    let mut again = seen(&request("now"), &json!({}), &serde_json::to_value(&started).unwrap());
    assert_eq!(done(&plan(&again, now())), ["create Job one-verify"]);
    again.jobs = vec![job("one-verify", &json!([{ "type": "Complete", "status": "True" }]))];
    again.pods = vec![pod("one-verify", 0, &json!({ "tables": 2, "rows": 3 }))];
    let verified = plan(&again, now());
    assert_eq!(events(&verified).last(), Some(&(false, "BackupVerified")));
    let settled = seen(&request("now"), &json!({}), &serde_json::to_value(verified.status.unwrap()).unwrap());
    let rests = plan(&settled, now());
    assert!(rests.effects.is_empty() && rests.status.unwrap() == settled.snapshot.status);
    let untaken = seen(&request("now"), &json!({}), &json!({ "phase": "Failed", "sampleDBUID": "u-1" }));
    assert_eq!(plan(&untaken, now()).status.unwrap(), untaken.snapshot.status, "there is nothing to verify");
}

#[test]
fn damage_is_distinguished_from_a_verification_that_could_not_run() {
    let mut status = running();
    status["completedAt"] = json!("2027-01-15T07:00:00Z");
    status["verification"] = json!({ "phase": "Running" });
    for (reason, phase, text) in [
        ("ChecksumMismatch", SnapshotPhase::Failed, "verification failed"),
        ("CheckFailed", SnapshotPhase::Ready, "verification failed"),
        ("NoSpace", SnapshotPhase::Ready, "could not be verified"),
    ] {
        let mut ended = seen(&json!({}), &json!({}), &status);
        ended.jobs = vec![failed("one-verify")];
        ended.pods = vec![pod("one-verify", 1, &json!({ "reason": reason, "message": "because" }))];
        let status_after = plan(&ended, now()).status.unwrap();
        assert_eq!(
            (status_after.phase, status_after.verification.phase),
            (Some(phase), Some(VerificationPhase::Failed)),
            "{reason}"
        );
        assert!(
            ready(&status_after).1.contains(text) && ready(&status_after).1.contains("because"),
            "{:?}",
            ready(&status_after)
        );
        assert_eq!(status_after.contract.condition("Stalled").unwrap().status, ConditionStatus::True);
        assert!(
            crate::operand::snapshot_state::has_failed(&status_after)
                && !crate::operand::snapshot_state::is_verified(&status_after)
        );
    }
}

#[test]
fn the_first_and_every_nth_scheduled_one_is_verified() {
    let skipped = |before: &[Value], reason: &str| {
        let mut now_taken = seen(&json!({}), &json!({ "reason": reason }), &running());
        now_taken.db = checked(&json!({ "everyNth": 3 }));
        let of = |(index, status): (usize, &Value)| {
            snapshot(&format!("old-{index}"), &json!({}), &json!({ "reason": "Scheduled" }), status)
        };
        now_taken.siblings = before.iter().enumerate().map(of).collect();
        now_taken.jobs = vec![job("one-backup", &json!([{ "type": "Complete", "status": "True" }]))];
        now_taken.pods = vec![pod("one-backup", 0, &json!({}))];
        plan(&now_taken, now()).status.unwrap().verification.phase == Some(VerificationPhase::Skipped)
    };
    assert!(!skipped(&[], "Scheduled"));
    assert!(skipped(&[taken(1, "Passed")], "Scheduled"));
    assert!(skipped(&[taken(1, "Passed"), taken(2, "Skipped")], "Scheduled"));
    assert!(!skipped(&[taken(1, "Passed"), taken(2, "Skipped"), taken(3, "Skipped")], "Scheduled"));
    assert!(!skipped(&[taken(1, "Passed")], "Manual"));
}

/// The data is deleted next, whatever the spec says about other snapshots.
#[test]
fn a_final_one_is_always_verified_by_restoring_it() {
    for mode in ["None", "Checksum", "Restore"] {
        let mut last = seen(&json!({}), &json!({ "reason": "Final" }), &running());
        last.db = checked(&json!({ "mode": mode, "everyNth": 5 }));
        last.jobs = vec![job("one-backup", &json!([{ "type": "Complete", "status": "True" }]))];
        last.pods = vec![pod("one-backup", 0, &json!({}))];
        let taken = plan(&last, now()).status.unwrap();
        assert_eq!(taken.verification.phase, Some(VerificationPhase::Running), "{mode}");
        let running = Observed {
            db: last.db,
            ..seen(&json!({}), &json!({ "reason": "Final" }), &serde_json::to_value(taken).unwrap())
        };
        let planned = plan(&running, now());
        let Some(Effect::Create(job)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
        assert!(job.body["spec"].to_string().contains("--mode=restore"), "{mode}");
    }
}

#[test]
fn the_job_has_the_checks_of_its_own_database() {
    let mut status = running();
    status["completedAt"] = json!("2027-01-15T07:00:00Z");
    let mut asked = seen(&json!({}), &json!({}), &status);
    asked.db = checked(&json!({ "checks": [{ "sql": "select 1", "expect": "1" }] }));
    let planned = plan(&asked, now());
    let Some(Effect::Create(job)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
    let template = &job.body["spec"]["template"];
    let checks = template["metadata"]["annotations"]["multi-operator.example.com/checks"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(checks).unwrap(), json!([{ "sql": "select 1", "expect": "1" }]));
    assert!(template["spec"].to_string().contains("--checks=/checks/checks.json"));
    asked.snapshot = snapshot("one", &json!({}), &json!({}), &{
        let mut of_another = status.clone();
        of_another["sampleDBUID"] = json!("u-0");
        of_another
    });
    let planned = plan(&asked, now());
    let Some(Effect::Create(job)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
    assert!(!job.body["spec"].to_string().contains("--checks"));
}

/// A backup tool has restored the database under another UID: its snapshots are verified again, by its spec.
#[test]
fn the_adopter_of_the_volumes_says_how_earlier_snapshots_are_verified() {
    let planned = |adopted_from: &Value| {
        let mut status = taken(1, "Running");
        status["sampleDBUID"] = json!("u-0");
        let mut old = seen(&json!({}), &json!({}), &status);
        let spec = json!({ "tolerations": [{ "key": "databases", "operator": "Exists" }],
            "backup": { "deadlineSeconds": 7200, "verify": { "checks": [{ "sql": "select 1", "expect": "1" }] } } });
        let mut db = (*database(&json!({}), &spec)).clone();
        db.status.storage.adopted_from = serde_json::from_value(adopted_from.clone()).unwrap();
        old.db = Some(Arc::new(db));
        let planned = plan(&old, now());
        let Some(Effect::Create(job)) = planned.effects.first() else { panic!("{:?}", planned.effects) };
        let spec = job.body["spec"].clone();
        let checks = spec["template"]["spec"].to_string().contains("--checks=");
        (spec["template"]["spec"]["tolerations"][0]["key"].clone(), spec["activeDeadlineSeconds"].clone(), checks)
    };
    assert_eq!(planned(&json!(["u-0"])), (json!("databases"), json!(7200), true));
    assert_eq!(
        planned(&json!([])),
        (Value::Null, json!(3600), false),
        "one of the same name that was made later is another"
    );
}

/// A snapshot that has yet to be taken of a database is not taken of the one that adopted its volumes: its server may use them.
#[test]
fn an_earlier_final_snapshot_is_not_taken_of_the_adopter_of_the_volumes() {
    let mut status = running();
    status["sampleDBUID"] = json!("u-0");
    let mut last = seen(&json!({}), &json!({ "reason": "Final" }), &status);
    let mut db = (*database(&json!({}), &json!({}))).clone();
    db.status.storage.adopted_from = vec!["u-0".to_owned()];
    last.db = Some(Arc::new(db));
    assert_eq!(done(&plan(&last, now())), Vec::<String>::new());
}

/// Code of a user runs there: it cannot destroy snapshots, has no token, and reaches no other pod where policies are enforced.
#[test]
fn a_verification_can_neither_write_to_snapshots_nor_reach_other_pods() {
    let observed = seen(&json!({}), &json!({}), &taken(1, "Running"));
    let body = super::super::jobs::verify(&observed, api::sample_db::VerifyMode::Restore, None, 60).body;
    let pod = &body["spec"]["template"];
    assert_eq!(pod["metadata"]["labels"][crate::operand::pod::ISOLATED], "true");
    assert_eq!(pod["spec"]["automountServiceAccountToken"], false);
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert!(container["envFrom"].is_null(), "no password of a database's");
    let mounts = container["volumeMounts"].as_array().unwrap();
    let snapshots: Vec<_> = mounts.iter().filter(|mount| mount["name"] == "snapshots").collect();
    assert_eq!(snapshots.len(), 1);
    assert_eq!(snapshots[0]["readOnly"], true);
    // Its writable volumes live as long as the pod, and are limited.
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let scratch = volumes.iter().find(|volume| volume["name"] == "scratch").unwrap();
    assert_eq!(scratch["emptyDir"]["sizeLimit"], (4_u64 << 30).to_string(), "of a database of 1Gi");
    for mount in mounts.iter().filter(|mount| mount["readOnly"] != true) {
        let of = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
        assert!(!of["emptyDir"].is_null() || !of["downwardAPI"].is_null(), "{mount}");
    }
}
