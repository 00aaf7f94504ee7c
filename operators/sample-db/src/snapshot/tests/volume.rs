//! Snapshots whose volume is deleted or replaced.

use super::*;
use crate::operand::snapshot_state::{awaits_location_check, has_failed, is_verified};

/// A snapshot that was verified on the PVC `c-1`.
fn ready() -> Value {
    json!({ "phase": "Ready", "sampleDBUID": "u-1", "startedAt": "2027-01-15T01:00:00Z", "sha256": "a",
        "completedAt": "2027-01-15T01:01:00Z", "verification": { "phase": "Passed", "claimUID": "c-1" },
        "location": { "claim": "shop-snapshots", "path": "one-one", "claimUID": "c-1" } })
}

/// A PVC with the operator's labels.
fn claim(uid: &str) -> Volume {
    Volume::Claim { uid: uid.into(), terminating: false, lost: false, watched: true, capacity: None }
}

fn on(volume: Volume, status: &Value) -> Observed {
    Observed { volume, ..seen(&json!({}), &json!({}), status) }
}

fn decided(seen: &Observed) -> SampleDBSnapshotStatus {
    plan(seen, now()).status.unwrap()
}

fn value(status: &SampleDBSnapshotStatus) -> Value {
    serde_json::to_value(status).unwrap()
}

/// The status after the verification of `status` on that PVC.
fn verified_on(status: &SampleDBSnapshotStatus, uid: &str, reason: Option<&str>) -> SampleDBSnapshotStatus {
    let mut ended = on(claim(uid), &value(status));
    assert_eq!(done(&plan(&ended, now())), ["create Job one-verify"]);
    let conditions = json!([{ "type": if reason.is_some() { "Failed" } else { "Complete" }, "status": "True" }]);
    ended.jobs = vec![job("one-verify", &conditions)];
    let message = json!({ "reason": reason, "message": "because" });
    ended.pods = vec![pod("one-verify", i32::from(reason.is_some()), &message)];
    decided(&ended)
}

#[test]
fn the_uid_of_the_pvc_is_recorded_when_it_is_first_observed() {
    let mut taken = running();
    taken["location"] = json!({ "claim": "shop-snapshots", "path": "one-one" });
    let started = decided(&on(claim("c-1"), &taken));
    assert_eq!(started.location.claim_uid.as_deref(), Some("c-1"));
    let mut old = ready();
    old["location"]["claimUID"] = Value::Null;
    old["verification"] = json!({ "phase": "Passed" });
    let known = decided(&on(claim("c-2"), &old));
    assert_eq!(known.location.claim_uid.as_deref(), Some("c-2"));
    assert!(is_verified(&known), "one of an earlier version is not looked for");
}

#[test]
fn a_backup_onto_a_terminating_pvc_is_given_up() {
    let mut taking = ready();
    taking["phase"] = json!("Running");
    taking["completedAt"] = Value::Null;
    let terminating =
        || Volume::Claim { uid: "c-1".into(), terminating: true, lost: false, watched: true, capacity: None };
    for jobs in [vec![], vec![job("one-backup", &json!([]))]] {
        let given_up = decided(&Observed { jobs, ..on(terminating(), &taking) });
        assert_eq!((given_up.phase, super::ready(&given_up).0), (Some(SnapshotPhase::Failed), "BackupFailed"));
    }
    let stays = Observed { jobs: vec![job("one-backup", &json!([]))], ..on(claim("c-1"), &taking) };
    assert_eq!(decided(&stays).phase, Some(SnapshotPhase::Running));
    let last = seen(&json!({}), &json!({ "reason": "Final" }), &taking);
    let last = Observed { volume: terminating(), jobs: vec![job("one-backup", &json!([]))], ..last };
    assert_eq!(
        decided(&last).phase,
        Some(SnapshotPhase::Running),
        "the deletion that waits for it reports that itself"
    );
}

