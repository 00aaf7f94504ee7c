//! Which snapshots are taken, and which are let go.

use super::*;
use crate::database::backup::{self, Backups};

pub(super) fn serving(spec: &Value, backup: &Value) -> Observed {
    let mut status = initialised();
    status["backup"] = backup.clone();
    observed(spec, &status)
}

fn decided(seen: &Observed) -> Vec<String> {
    let backups = backup::decide(seen, now());
    let effects = backups.effect.into_iter().collect();
    done(&Plan { effects, ..Plan::nothing() })
}

/// One of the schedule's, so many days old.
fn old(days: i64, phase: &str, verification: &str) -> Arc<Snapshot> {
    let at = now() - jiff::SignedDuration::from_hours(24 * days);
    let status = json!({ "phase": phase, "startedAt": at, "completedAt": at, "sampleDBUID": "u-1",
        "verification": { "phase": verification } });
    snapshot(&format!("shop-{days}"), "Scheduled", &status)
}

/// Whether backups are verified, and what is said of that.
fn verified(seen: &Observed) -> (ConditionStatus, String) {
    let conditions = backup::health::conditions(seen, &Backups::default(), now());
    let verified = conditions.into_iter().find(|of| of.type_ == "BackupVerified").unwrap();
    (verified.status, verified.message)
}

#[test]
fn the_first_comes_at_once_and_then_by_the_schedule() {
    // The moment is 2027-01-15 08:00 UTC.
    assert_eq!(decided(&serving(&json!({}), &json!({}))), ["create SampleDBSnapshot shop-2701150800"]);
    let waits = json!({ "backup": { "immediate": false } });
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let since = |at: &str| json!({ "lastScheduled": at });
    assert_eq!(decided(&serving(&waits, &since("2027-01-15T02:00:00Z"))), Vec::<String>::new());
    let made = decided(&serving(&hourly, &since("2027-01-15T06:30:00Z")));
    assert_eq!(made, ["create SampleDBSnapshot shop-2701150730"]);
    let rests = json!({ "backup": { "schedule": "30 * * * *", "suspend": true } });
    assert_eq!(decided(&serving(&rests, &since("2027-01-15T06:30:00Z"))), Vec::<String>::new());
}

#[test]
fn the_next_stays_at_its_time_while_it_is_overdue() {
    let next = |spec: &Value, last: &Value| {
        let seen = serving(spec, &json!({ "lastScheduled": last }));
        backup::next_due(&seen.db, now()).map(|at| at.to_string())
    };
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let at = |at: &str| {
        let schedule = crate::database::schedule::Schedule::parse("30 * * * *", "Etc/UTC").unwrap();
        let start = schedule.spread(crate::operand::names::fingerprint("u-1")).start(at.parse().unwrap());
        Some(start.to_string())
    };
    // The moment is 2027-01-15 08:00 UTC.
    assert_eq!(next(&hourly, &json!("2027-01-15T07:30:00Z")), at("2027-01-15T08:30:00Z"));
    assert_eq!(next(&hourly, &json!("2027-01-15T04:30:00Z")), at("2027-01-15T05:30:00Z"), "overdue");
    let first = serving(&hourly, &json!({}));
    assert_eq!(backup::next_due(&first.db, now()), first.db.status.initialization.completed_at, "the first, at once");
    let waits = json!({ "backup": { "schedule": "30 * * * *", "immediate": false } });
    assert_eq!(next(&waits, &Value::Null), at("2026-01-01T00:30:00Z"));
    for rests in [
        json!({ "backup": { "schedule": "" } }),
        json!({ "backup": { "schedule": "30 * * * *", "suspend": true } }),
        json!({ "backup": { "schedule": "30 * * * *" }, "paused": true }),
        json!({ "backup": { "schedule": "0 0 30 2 *" } }),
    ] {
        assert_eq!(next(&rests, &json!("2027-01-15T07:30:00Z")), None, "{rests}");
    }
}

#[test]
fn one_at_a_time_and_what_is_due_waits() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let mut seen = serving(&hourly, &json!({ "lastScheduled": "2027-01-15T06:30:00Z" }));
    seen.snapshots = vec![snapshot("by-hand", "Manual", &json!({ "phase": "Running", "sampleDBUID": "u-1" }))];
    let backups = backup::decide(&seen, now());
    assert!(backups.effect.is_none());
    let status = backup::status(&seen, &backups);
    assert_eq!(status.last_scheduled, seen.db.status.backup.last_scheduled, "it is still to come");
}

