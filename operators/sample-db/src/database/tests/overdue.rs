//! When scheduled backups are overdue, and since when.

use super::backups::serving;
use super::*;
use crate::database::backup;
use crate::database::backup::health::overdue_since;

#[test]
fn backups_are_unhealthy_when_the_newest_verified_one_is_older_than_the_schedule_allows() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let mut seen = serving(&hourly, &json!({ "lastScheduled": "2027-01-15T07:30:00Z" }));
    let at = |started: &str, verification: &str| {
        let status = json!({ "phase": "Ready", "startedAt": started, "completedAt": started, "sampleDBUID": "u-1",
            "verification": { "phase": verification } });
        snapshot("one", "Scheduled", &status)
    };
    let health = |seen: &Observed| {
        let conditions = backup::health::conditions(seen, &backup::decide(seen, now()), now());
        let healthy = conditions.into_iter().find(|of| of.type_ == "BackupHealthy").unwrap();
        (healthy.status == api::ConditionStatus::True, healthy.reason.to_string(), healthy.message)
    };
    // Now is 2027-01-15 08:00 UTC: the snapshot of 07:30 is being taken, that of 06:30 must exist.
    seen.snapshots = vec![at("2027-01-15T06:30:01Z", "Passed")];
    assert!(health(&seen).0);
    seen.snapshots = vec![at("2027-01-15T05:30:01Z", "Passed")];
    assert_eq!((health(&seen).0, &*health(&seen).1), (false, "Overdue"));
    let under_way = json!({ "phase": "Running", "startedAt": "2027-01-15T06:30:01Z", "sampleDBUID": "u-1",
        "completedAt": "2027-01-15T06:30:02Z", "verification": { "phase": "Running" } });
    seen.snapshots = vec![snapshot("one", "Scheduled", &under_way)];
    assert!(health(&seen).2.contains("2027-01-15T06:30:00Z"), "{}", health(&seen).2);
    // A snapshot that has not started does not name its database's UID yet.
    seen.snapshots = vec![snapshot(
        "waits",
        "Scheduled",
        &json!({ "conditions": [{ "type": "Ready", "status": "False",
        "reason": "DatabaseNotReady", "message": "the volume is full", "lastTransitionTime": "2027-01-15T06:30:01Z" }] }),
    )];
    assert!(health(&seen).2.contains("the snapshot waits has not started: the volume is full"), "{}", health(&seen).2);
    let suspended = json!({ "backup": { "schedule": "30 * * * *", "suspend": true } });
    seen = serving(&suspended, &json!({}));
    assert_ne!(health(&seen).1, "Overdue");
}

/// Since when writes are in no snapshot that counts, as the alert's metric reports it.
fn since(spec: &Value, snapshots: Vec<Arc<Snapshot>>) -> Option<String> {
    let mut seen = serving(spec, &json!({ "lastScheduled": "2027-01-15T07:30:00Z" }));
    seen.snapshots = snapshots;
    overdue_since(&seen, now()).map(|at| at.to_string())
}

/// A scheduled one that was taken at once.
fn begun(name: &str, at: &str, phase: &str, verification: &str) -> Arc<Snapshot> {
    let status = json!({ "phase": phase, "startedAt": at, "completedAt": at, "sampleDBUID": "u-1",
        "verification": { "phase": verification, "at": "2027-01-15T07:59:00Z" } });
    snapshot(name, "Scheduled", &status)
}

#[test]
fn the_newest_verified_snapshot_counts_however_many_were_taken_since() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let verified = || begun("verified", "2027-01-15T03:30:01Z", "Ready", "Passed");
    let taken = |verification: &str| begun("taken", "2027-01-15T07:30:01Z", "Running", verification);
    // Its verification does not end; when the other one was verified again does not matter.
    assert_eq!(since(&hourly, vec![verified(), taken("Running")]).as_deref(), Some("2027-01-15T03:30:01Z"));
    assert_eq!(since(&hourly, vec![verified(), taken("Failed")]).as_deref(), Some("2027-01-15T03:30:01Z"));
    assert_eq!(since(&hourly, vec![taken("Running")]).as_deref(), Some("2026-01-01T00:00:10Z"), "none ever was");
    let again = begun("again", "2027-01-15T07:30:01Z", "Ready", "Running");
    assert_eq!(since(&hourly, vec![verified(), again]), None, "it is what it was until the second verdict");
    let good = begun("good", "2027-01-15T07:30:01Z", "Ready", "Passed");
    assert_eq!(since(&hourly, vec![verified(), good]), None);
    let unverified = json!({ "backup": { "schedule": "30 * * * *", "verify": { "mode": "None" } } });
    let skipped = |at: &str| begun("skipped", at, "Ready", "Skipped");
    assert_eq!(since(&unverified, vec![skipped("2027-01-15T07:30:01Z")]), None);
    assert_eq!(
        since(&unverified, vec![skipped("2027-01-15T04:30:01Z")]).as_deref(),
        Some("2027-01-15T04:30:01Z"),
        "where none is verified, one that was taken counts"
    );
}

#[test]
fn a_suspended_schedule_has_nothing_overdue_and_an_invalid_one_everything() {
    let old = || vec![begun("old", "2027-01-10T07:30:01Z", "Ready", "Passed")];
    for suspended in [
        json!({ "backup": { "schedule": "" } }),
        json!({ "backup": { "schedule": "30 * * * *", "suspend": true } }),
        json!({ "backup": { "schedule": "30 * * * *" }, "paused": true }),
    ] {
        assert_eq!(since(&suspended, old()), None, "{suspended}");
    }
    for invalid in [
        json!({ "backup": { "schedule": "30 * * * *", "timeZone": "Mars/Olympus" } }),
        json!({ "backup": { "schedule": "0 0 30 2 *" } }),
    ] {
        assert_eq!(since(&invalid, old()).as_deref(), Some("2027-01-10T07:30:01Z"), "{invalid}");
    }
}

/// A manager on a node whose clock was ahead recorded future times.
#[test]
fn future_times_stop_no_schedule_and_no_alert() {
    let hourly = json!({ "backup": { "schedule": "30 * * * *" } });
    let mut seen = serving(&hourly, &json!({ "lastScheduled": "2027-02-15T07:30:00Z" }));
    let decided = backup::decide(&seen, now()).effect;
    let Some(Effect::Create(create)) = decided else { panic!("{decided:?}") };
    assert_eq!(create.key.name.as_ref(), "shop-2701150730");
    assert!(backup::next_due(&seen.db, now()).is_some_and(|next| next <= now()), "the status says that it is due");
    seen.snapshots = vec![begun("ahead", "2027-02-15T07:30:01Z", "Ready", "Passed")];
    let healthy = backup::health::conditions(&seen, &backup::decide(&seen, now()), now());
    let reported = healthy.into_iter().find(|of| of.type_ == "BackupHealthy").unwrap();
    assert!(reported.reason == SampleDBReason::Overdue, "{reported:?}");
}
