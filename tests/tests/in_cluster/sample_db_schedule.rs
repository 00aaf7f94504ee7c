//! Snapshots that the schedule creates and deletes, and what is reported of them.

use api::ConditionStatus::{False, True};
use api::sample_db::{Method, SampleDB};
use api::sample_db_snapshot::{SampleDBSnapshot, SnapshotReason, VerificationPhase};
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use e2e::sample_db::{Database, Files, namespace, until_event};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::metrics::Scraper;

/// The schedule's snapshots of a database, oldest first.
async fn scheduled(ns: &Namespace, of: &str) -> Vec<SampleDBSnapshot> {
    let all = ns.api::<SampleDBSnapshot>().list(&ListParams::default()).await.expect("snapshots can be listed");
    let owned = |it: &SampleDBSnapshot| it.spec.sample_db == of && it.spec.reason == SnapshotReason::Scheduled;
    let mut all: Vec<_> = all.items.into_iter().filter(owned).collect();
    all.sort_by_key(ResourceExt::creation_timestamp);
    all
}

fn verification(snapshot: &SampleDBSnapshot) -> Option<VerificationPhase> {
    snapshot.status.as_ref()?.verification.phase
}

/// Three databases in one namespace, since a schedule takes its time.
#[tokio::test]
async fn the_schedule_makes_snapshots_and_lets_go_of_old_ones() {
    let ns = namespace("sdb-schedule").await;
    let every = |more: &str| format!("{{backup: {{schedule: '* * * * *', {more}}}}}");
    let few = Database::apply(&ns, "few", &every("method: Physical, retention: {keepLast: 1}")).await;
    let nth = Database::apply(&ns, "nth", &every("verify: {everyNth: 2}")).await;
    let rests = Database::apply(&ns, "rests", &every("suspend: true")).await;
    for db in [few, nth, rests] {
        db.serves().await;
    }
    few.asks("create table notes as select a from generate_series(1, 100) a").await;
    let first = ns
        .eventually("a first snapshot at once", || async {
            scheduled(&ns, "few").await.into_iter().next().ok_or_else(|| "none".to_owned())
        })
        .await;
    let first = few.verified(&first.name_any()).await;
    // Its retention has expired before it is taken, so it is deleted as soon as it is complete.
    nth.order("brief", ", retainUntil: '2026-01-01T00:00:00Z'").await;
    assert_eq!(first.status.as_ref().and_then(|status| status.method), Some(Method::Physical));

    let second = ns
        .eventually("a second snapshot", || async {
            scheduled(&ns, "few").await.into_iter().nth(1).ok_or_else(|| "none".to_owned())
        })
        .await;
    // Before it is verified, which may take more than a minute: a third one would make this one old.
    few.patch(json!({ "backup": { "suspend": true } })).await;
    few.verified(&second.name_any()).await;
    ns.until_deleted::<SampleDBSnapshot>(&first.name_any()).await;
    until_event(&ns, "few", "SnapshotPruned").await;
    until_event(&ns, "few", "BackupVerified").await;
    let files = Files::of(&ns, "few-snapshots").await.snapshots().await;
    assert!(!files.contains(&first.name_any()) && files.contains(&second.name_any()), "{files:?}");

    let both = ns
        .eventually("every other one to be verified", || async {
            let all = scheduled(&ns, "nth").await;
            let verdicts: Vec<_> = all.iter().map(verification).collect();
            let judged = |of: &Option<VerificationPhase>| {
                of.is_some_and(|of| !matches!(of, VerificationPhase::Pending | VerificationPhase::Running))
            };
            let done = verdicts.len() >= 2 && verdicts[..2].iter().all(judged);
            if done { Ok(all) } else { Err(format!("{verdicts:?}")) }
        })
        .await;
    assert_eq!(
        [&both[0], &both[1]].map(verification),
        [Some(VerificationPhase::Passed), Some(VerificationPhase::Skipped)]
    );

    nth.patch(json!({ "backup": { "suspend": true } })).await;
    until_event(&ns, "brief", "FilesRemoved").await;
    ns.until_deleted::<SampleDBSnapshot>("brief").await;
    assert!(scheduled(&ns, "rests").await.is_empty(), "its schedule rests");
    rests.patch(json!({ "backup": { "schedule": "0 0 30 2 *", "suspend": false, "immediate": false } })).await;
    let message = rests.says("BackupHealthy", False, "ScheduleInvalid").await;
    assert!(message.contains("never"), "{message}");
    assert!(ns.get::<SampleDB>("rests").await.is_ready(), "it serves all the same");
    // The status names the next time of a schedule that is not suspended.
    few.patch(json!({ "backup": { "schedule": "0 0 1 1 *", "suspend": false } })).await;
    measured(&ns, few).await;
}

/// The metric from which Prometheus derives an alert.
async fn measured(ns: &Namespace, db: Database<'_>) {
    db.says("BackupVerified", True, "Verified").await;
    let scraper = Scraper::new(ns).await;
    let families = [
        "sampledb_ready{} 1",
        "sampledb_info{,version=\"17.",
        "sampledb_backup_verified{} 1",
        "sampledb_backup_next_timestamp_seconds{} ",
        "sampledb_backup_last_success_timestamp_seconds{} ",
        "sampledb_backup_last_verified_timestamp_seconds{} ",
        "sampledb_backup_duration_seconds{} ",
        "sampledb_backup_size_bytes{} ",
        "sampledb_backup_failures_total{} 0",
        "sampledb_upgrade_state{} 0",
    ];
    let lines = ns
        .eventually("all there is to measure", || async {
            let lines = scraper.of(ns, db.name).await?;
            let missing: Vec<_> =
                families.iter().filter(|of| !lines.iter().any(|line| line.starts_with(**of))).collect();
            if missing.is_empty() { Ok(lines) } else { Err(format!("{missing:?} of {lines:?}")) }
        })
        .await;
    println!("metrics: {}", lines.join("\n  "));
}