#[test]
fn one_that_never_begins_keeps_no_others_from_being_tried() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let mut seen = serving(&hourly, &json!({ "lastScheduled": "2027-01-15T06:30:00Z" }));
    let stuck = |name: &str| snapshot(name, "Scheduled", &json!({ "phase": "Pending", "sampleDBUID": "u-1" }));
    seen.snapshots = vec![stuck("stuck")];
    assert_eq!(decided(&seen), ["create SampleDBSnapshot shop-2701150730"]);
    seen.snapshots.push(stuck("stuck-too"));
    assert_eq!(decided(&seen), Vec::<String>::new(), "they do not pile up");
    // What somebody made for a database that is gone waits for ever, and is no matter of this one's.
    let by_hand = |name: &str| snapshot(name, "Manual", &json!({ "phase": "Pending" }));
    seen.snapshots = vec![by_hand("one"), by_hand("two"), by_hand("three")];
    assert_eq!(decided(&seen), ["create SampleDBSnapshot shop-2701150730"]);
}

#[test]
fn one_whose_job_cannot_be_made_keeps_no_others_from_being_tried() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let mut seen = serving(&hourly, &json!({ "lastScheduled": "2027-01-15T06:30:00Z" }));
    let runs =
        |at: &str| snapshot("runs", "Scheduled", &json!({ "phase": "Running", "sampleDBUID": "u-1", "startedAt": at }));
    seen.snapshots = vec![runs("2027-01-15T06:00:00Z")];
    assert_eq!(decided(&seen), Vec::<String>::new(), "it has an hour, and another one to be verified");
    seen.snapshots = vec![runs("2027-01-15T05:30:00Z")];
    assert_eq!(decided(&seen), ["create SampleDBSnapshot shop-2701150730"]);
    seen.snapshots.push(runs("2027-01-15T05:00:00Z"));
    assert_eq!(decided(&seen), Vec::<String>::new(), "two at a time, and no more");
}

#[test]
fn whatever_is_waited_for_backups_are_taken_of_a_server_that_serves() {
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-14T02:00:00Z" });
    let mut seen = super::server::standing(&json!({ "backup": { "schedule": "30 * * * *" } }), &status);
    seen.asked = Asked::Failed("the server does not answer within 3 s".to_owned());
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-2701150730"]);
    // Nor does it matter that the spec asks for what cannot be had.
    let spec =
        json!({ "backup": { "schedule": "30 * * * *" }, "credentials": { "secretRef": { "name": "shop-system" } } });
    seen.db = observed(&spec, &status).db;
    let refused = plan(&seen, now());
    assert_eq!(done(&refused), ["create SampleDBSnapshot shop-2701150730"]);
    let status = refused.status.unwrap();
    assert_eq!(reason(&status, "Stalled").1, "SecretReserved");
    assert_eq!(reason(&status, "BackupHealthy"), (ConditionStatus::False, "Overdue".to_owned()));
    // A server on its way out is not asked for one.
    seen.pods = vec![super::server::going(&seen)];
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
}

#[test]
fn what_is_missed_is_counted_once() {
    let daily = json!({ "backup": { "schedule": "0 2 * * *" } });
    let mut seen = serving(&daily, &json!({ "lastScheduled": "2027-01-12T02:00:00Z", "missed": 1 }));
    let backups = backup::decide(&seen, now());
    assert!(backups.effect.is_none(), "six hours are too late");
    let status = backup::status(&seen, &backups);
    assert_eq!(status.missed, Some(4));
    seen = serving(&daily, &serde_json::to_value(&status).unwrap());
    let again = backup::status(&seen, &backup::decide(&seen, now()));
    assert_eq!(again.missed, Some(4));
}