#[test]
fn on_another_pvc_it_is_verified_again_and_once() {
    let started = decided(&on(claim("c-2"), &ready()));
    assert_eq!(started.verification.phase, Some(VerificationPhase::Running));
    assert!(awaits_location_check(&started) && !has_failed(&started), "it is not declared lost");
    let found = verified_on(&started, "c-2", None);
    assert!(is_verified(&found));
    assert_eq!(found.location.claim_uid.as_deref(), Some("c-2"));

    let lost = verified_on(&started, "c-2", Some("SnapshotMissing"));
    assert_eq!((lost.phase, super::ready(&lost).0), (Some(SnapshotPhase::Failed), "FilesMissing"));
    assert!(lost.contract.is_true("Stalled") && has_failed(&lost));
    let message = super::ready(&lost).1;
    assert!(message.contains("one-one is not on the volume of the PVC shop-snapshots"), "{message}");
    let rests = plan(&on(claim("c-2"), &value(&lost)), now());
    assert!(done(&rests).is_empty() && rests.status.unwrap() == lost, "once for each uid");
    // The contents of another PVC are verified again.
    assert!(awaits_location_check(&decided(&on(claim("c-3"), &value(&lost)))));
    // A verification that could not be carried out shows nothing about files that have yet to be confirmed, and is not retried in
    // a loop.
    for known in [Some("c-1"), None] {
        let mut started = started.clone();
        started.location.claim_uid = known.map(str::to_owned);
        let unsure = verified_on(&started, "c-2", Some("NoSpace"));
        assert_eq!((unsure.phase, super::ready(&unsure).0), (Some(SnapshotPhase::Failed), "VerificationFailed"));
        assert_eq!(unsure.location.claim_uid.as_deref(), known);
        assert!(super::ready(&unsure).1.contains(api::sample_db_snapshot::VERIFY));
        let rests = plan(&on(claim("c-2"), &value(&unsure)), now());
        assert!(has_failed(&unsure) && done(&rests).is_empty() && rests.status.unwrap() == unsure);
    }
    let mut known = started.clone();
    known.location.claim_uid = Some("c-2".to_owned());
    let unsure = verified_on(&known, "c-2", Some("NoSpace"));
    assert_eq!(unsure.phase, Some(SnapshotPhase::Ready), "it says nothing against files that are known to be there");
    // Files that fail a check exist.
    let unlike = verified_on(&started, "c-2", Some("CheckFailed"));
    assert_eq!((unlike.phase, unlike.location.claim_uid.as_deref()), (Some(SnapshotPhase::Ready), Some("c-2")));
}

#[test]
fn without_its_pvc_it_is_failed_and_recovers() {
    let unusable =
        |terminating, lost| Volume::Claim { uid: "c-1".into(), terminating, lost, watched: true, capacity: None };
    for (volume, reason) in [
        (Volume::Absent, "VolumeMissing"),
        (unusable(true, false), "ClaimTerminating"),
        (unusable(false, true), "VolumeLost"),
    ] {
        let missing = plan(&on(volume.clone(), &ready()), now());
        assert!(done(&missing).is_empty() && missing.events_after_status.is_empty(), "the conditions announce it");
        let status = missing.status.unwrap();
        assert_eq!(&*status.contract.condition("Stalled").unwrap().reason, reason);
        assert_eq!((super::ready(&status).0, status.phase), (reason, Some(SnapshotPhase::Failed)));
        assert!(has_failed(&status) && awaits_location_check(&status));
        let later = now() + jiff::SignedDuration::from_hours(1);
        let again = plan(&on(volume, &value(&status)), later);
        assert!(done(&again).is_empty(), "no pod could do anything");
        assert_eq!(again.status.unwrap().verification, status.verification, "it is recorded once");
        // The PVC is restored, under any UID.
        for uid in ["c-1", "c-2"] {
            let started = decided(&on(claim(uid), &value(&status)));
            assert!(is_verified(&verified_on(&started, uid, None)), "{uid}");
        }
    }
    let unknown = plan(&on(Volume::Unknown, &ready()), now());
    assert!(done(&unknown).is_empty() && is_verified(&unknown.status.unwrap()), "an unreadable PVC is not absent");
}

#[test]
fn none_expires_while_its_volume_is_missing() {
    let spec = json!({ "reason": "PreUpgrade", "retainUntil": "2027-01-15T07:59:00Z" });
    let at = |volume| Observed { volume, ..seen(&json!({}), &spec, &ready()) };
    assert_eq!(decided(&at(claim("c-1"))).phase, Some(SnapshotPhase::Expired));
    assert_eq!(decided(&at(Volume::Absent)).phase, Some(SnapshotPhase::Failed));
    assert!(awaits_location_check(&decided(&at(claim("c-2")))));
}

