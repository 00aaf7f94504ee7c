//! Which snapshots are taken, and which are deleted.

use super::*;
use crate::database::backup::{self, Backups};

pub(super) fn serving(spec: &Value, backup: &Value) -> Observed {
    let mut status = initialised();
    status["backup"] = backup.clone();
    observed(spec, &status)
}

fn effects(seen: &Observed) -> Vec<String> {
    let backups = backup::decide(seen, now());
    let effects = backups.effect.into_iter().collect();
    done(&Plan { effects, ..Plan::nothing() })
}

/// A scheduled one, that many days old.
pub(super) fn old(days: i64, phase: &str, verification: &str) -> Arc<Snapshot> {
    let at = now() - jiff::SignedDuration::from_hours(24 * days);
    let status = json!({ "phase": phase, "startedAt": at, "completedAt": at, "sampleDBUID": "u-1",
        "verification": { "phase": verification } });
    snapshot(&format!("shop-{days}"), "Scheduled", &status)
}

/// Whether backups are verified, and the message.
fn verified(seen: &Observed) -> (ConditionStatus, String) {
    let conditions = backup::health::conditions(seen, &Backups::default(), now());
    let verified = conditions.into_iter().find(|of| of.type_ == "BackupVerified").unwrap();
    (verified.status, verified.message)
}

#[test]
fn the_first_backup_is_taken_at_once_and_others_by_the_schedule() {
    // Now is 2027-01-15 08:00 UTC.
    assert_eq!(effects(&serving(&json!({}), &json!({}))), ["create SampleDBSnapshot shop-2701150800"]);
    let waits = json!({ "backup": { "immediate": false } });
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let since = |at: &str| json!({ "lastScheduled": at });
    assert_eq!(effects(&serving(&waits, &since("2027-01-15T02:00:00Z"))), Vec::<String>::new());
    let created = effects(&serving(&hourly, &since("2027-01-15T06:30:00Z")));
    assert_eq!(created, ["create SampleDBSnapshot shop-2701150730"]);
    let suspended = json!({ "backup": { "schedule": "30 * * * *", "suspend": true } });
    assert_eq!(effects(&serving(&suspended, &since("2027-01-15T06:30:00Z"))), Vec::<String>::new());
}

#[test]
fn the_next_time_stays_while_it_is_overdue() {
    let next = |spec: &Value, last: &Value| {
        let seen = serving(spec, &json!({ "lastScheduled": last }));
        backup::next_due(&seen.db, now()).map(|at| at.to_string())
    };
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let at = |at: &str| {
        let schedule = runtime::schedule::Schedule::parse("30 * * * *", "Etc/UTC").unwrap();
        let start = schedule.spread(crate::operand::names::fingerprint("u-1")).start(at.parse().unwrap());
        Some(start.to_string())
    };
    // Now is 2027-01-15 08:00 UTC.
    assert_eq!(next(&hourly, &json!("2027-01-15T07:30:00Z")), at("2027-01-15T08:30:00Z"));
    assert_eq!(next(&hourly, &json!("2027-01-15T04:30:00Z")), at("2027-01-15T05:30:00Z"), "overdue");
    let first = serving(&hourly, &json!({}));
    assert_eq!(backup::next_due(&first.db, now()), first.db.status.initialization.completed_at, "the first, at once");
    let waits = json!({ "backup": { "schedule": "30 * * * *", "immediate": false } });
    assert_eq!(next(&waits, &Value::Null), at("2026-01-01T00:30:00Z"));
    for suspended in [
        json!({ "backup": { "schedule": "" } }),
        json!({ "backup": { "schedule": "30 * * * *", "suspend": true } }),
        json!({ "backup": { "schedule": "30 * * * *" }, "paused": true }),
        json!({ "backup": { "schedule": "0 0 30 2 *" } }),
    ] {
        assert_eq!(next(&suspended, &json!("2027-01-15T07:30:00Z")), None, "{suspended}");
    }
}

#[test]
fn snapshots_are_taken_one_at_a_time() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let mut seen = serving(&hourly, &json!({ "lastScheduled": "2027-01-15T06:30:00Z" }));
    seen.snapshots = vec![snapshot("by-hand", "Manual", &json!({ "phase": "Running", "sampleDBUID": "u-1" }))];
    let backups = backup::decide(&seen, now());
    assert!(backups.effect.is_none());
    let status = backup::status(&seen, &backups);
    assert_eq!(status.last_scheduled, seen.db.status.backup.last_scheduled, "it is still to come");
}

