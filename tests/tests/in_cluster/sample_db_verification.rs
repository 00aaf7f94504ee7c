//! What a snapshot holds, and how it is found out that one is of no use.

use api::ConditionStatus::{False, True};
use api::sample_db_snapshot::{SampleDBSnapshot, SnapshotPhase, VerificationPhase};
use e2e::objects::ManagedKind;
use e2e::sample_db::{Database, Files, message, namespace, until_event};
use kube::api::DeleteParams;
use serde_json::json;

/// What dumps by lesser roles than a superuser miss.
const CONTENT: &str = "
    create extension pgcrypto;
    create table guarded as select a, encode(digest(a::text, 'sha256'), 'hex') b from generate_series(1, 10) a;
    alter table guarded enable row level security;
    alter table guarded force row level security;
    create policy even on guarded using (a % 2 = 0);
    select lo_from_bytea(4711, convert_to('a large object', 'UTF8'));
    create sequence numbers start 41;
    select nextval('numbers')";
const ROLE: &str = "create role reporter login password 'se''cret'; grant select on guarded to reporter";

#[tokio::test]
async fn what_is_restored_is_all_that_was_there() {
    let ns = namespace("sdb-content").await;
    let checks = "checks: [{sql: 'select count(*) from guarded', expect: '5'}, {sql: 'select null', expect: ''}]";
    let spec = format!("{{backup: {{immediate: false, verify: {{{checks}}}}}}}");
    let db = Database::apply(&ns, "shop", &spec).await;
    let created = db.serves().await;
    db.asks(CONTENT).await;
    db.superuser_asks(ROLE).await;
    let status = db.snapshot("whole").await.status.expect("a status");
    println!("a snapshot: {:?}, {:?} rows, sha256 {:?}", status.size, status.verification.rows, status.sha256);
    assert_eq!(status.system_identifier, created.status.and_then(|status| status.system_identifier));

    // A check that does not hold fails the verification, although the files are intact.
    db.patch(
        json!({ "backup": { "verify": { "checks": [{ "sql": "select count(*) from guarded", "expect": "10" }] } } }),
    )
    .await;
    let again =
        Database::apply(&ns, "again", "{bootstrap: {fromSnapshot: {ofSampleDB: shop}}, backup: {immediate: false}}")
            .await;
    let failed = db.verified_again("whole", "once").await;
    let report = message(&failed);
    println!("a snapshot whose check fails says: {report}");
    let status = failed.status.as_ref().expect("a status");
    assert_eq!(
        (status.phase, status.verification.phase),
        (Some(SnapshotPhase::Ready), Some(VerificationPhase::Failed))
    );
    assert!(report.contains("\"5\"") && report.contains("\"10\""), "{report}");
    db.says("BackupVerified", False, "VerificationFailed").await;
    db.patch(json!({ "backup": { "verify": { "checks": null } } })).await;
    let fixed = db.verified_again("whole", "twice").await;
    assert!(fixed.is_ready(), "{fixed:?}");
    db.says("BackupVerified", True, "Verified").await;

    again.serves().await;
    assert_eq!(
        again.asks("select count(*) from guarded").await,
        "5",
        "the application sees what the policy lets it see"
    );
    assert_eq!(again.superuser_asks("select count(*), max(length(b)) from guarded").await, "10|64");
    assert_eq!(again.asks("select convert_from(lo_get(4711), 'UTF8')").await, "a large object");
    assert_eq!(again.asks("select nextval('numbers')").await, "42");
    assert_eq!(again.asks("select length(digest('x', 'sha256'))").await, "32");
    let uri = "postgresql://reporter:se%27cret@again-rw/app";
    assert_eq!(again.psql(uri, "select current_user, count(*) from guarded").await, "reporter|5");
}

#[tokio::test]
async fn corrupt_files_are_detected_and_no_server_serves_them() {
    let ns = namespace("sdb-corrupt").await;
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false}}").await;
    db.serves().await;
    db.asks("create table notes as select a, md5(a::text) b from generate_series(1, 5000) a").await;
    for name in ["changed", "shorter"] {
        db.order(name, "").await;
    }
    for name in ["changed", "shorter"] {
        db.verified(name).await;
    }
    let files = Files::of(&ns, "shop-snapshots").await;
    let largest = |snapshot: &str| format!("it=$(ls -S {snapshot}-*/database-*/*.dat* | head -1)");
    files
        .script(&format!("{} && printf X | dd of=$it bs=1 seek=40 conv=notrunc status=none", largest("changed")))
        .await;
    files.script(&format!("{} && truncate --size=-1 $it", largest("shorter"))).await;

    // The damage has not been noticed yet; the restore notices it.
    let spec = "{bootstrap: {fromSnapshot: {name: changed}}, backup: {immediate: false}}";
    let spoilt = Database::apply(&ns, "spoilt", spec).await;
    let report = spoilt.says("Stalled", True, "RestoreFailed").await;
    println!("a restore of it says: {report}");
    assert!(report.contains("SHA-256"), "{report}");
    assert_eq!(spoilt.superuser_asks_of("postgres", "select count(*) from pg_roles where rolname = 'app'").await, "0");
    for (name, how) in [("changed", "SHA-256"), ("shorter", "bytes instead of")] {
        let failed = db.verified_again(name, "now").await;
        let report = message(&failed);
        println!("a snapshot that went bad says: {report}");
        assert!(report.contains("verification failed") && report.contains(how), "{report}");
        assert_eq!(failed.status.as_ref().and_then(|status| status.phase), Some(SnapshotPhase::Failed));
        db.says("BackupVerified", False, "VerificationFailed").await;
        until_event(&ns, name, "VerificationFailed").await;
    }
    until_event(&ns, "shop", "VerificationFailed").await;
    let refused = Database::apply(&ns, "refused", "{bootstrap: {fromSnapshot: {name: shorter}}}").await;
    let report = refused.says("Stalled", True, "SnapshotNotReady").await;
    assert!(report.contains("shorter") && report.contains("bytes instead of"), "{report}");

    // An intact snapshot makes BackupHealthy True again, and the bad one is deleted without a trace.
    db.snapshot("whole").await;
    db.says("BackupVerified", True, "Verified").await;
    ns.api::<SampleDBSnapshot>().delete("changed", &DeleteParams::default()).await.expect("it can be deleted");
    ns.until_deleted::<SampleDBSnapshot>("changed").await;
    assert_eq!(files.snapshots().await, ["shorter", "whole"]);
}