#[test]
fn the_newest_that_is_proved_is_never_let_go() {
    let spec = json!({ "backup": { "retention": { "keepLast": 2 } } });
    let settled = json!({ "lastScheduled": "2027-01-15T07:59:00Z" });
    let mut seen = serving(&spec, &settled);
    seen.snapshots = vec![
        old(1, "Ready", "Failed"),
        old(2, "Ready", "Skipped"),
        old(3, "Ready", "Passed"),
        old(4, "Ready", "Passed"),
        old(5, "Failed", "Failed"),
    ];
    assert_eq!(decided(&seen), ["delete SampleDBSnapshot shop-4"], "shop-3 is the newest that is proved");
    seen.snapshots.remove(3);
    assert_eq!(decided(&seen), ["delete SampleDBSnapshot shop-5"]);
    seen.snapshots = vec![old(40, "Ready", "Passed")];
    assert_eq!(decided(&seen), Vec::<String>::new(), "however old");
    seen.snapshots = vec![old(1, "Ready", "Passed"), old(40, "Ready", "Passed")];
    assert_eq!(decided(&seen), ["delete SampleDBSnapshot shop-40"]);
}

#[test]
fn what_is_bad_does_not_count_among_what_is_kept() {
    let spec = json!({ "backup": { "retention": { "keepLast": 1 } } });
    let mut seen = serving(&spec, &json!({ "lastScheduled": "2027-01-15T07:59:00Z" }));
    seen.snapshots = vec![old(1, "Failed", "Failed"), old(2, "Ready", "Passed")];
    assert_eq!(decided(&seen), Vec::<String>::new(), "the last good one stays");
    seen.snapshots.insert(1, old(3, "Failed", "Failed"));
    assert_eq!(decided(&seen), ["delete SampleDBSnapshot shop-3"], "and no heap of bad ones");
    seen.snapshots = vec![old(1, "Ready", "Passed"), old(2, "Ready", "Running")];
    assert_eq!(decided(&seen), Vec::<String>::new(), "one that is being judged waits for its verdict");
}

#[test]
fn what_a_person_or_a_deletion_asked_for_is_not_the_schedules_to_let_go() {
    let spec = json!({ "backup": { "retention": { "keepLast": 1, "maxAge": "24h" } } });
    let mut seen = serving(&spec, &json!({ "lastScheduled": "2027-01-15T07:59:00Z" }));
    let asked = |name: &str, reason: &str| {
        let at = now() - jiff::SignedDuration::from_hours(24 * 300);
        let status = json!({ "phase": "Ready", "startedAt": at, "completedAt": at, "sampleDBUID": "u-1",
            "verification": { "phase": "Passed" } });
        snapshot(name, reason, &status)
    };
    seen.snapshots = vec![old(1, "Ready", "Passed"), asked("by-hand", "Manual"), asked("last", "Final")];
    assert_eq!(decided(&seen), Vec::<String>::new());
    seen.snapshots.push(asked("old", "Scheduled"));
    assert_eq!(decided(&seen), ["delete SampleDBSnapshot old"]);
}

#[test]
fn the_last_verdict_counts_whichever_snapshot_it_was_about() {
    let mut seen =
        serving(&json!({}), &json!({ "lastVerified": { "name": "shop-2" }, "lastSuccessful": { "name": "shop-2" } }));
    let mut bad = json!({ "phase": "Failed", "sampleDBUID": "u-1", "startedAt": "2027-01-13T00:00:00Z", "error": "e",
        "completedAt": "2027-01-13T00:00:00Z",
        "verification": { "phase": "Failed", "at": "2027-01-15T00:00:00Z", "message": "rotten" } });
    let good = json!({ "phase": "Ready", "sampleDBUID": "u-1", "startedAt": "2027-01-14T00:00:00Z",
        "completedAt": "2027-01-14T00:00:00Z", "verification": { "phase": "Passed", "at": "2027-01-14T00:00:00Z" } });
    seen.snapshots = vec![snapshot("shop-2", "Scheduled", &bad), snapshot("shop-1", "Scheduled", &good)];
    assert_eq!(
        verified(&seen),
        (ConditionStatus::False, "the snapshot shop-2 cannot be relied upon: rotten".to_owned())
    );
    let told = backup::status(&seen, &Backups::default());
    assert_eq!((told.last_verified.name.as_deref(), told.consecutive_failures), (Some("shop-1"), None));
    bad["sampleDBUID"] = json!("u-0");
    seen.snapshots[0] = snapshot("shop-2", "Scheduled", &bad);
    assert_eq!(verified(&seen).0, ConditionStatus::True, "another database's are none of this one's");
    seen.snapshots.remove(1);
    seen.snapshots[0] = snapshot("shop-2", "Scheduled", &{
        bad["sampleDBUID"] = json!("u-1");
        bad
    });
    let told = backup::status(&seen, &Backups::default());
    assert_eq!((told.last_verified.name, told.last_successful.name), (None, None), "what was good is good no more");
}