#[test]
fn a_snapshot_that_never_starts_does_not_block_others() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let mut seen = serving(&hourly, &json!({ "lastScheduled": "2027-01-15T06:30:00Z" }));
    let pending = |name: &str| snapshot(name, "Scheduled", &json!({ "phase": "Pending", "sampleDBUID": "u-1" }));
    seen.snapshots = vec![pending("stuck")];
    assert_eq!(effects(&seen), ["create SampleDBSnapshot shop-2701150730"]);
    seen.snapshots.push(pending("stuck-too"));
    assert_eq!(effects(&seen), Vec::<String>::new(), "they do not pile up");
    // Manual snapshots of a database that does not exist wait for ever, and do not concern this one.
    let by_hand = |name: &str| snapshot(name, "Manual", &json!({ "phase": "Pending" }));
    seen.snapshots = vec![by_hand("one"), by_hand("two"), by_hand("three")];
    assert_eq!(effects(&seen), ["create SampleDBSnapshot shop-2701150730"]);
}

#[test]
fn a_snapshot_whose_job_cannot_be_created_does_not_block_others() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let mut seen = serving(&hourly, &json!({ "lastScheduled": "2027-01-15T06:30:00Z" }));
    let runs =
        |at: &str| snapshot("runs", "Scheduled", &json!({ "phase": "Running", "sampleDBUID": "u-1", "startedAt": at }));
    seen.snapshots = vec![runs("2027-01-15T06:00:00Z")];
    assert_eq!(effects(&seen), Vec::<String>::new(), "it has an hour, and another one to be verified");
    seen.snapshots = vec![runs("2027-01-15T05:30:00Z")];
    assert_eq!(effects(&seen), ["create SampleDBSnapshot shop-2701150730"]);
    seen.snapshots.push(runs("2027-01-15T05:00:00Z"));
    assert_eq!(effects(&seen), Vec::<String>::new(), "two at a time, and no more");
}

#[test]
fn backups_are_taken_of_a_serving_database_whatever_it_waits_for() {
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-14T02:00:00Z" });
    let mut seen = super::server::standing(&json!({ "backup": { "schedule": "30 * * * *" } }), &status);
    seen.probe = ServerProbe::Failed("the server does not answer within 3 s".to_owned());
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-2701150730"]);
    // Nor does a spec that cannot be satisfied.
    let spec =
        json!({ "backup": { "schedule": "30 * * * *" }, "credentials": { "secretRef": { "name": "shop-system" } } });
    seen.db = observed(&spec, &status).db;
    let refused = plan(&seen, now());
    assert_eq!(done(&refused), ["create SampleDBSnapshot shop-2701150730"]);
    let status = refused.status.unwrap();
    assert_eq!(reason(&status, "Stalled").1, "SecretReserved");
    assert_eq!(reason(&status, "BackupHealthy"), (ConditionStatus::False, "Overdue".to_owned()));
    // No snapshot is taken of a terminating server.
    seen.pods = vec![super::server::terminating_pod(&seen)];
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
}

