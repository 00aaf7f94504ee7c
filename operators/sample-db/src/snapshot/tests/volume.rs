//! What becomes of snapshots whose volume goes, or is another one.

use super::*;
use crate::operand::snapshot_state::{is_bad, is_looked_for, is_proved};

/// One that was verified on the claim `c-1`.
fn ready() -> Value {
    json!({ "phase": "Ready", "sampleDBUID": "u-1", "startedAt": "2027-01-15T01:00:00Z", "sha256": "a",
        "completedAt": "2027-01-15T01:01:00Z", "verification": { "phase": "Passed", "claimUID": "c-1" },
        "location": { "claim": "shop-snapshots", "path": "one-one", "claimUID": "c-1" } })
}

/// A claim of ours that is there.
fn claim(uid: &str) -> Volume {
    Volume::Claim { uid: uid.into(), leaving: false, lost: false, watched: true, capacity: None }
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

/// What the verification of `status` on that claim comes to.
fn judged(status: &SampleDBSnapshotStatus, uid: &str, reason: Option<&str>) -> SampleDBSnapshotStatus {
    let mut ended = on(claim(uid), &value(status));
    assert_eq!(done(&plan(&ended, now())), ["create Job one-verify"]);
    let conditions = json!([{ "type": if reason.is_some() { "Failed" } else { "Complete" }, "status": "True" }]);
    ended.jobs = vec![job("one-verify", &conditions)];
    let said = json!({ "reason": reason, "message": "because" });
    ended.pods = vec![pod("one-verify", i32::from(reason.is_some()), &said)];
    decided(&ended)
}

#[test]
fn the_claim_is_noted_when_it_is_taken_and_when_it_is_first_seen() {
    let mut taken = running();
    taken["location"] = json!({ "claim": "shop-snapshots", "path": "one-one" });
    let begun = decided(&on(claim("c-1"), &taken));
    assert_eq!(begun.location.claim_uid.as_deref(), Some("c-1"));
    let mut old = ready();
    old["location"]["claimUID"] = Value::Null;
    old["verification"] = json!({ "phase": "Passed" });
    let known = decided(&on(claim("c-2"), &old));
    assert_eq!(known.location.claim_uid.as_deref(), Some("c-2"));
    assert!(is_proved(&known), "one of an earlier version is not looked for");
}

#[test]
fn a_backup_onto_a_claim_that_is_being_deleted_is_given_up() {
    let mut taking = ready();
    taking["phase"] = json!("Running");
    taking["completedAt"] = Value::Null;
    let going = || Volume::Claim { uid: "c-1".into(), leaving: true, lost: false, watched: true, capacity: None };
    for jobs in [vec![], vec![job("one-backup", &json!([]))]] {
        let given_up = decided(&Observed { jobs, ..on(going(), &taking) });
        assert_eq!((given_up.phase, super::ready(&given_up).0), (Some(SnapshotPhase::Failed), "BackupFailed"));
    }
    let stays = Observed { jobs: vec![job("one-backup", &json!([]))], ..on(claim("c-1"), &taking) };
    assert_eq!(decided(&stays).phase, Some(SnapshotPhase::Running));
    let last = seen(&json!({}), &json!({ "reason": "Final" }), &taking);
    let last = Observed { volume: going(), jobs: vec![job("one-backup", &json!([]))], ..last };
    assert_eq!(decided(&last).phase, Some(SnapshotPhase::Running), "what a deletion waits for says so itself");
}

#[test]
fn on_another_claim_it_is_verified_again_and_once() {
    let begun = decided(&on(claim("c-2"), &ready()));
    assert_eq!(begun.verification.phase, Some(VerificationPhase::Running));
    assert!(is_looked_for(&begun) && !is_bad(&begun), "it is not declared lost");
    let found = judged(&begun, "c-2", None);
    assert!(is_proved(&found));
    assert_eq!(found.location.claim_uid.as_deref(), Some("c-2"));

    let lost = judged(&begun, "c-2", Some("SnapshotMissing"));
    assert_eq!((lost.phase, super::ready(&lost).0), (Some(SnapshotPhase::Failed), "FilesMissing"));
    assert!(lost.contract.is_true("Stalled") && is_bad(&lost));
    let message = super::ready(&lost).1;
    assert!(message.contains("one-one is not on the volume of the PVC shop-snapshots"), "{message}");
    let rests = plan(&on(claim("c-2"), &value(&lost)), now());
    assert!(done(&rests).is_empty() && rests.status.unwrap() == lost, "once for each uid");
    // What another one holds is looked at again.
    assert!(is_looked_for(&decided(&on(claim("c-3"), &value(&lost)))));
    // What could not be carried out tells nothing of files that are yet to be seen, and is not tried in a loop either.
    for known in [Some("c-1"), None] {
        let mut begun = begun.clone();
        begun.location.claim_uid = known.map(str::to_owned);
        let unsure = judged(&begun, "c-2", Some("NoSpace"));
        assert_eq!((unsure.phase, super::ready(&unsure).0), (Some(SnapshotPhase::Failed), "VerificationFailed"));
        assert_eq!(unsure.location.claim_uid.as_deref(), known);
        assert!(super::ready(&unsure).1.contains(api::sample_db_snapshot::VERIFY));
        let rests = plan(&on(claim("c-2"), &value(&unsure)), now());
        assert!(is_bad(&unsure) && done(&rests).is_empty() && rests.status.unwrap() == unsure);
    }
    let mut known = begun.clone();
    known.location.claim_uid = Some("c-2".to_owned());
    let unsure = judged(&known, "c-2", Some("NoSpace"));
    assert_eq!(unsure.phase, Some(SnapshotPhase::Ready), "it says nothing against files that are known to be there");
    // What fails a check is there.
    let unlike = judged(&begun, "c-2", Some("CheckFailed"));
    assert_eq!((unlike.phase, unlike.location.claim_uid.as_deref()), (Some(SnapshotPhase::Ready), Some("c-2")));
}

#[test]
fn without_its_claim_it_is_of_no_use_and_not_given_up() {
    let gone = |leaving, lost| Volume::Claim { uid: "c-1".into(), leaving, lost, watched: true, capacity: None };
    for (volume, reason) in
        [(Volume::Absent, "VolumeMissing"), (gone(true, false), "ClaimTerminating"), (gone(false, true), "VolumeLost")]
    {
        let away = plan(&on(volume.clone(), &ready()), now());
        assert!(done(&away).is_empty() && away.events.is_empty(), "the conditions tell");
        let status = away.status.unwrap();
        assert_eq!(&*status.contract.condition("Stalled").unwrap().reason, reason);
        assert_eq!((super::ready(&status).0, status.phase), (reason, Some(SnapshotPhase::Failed)));
        assert!(is_bad(&status) && is_looked_for(&status));
        let later = now() + jiff::SignedDuration::from_hours(1);
        let again = plan(&on(volume, &value(&status)), later);
        assert!(done(&again).is_empty(), "no pod could do anything");
        assert_eq!(again.status.unwrap().verification, status.verification, "it is told once");
        // It comes back, under whichever uid.
        for uid in ["c-1", "c-2"] {
            let begun = decided(&on(claim(uid), &value(&status)));
            assert!(is_proved(&judged(&begun, uid, None)), "{uid}");
        }
    }
    let unknown = plan(&on(Volume::Unknown, &ready()), now());
    assert!(done(&unknown).is_empty() && is_proved(&unknown.status.unwrap()), "what cannot be read is not gone");
}

#[test]
fn none_expires_while_its_volume_is_away() {
    let spec = json!({ "reason": "PreUpgrade", "retainUntil": "2027-01-15T07:59:00Z" });
    let at = |volume| Observed { volume, ..seen(&json!({}), &spec, &ready()) };
    assert_eq!(decided(&at(claim("c-1"))).phase, Some(SnapshotPhase::Expired));
    assert_eq!(decided(&at(Volume::Absent)).phase, Some(SnapshotPhase::Failed));
    assert!(is_looked_for(&decided(&at(claim("c-2")))));
}

#[test]
fn those_of_one_volume_are_verified_one_after_the_other() {
    let mut other = ready();
    other["verification"] = json!({ "phase": "Running" });
    let mut waits = on(claim("c-2"), &ready());
    waits.siblings = vec![snapshot("two", &json!({}), &json!({}), &other), waits.snapshot.clone()];
    let told = decided(&waits);
    assert_eq!((told.phase, told.verification.phase), (Some(SnapshotPhase::Ready), Some(VerificationPhase::Pending)));
    assert!(is_looked_for(&told) && !is_proved(&told));
    assert_eq!(decided(&Observed { siblings: waits.siblings.clone(), ..on(claim("c-2"), &value(&told)) }), told);
    let turn = decided(&on(claim("c-2"), &value(&told)));
    assert_eq!(turn.verification.phase, Some(VerificationPhase::Running));
}

/// Files that nobody wanted verified are looked for, and not loaded.
#[test]
fn what_is_not_to_be_verified_is_looked_for_by_its_sums() {
    let mut seen = on(claim("c-2"), &value(&decided(&on(claim("c-2"), &ready()))));
    seen.db = Some(database(&json!({}), &json!({ "backup": { "verify": { "mode": "None" } } })));
    let made = plan(&seen, now());
    let Some(Effect::Create(job)) = made.effects.last() else { panic!("{:?}", made.effects) };
    assert!(job.body["spec"].to_string().contains("--mode=checksum"));
}

/// No watch tells of a claim: it is looked at now and then, and that of a user, which takes a request, seldom.
#[test]
fn its_claim_is_looked_at_a_few_times_a_minute_at_most() {
    let users = Volume::Claim { uid: "c-1".into(), leaving: false, lost: false, watched: false, capacity: None };
    for (volume, seconds) in [(claim("c-1"), 60), (users, 300), (Volume::Absent, 60)] {
        let next = plan(&on(volume, &ready()), now()).next;
        assert_eq!(next, runtime::plan::Requeue::After(std::time::Duration::from_secs(seconds)));
    }
}

/// The pod of a backup that has ended keeps a claim from going, and that of its verification can use it no more.
#[test]
fn nothing_is_verified_on_a_claim_that_is_being_deleted() {
    let mut taken = ready();
    (taken["phase"], taken["verification"]) = (json!("Running"), json!({ "phase": "Running" }));
    let leaving = Volume::Claim { uid: "c-1".into(), leaving: true, lost: false, watched: true, capacity: None };
    let mut seen = on(leaving, &taken);
    seen.jobs = vec![job("one-backup", &json!([{ "type": "Complete", "status": "True" }]))];
    assert_eq!(done(&plan(&seen, now())), ["delete Job one-backup"]);
    seen.jobs = Vec::new();
    let told = plan(&seen, now());
    assert_eq!((done(&told), super::ready(&told.status.unwrap()).0), (vec![], "ClaimTerminating"));
}

#[test]
fn how_full_the_volume_is_is_kept_as_the_jobs_report_it() {
    let on_claim = |status: &Value, name: &str, said: &Value| {
        let volume =
            Volume::Claim { uid: "c-1".into(), leaving: false, lost: false, watched: true, capacity: Some(1 << 30) };
        let mut seen = on(volume, status);
        seen.jobs = vec![job(name, &json!([{ "type": "Complete", "status": "True" }]))];
        seen.pods = vec![pod(name, 0, said)];
        decided(&seen)
    };
    let mut taking = ready();
    taking["phase"] = json!("Running");
    taking["completedAt"] = Value::Null;
    let said = json!({ "usedBytes": 7, "freeBytes": 3, "inodes": 100, "freeInodes": 40 });
    let taken = on_claim(&taking, "one-backup", &said);
    let told = value(&taken)["volume"].clone();
    let whole = json!({ "at": "2027-01-15T08:00:00Z", "usedBytes": 7, "freeBytes": 3, "inodesUsedPercent": 60,
        "capacityBytes": 1 << 30 });
    assert_eq!(told, whole);
    let verified = on_claim(
        &value(&taken),
        "one-verify",
        &json!({ "usedBytes": 8, "freeBytes": 2, "inodes": 0, "freeInodes": 0 }),
    );
    let measured = verified.volume.clone().unwrap();
    assert_eq!((measured.used_bytes, measured.inodes_used_percent), (8, None));
    let by_earlier_agent = on_claim(&value(&taken), "one-verify", &json!({}));
    assert_eq!(value(&by_earlier_agent)["volume"], whole, "one of before the upgrade does not measure");
}