#[test]
fn a_good_snapshot_whose_time_is_over_makes_no_backup_bad() {
    let mut seen = serving(&json!({}), &json!({}));
    let going = json!({ "phase": "Expired", "sampleDBUID": "u-1", "startedAt": "2027-01-14T00:00:00Z",
        "completedAt": "2027-01-14T00:00:00Z", "verification": { "phase": "Passed", "at": "2027-01-14T00:00:00Z" } });
    seen.snapshots = vec![snapshot("shop-2", "Manual", &going)];
    assert_eq!(verified(&seen).0, ConditionStatus::Unknown, "{:?}", verified(&seen));
    seen.snapshots.push(old(2, "Ready", "Passed"));
    assert_eq!(verified(&seen), (ConditionStatus::True, "the snapshot shop-2 can be restored".to_owned()));
}

#[test]
fn each_transition_is_told_once() {
    let spec = json!({ "backup": { "retention": { "keepLast": 1 } } });
    let mut seen = serving(&spec, &json!({ "lastScheduled": "2027-01-15T07:59:00Z" }));
    seen.snapshots = vec![old(1, "Ready", "Passed"), old(2, "Ready", "Passed")];
    let backups = backup::decide(&seen, now());
    let mut after = seen.db.status.clone();
    after.backup = backup::status(&seen, &backups);
    after.contract.conditions = backup::health::conditions(&seen, &backups, now());
    let reasons = |before: &SampleDBStatus, after: &SampleDBStatus, backups: &Backups| {
        let all = backup::events(before, after).into_iter().chain(backup::done(backups));
        all.map(|event| event.reason.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(reasons(&seen.db.status, &after, &backups), ["BackupCompleted", "BackupVerified", "SnapshotPruned"]);
    let quiet = Backups::default();
    assert_eq!(reasons(&after, &after, &quiet), Vec::<String>::new());
    seen.snapshots = vec![
        old(1, "Failed", "Failed"),
        snapshot("now", "Manual", &json!({ "phase": "Running", "sampleDBUID": "u-1" })),
    ];
    let mut worse = after.clone();
    worse.backup = backup::status(&seen, &quiet);
    worse.contract.conditions = backup::health::conditions(&seen, &quiet, now());
    assert_eq!(reasons(&after, &worse, &quiet), ["BackupStarted", "VerificationFailed"]);
}

/// A new database that is being filled, and whose Job has come to that end.
fn filling(end: &Value) -> Observed {
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
fn a_restore_that_has_begun_is_judged_by_its_job() {
    let bad = snapshot("old", "Manual", &json!({ "phase": "Failed", "sampleDBUID": "u-0" }));
    let complete = json!([{ "type": "Complete", "status": "True" }]);
    // Whatever became of the snapshot meanwhile: gone, or bad.
    for sources in [Vec::new(), vec![bad.clone()]] {
        let mut seen = filling(&complete);
        seen.sources = sources;
        let status = plan(&seen, now()).status.unwrap();
        assert!(status.restore.completed_at.is_some(), "{:?}", status.restore);
        assert_eq!(status.restore.snapshot.as_deref(), Some("old"));
    }
    let mut seen = filling(&json!([]));
    seen.sources = vec![bad.clone()];
    assert!(!plan(&seen, now()).status.unwrap().contract.is_true("Stalled"), "its Job runs");
    seen.jobs = Vec::new();
    assert_eq!(reason(&plan(&seen, now()).status.unwrap(), "Stalled").1, "SnapshotNotReady", "and none is begun");
}

#[test]
fn of_a_databases_snapshots_the_newest_good_one_is_restored() {
    let mut seen = observed(&json!({ "bootstrap": { "fromSnapshot": { "ofSampleDB": "old" } } }), &latched());
    seen.sources = vec![old(1, "Ready", "Failed"), old(2, "Ready", "Passed"), old(3, "Ready", "Passed")];
    let status = plan(&seen, now()).status.unwrap();
    assert_eq!(status.restore.snapshot.as_deref(), Some("shop-2"));
}