#[test]
fn missed_slots_are_counted_once() {
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
fn the_newest_verified_snapshot_is_never_deleted() {
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
    assert_eq!(effects(&seen), ["delete SampleDBSnapshot shop-4"], "shop-3 is the newest verified one");
    seen.snapshots.remove(3);
    assert_eq!(effects(&seen), ["delete SampleDBSnapshot shop-5"]);
    seen.snapshots = vec![old(40, "Ready", "Passed")];
    assert_eq!(effects(&seen), Vec::<String>::new(), "however old");
    seen.snapshots = vec![old(1, "Ready", "Passed"), old(40, "Ready", "Passed")];
    assert_eq!(effects(&seen), ["delete SampleDBSnapshot shop-40"]);
}

#[test]
fn failed_snapshots_do_not_count_toward_those_to_keep() {
    let spec = json!({ "backup": { "retention": { "keepLast": 1 } } });
    let mut seen = serving(&spec, &json!({ "lastScheduled": "2027-01-15T07:59:00Z" }));
    seen.snapshots = vec![old(1, "Failed", "Failed"), old(2, "Ready", "Passed")];
    assert_eq!(effects(&seen), Vec::<String>::new(), "the last good one is kept");
    seen.snapshots.insert(1, old(3, "Failed", "Failed"));
    assert_eq!(effects(&seen), ["delete SampleDBSnapshot shop-3"], "and no heap of bad ones");
    seen.snapshots = vec![old(1, "Ready", "Passed"), old(2, "Ready", "Running")];
    assert_eq!(effects(&seen), Vec::<String>::new(), "one that is being judged waits for its verdict");
}

#[test]
fn manual_and_final_snapshots_are_not_deleted_by_retention() {
    let spec = json!({ "backup": { "retention": { "keepLast": 1, "maxAge": "24h" } } });
    let mut seen = serving(&spec, &json!({ "lastScheduled": "2027-01-15T07:59:00Z" }));
    let asked = |name: &str, reason: &str| {
        let at = now() - jiff::SignedDuration::from_hours(24 * 300);
        let status = json!({ "phase": "Ready", "startedAt": at, "completedAt": at, "sampleDBUID": "u-1",
            "verification": { "phase": "Passed" } });
        snapshot(name, reason, &status)
    };
    seen.snapshots = vec![old(1, "Ready", "Passed"), asked("by-hand", "Manual"), asked("last", "Final")];
    assert_eq!(effects(&seen), Vec::<String>::new());
    seen.snapshots.push(asked("old", "Scheduled"));
    assert_eq!(effects(&seen), ["delete SampleDBSnapshot old"]);
}

#[test]
fn the_latest_verdict_counts_whichever_snapshot_it_was_about() {
    let mut seen =
        serving(&json!({}), &json!({ "lastVerified": { "name": "shop-2" }, "lastSuccessful": { "name": "shop-2" } }));
    let mut bad = json!({ "phase": "Failed", "sampleDBUID": "u-1", "startedAt": "2027-01-13T00:00:00Z", "error": "e",
        "completedAt": "2027-01-13T00:00:00Z",
        "verification": { "phase": "Failed", "at": "2027-01-15T00:00:00Z", "message": "rotten" } });
    let good = json!({ "phase": "Ready", "sampleDBUID": "u-1", "startedAt": "2027-01-14T00:00:00Z",
        "completedAt": "2027-01-14T00:00:00Z", "verification": { "phase": "Passed", "at": "2027-01-14T00:00:00Z" } });
    seen.snapshots = vec![snapshot("shop-2", "Scheduled", &bad), snapshot("shop-1", "Scheduled", &good)];
    assert_eq!(verified(&seen), (ConditionStatus::False, "the snapshot shop-2 is not usable: rotten".to_owned()));
    let reported = backup::status(&seen, &Backups::default());
    assert_eq!((reported.last_verified.name.as_deref(), reported.consecutive_failures), (Some("shop-1"), None));
    bad["sampleDBUID"] = json!("u-0");
    seen.snapshots[0] = snapshot("shop-2", "Scheduled", &bad);
    assert_eq!(verified(&seen).0, ConditionStatus::True, "another database's are none of this one's");
    seen.snapshots.remove(1);
    seen.snapshots[0] = snapshot("shop-2", "Scheduled", &{
        bad["sampleDBUID"] = json!("u-1");
        bad
    });
    let reported = backup::status(&seen, &Backups::default());
    assert_eq!(
        (reported.last_verified.name, reported.last_successful.name),
        (None, None),
        "what was good is good no more"
    );
}

#[test]
fn an_expired_snapshot_does_not_make_backups_unhealthy() {
    let mut seen = serving(&json!({}), &json!({}));
    let expired = json!({ "phase": "Expired", "sampleDBUID": "u-1", "startedAt": "2027-01-14T00:00:00Z",
        "completedAt": "2027-01-14T00:00:00Z", "verification": { "phase": "Passed", "at": "2027-01-14T00:00:00Z" } });
    seen.snapshots = vec![snapshot("shop-2", "Manual", &expired)];
    assert_eq!(verified(&seen).0, ConditionStatus::Unknown, "{:?}", verified(&seen));
    seen.snapshots.push(old(2, "Ready", "Passed"));
    assert_eq!(verified(&seen), (ConditionStatus::True, "the snapshot shop-2 can be restored".to_owned()));
}

#[test]
fn each_transition_has_one_event() {
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

#[test]
fn a_snapshot_that_is_only_on_its_volume_is_reported() {
    let taken = |days: i64, copy: &Value| {
        let mut status = serde_json::to_value(&old(days, "Ready", "Passed").status).unwrap();
        status["store"] = copy.clone();
        snapshot(&format!("shop-{days}"), "Scheduled", &status)
    };
    let reported = |copies: [Value; 2]| {
        let mut seen = serving(&json!({ "backup": { "schedule": "" } }), &json!({}));
        seen.snapshots = vec![taken(2, &copies[0]), taken(1, &copies[1])];
        let conditions = backup::health::conditions(&seen, &Backups::default(), now());
        let healthy = conditions.into_iter().find(|of| of.type_ == "BackupHealthy").unwrap();
        let failures = crate::metrics::value(&seen, "sampledb_backup_upload_failures");
        (
            healthy.reason.to_string(),
            healthy.message,
            failures,
            backup::status(&seen, &Backups::default()).last_stored.name,
        )
    };
    let stored =
        json!({ "phase": "Stored", "path": "b/shop/x", "at": "2027-01-15T07:00:00Z", "s3": { "path": "b/shop" } });
    let failed =
        |phase: &str| json!({ "phase": phase, "failures": 3, "message": "refused", "s3": { "path": "b/shop" } });
    let (reason, message, failures, last) = reported([failed("Stored"), stored.clone()]);
    assert_eq!((&*reason, failures, last.as_deref()), ("LastSucceeded", Some(0.0), Some("shop-1")));
    assert_eq!(message, "the last snapshot is shop-1, with a copy at s3://b/shop/x");
    for phase in ["Failed", "Running"] {
        let (reason, message, failures, last) = reported([stored.clone(), failed(phase)]);
        assert_eq!((&*reason, failures, last.as_deref()), ("UploadFailed", Some(3.0), Some("shop-2")));
        assert_eq!(message, "the snapshot shop-1 is only on its volume, since its upload failed: refused");
    }
}