#[test]
fn those_of_one_volume_are_verified_one_after_the_other() {
    let mut other = ready();
    other["verification"] = json!({ "phase": "Running" });
    let mut waits = on(claim("c-2"), &ready());
    waits.siblings = vec![snapshot("two", &json!({}), &json!({}), &other), waits.snapshot.clone()];
    let waiting = decided(&waits);
    assert_eq!(
        (waiting.phase, waiting.verification.phase),
        (Some(SnapshotPhase::Ready), Some(VerificationPhase::Pending))
    );
    assert!(awaits_location_check(&waiting) && !is_verified(&waiting));
    assert_eq!(decided(&Observed { siblings: waits.siblings.clone(), ..on(claim("c-2"), &value(&waiting)) }), waiting);
    let next_one = decided(&on(claim("c-2"), &value(&waiting)));
    assert_eq!(next_one.verification.phase, Some(VerificationPhase::Running));
}

/// Files whose verification is disabled are confirmed by their checksums, and not restored.
#[test]
fn files_without_verification_are_confirmed_by_checksums() {
    let mut seen = on(claim("c-2"), &value(&decided(&on(claim("c-2"), &ready()))));
    seen.db = Some(database(&json!({}), &json!({ "backup": { "verify": { "mode": "None" } } })));
    let planned = plan(&seen, now());
    let Some(Effect::Create(job)) = planned.effects.last() else { panic!("{:?}", planned.effects) };
    assert!(job.body["spec"].to_string().contains("--mode=checksum"));
}

/// No watch reports a PVC: it is checked from time to time, and a user's PVC, which takes a request, less often.
#[test]
fn its_pvc_is_checked_once_a_minute_at_most() {
    let users = Volume::Claim { uid: "c-1".into(), terminating: false, lost: false, watched: false, capacity: None };
    for (volume, seconds) in [(claim("c-1"), 60), (users, 300), (Volume::Absent, 60)] {
        let next = plan(&on(volume, &ready()), now()).next;
        assert_eq!(next, runtime::plan::Requeue::After(std::time::Duration::from_secs(seconds)));
    }
}

/// The completed pod of a backup keeps a PVC from being deleted, and the pod of its verification cannot use it.
#[test]
fn nothing_is_verified_on_a_terminating_pvc() {
    let mut taken = ready();
    (taken["phase"], taken["verification"]) = (json!("Running"), json!({ "phase": "Running" }));
    let terminating =
        Volume::Claim { uid: "c-1".into(), terminating: true, lost: false, watched: true, capacity: None };
    let mut seen = on(terminating, &taken);
    seen.jobs = vec![job("one-backup", &json!([{ "type": "Complete", "status": "True" }]))];
    assert_eq!(done(&plan(&seen, now())), ["delete Job one-backup"]);
    seen.jobs = Vec::new();
    let waiting = plan(&seen, now());
    assert_eq!((done(&waiting), super::ready(&waiting.status.unwrap()).0), (vec![], "ClaimTerminating"));
}

#[test]
fn the_usage_of_the_volume_is_recorded_as_the_jobs_report_it() {
    let on_claim = |status: &Value, name: &str, message: &Value| {
        let volume = Volume::Claim {
            uid: "c-1".into(),
            terminating: false,
            lost: false,
            watched: true,
            capacity: Some(1 << 30),
        };
        let mut seen = on(volume, status);
        seen.jobs = vec![job(name, &json!([{ "type": "Complete", "status": "True" }]))];
        seen.pods = vec![pod(name, 0, message)];
        decided(&seen)
    };
    let mut taking = ready();
    taking["phase"] = json!("Running");
    taking["completedAt"] = Value::Null;
    let message = json!({ "usedBytes": 7, "freeBytes": 3, "inodes": 100, "freeInodes": 40 });
    let taken = on_claim(&taking, "one-backup", &message);
    let waiting = value(&taken)["volume"].clone();
    let expected = json!({ "at": "2027-01-15T08:00:00Z", "usedBytes": 7, "freeBytes": 3, "inodesUsedPercent": 60,
        "capacityBytes": 1 << 30 });
    assert_eq!(waiting, expected);
    let verified = on_claim(
        &value(&taken),
        "one-verify",
        &json!({ "usedBytes": 8, "freeBytes": 2, "inodes": 0, "freeInodes": 0 }),
    );
    let measured = verified.volume.clone().unwrap();
    assert_eq!((measured.used_bytes, measured.inodes_used_percent), (8, None));
    let by_earlier_agent = on_claim(&value(&taken), "one-verify", &json!({}));
    assert_eq!(value(&by_earlier_agent)["volume"], expected, "one of before the upgrade does not measure");
}
