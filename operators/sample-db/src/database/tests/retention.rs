//! Which snapshots are kept because only they contain a database.

use api::sample_db_snapshot::RELEASE_SNAPSHOT;

use super::*;
use crate::database::backup;

fn seen(snapshots: Vec<Arc<Snapshot>>) -> Observed {
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-15T07:59:00Z" });
    let mut seen = observed(&json!({ "backup": { "retention": { "keepLast": 1 } } }), &status);
    seen.snapshots = snapshots;
    seen
}

/// A scheduled one, that many days old, with these databases in it.
fn old(days: i64, verification: &str, names: &Value) -> Arc<Snapshot> {
    created(days, "Ready", verification, names, &json!({}))
}

fn created(days: i64, phase: &str, verification: &str, names: &Value, annotations: &Value) -> Arc<Snapshot> {
    let at = now() - jiff::SignedDuration::from_hours(24 * days);
    let name = format!("shop-{days}");
    let snapshot = json!({
        "metadata": { "namespace": "n", "name": name, "uid": name, "annotations": annotations },
        "spec": { "sampleDB": "shop", "reason": "Scheduled" },
        "status": { "phase": phase, "startedAt": at, "completedAt": at, "sampleDBUID": "u-1", "database": "app",
            "databaseNames": names, "verification": { "phase": verification } } });
    Arc::new(Snapshot::decode(&snapshot.to_string()).unwrap())
}

fn pruned(seen: &Observed) -> Vec<String> {
    let effects = backup::decide(seen, now()).effect.into_iter().collect();
    done(&Plan { effects, ..Plan::nothing() })
}

fn reported(seen: &Observed) -> String {
    let conditions = backup::health::conditions(seen, &backup::decide(seen, now()), now());
    conditions.into_iter().find(|of| of.type_ == "BackupHealthy").unwrap().message
}

/// `DROP DATABASE app`, unnoticed for weeks.
#[test]
fn the_newest_snapshot_with_a_database_that_later_ones_lack_is_never_deleted() {
    let app = json!(["app"]);
    let mut of = seen(vec![old(1, "Passed", &json!([])), old(3, "Passed", &app), old(40, "Passed", &app)]);
    assert_eq!(pruned(&of), ["delete SampleDBSnapshot shop-40"], "a later one contains it, too");
    of.snapshots.pop();
    assert_eq!(pruned(&of), Vec::<String>::new());
    assert!(reported(&of).contains("database app") && reported(&of).contains(RELEASE_SNAPSHOT), "{}", reported(&of));
    // Of many databases, the last name is a count of the rest.
    of.snapshots = vec![old(1, "Passed", &json!(["...2"])), old(3, "Passed", &json!(["...1"]))];
    assert_eq!(pruned(&of), Vec::<String>::new());
    of.snapshots[0] = old(1, "Passed", &json!(["...1"]));
    assert_eq!(pruned(&of), ["delete SampleDBSnapshot shop-3"]);
}

#[test]
fn a_snapshot_kept_for_a_dropped_database_is_released_by_its_name() {
    let released = |by: &str| {
        let app = created(3, "Ready", "Passed", &json!(["app"]), &json!({ RELEASE_SNAPSHOT: by }));
        pruned(&seen(vec![old(1, "Passed", &json!([])), app]))
    };
    assert_eq!(released("shop-2"), Vec::<String>::new());
    assert_eq!(released("shop-3"), ["delete SampleDBSnapshot shop-3"]);
}

#[test]
fn only_an_equally_good_snapshot_replaces_another() {
    let app = json!(["app"]);
    let places =
        |first: Arc<Snapshot>| pruned(&seen(vec![first, old(2, "Passed", &Value::Null), old(3, "Skipped", &app)]));
    assert_eq!(places(created(1, "Failed", "Failed", &app, &json!({}))), Vec::<String>::new(), "its files are bad");
    assert_eq!(places(old(1, "Failed", &app)), Vec::<String>::new(), "it could not be verified");
    assert_eq!(
        places(created(1, "Running", "Running", &app, &json!({}))),
        Vec::<String>::new(),
        "it is being verified"
    );
    assert_eq!(places(created(1, "Ready", "Skipped", &Value::Null, &json!({}))), Vec::<String>::new(), "it is unknown");
    assert_eq!(places(old(1, "Skipped", &app)), ["delete SampleDBSnapshot shop-3"]);
    // Where no verification can run, they do not pile up all the same.
    let bad = (1..5).map(|days| old(days, "Failed", &app)).collect();
    assert_eq!(pruned(&seen(bad)), ["delete SampleDBSnapshot shop-2"]);
}

/// One that was taken before names were recorded contains the application's database.
#[test]
fn a_snapshot_of_an_earlier_manager_is_kept_until_a_new_one_contains_the_database() {
    let before = || old(3, "Passed", &Value::Null);
    let mut of = seen(vec![old(1, "Passed", &json!([])), before()]);
    assert_eq!(pruned(&of), Vec::<String>::new());
    of.snapshots[0] = old(1, "Passed", &json!(["app"]));
    assert_eq!(pruned(&of), ["delete SampleDBSnapshot shop-3"]);
}

#[test]
fn what_the_last_snapshot_lacks_is_reported_while_the_database_exists() {
    let at = now() - jiff::SignedDuration::from_hours(2);
    let status = json!({ "phase": "Ready", "startedAt": at, "completedAt": at, "sampleDBUID": "u-1",
        "databaseNames": ["app"], "notCovered": ["the replication slot feed"], "verification": { "phase": "Passed" } });
    let message = reported(&seen(vec![snapshot("one", "Scheduled", &status)]));
    assert!(message.contains("it does not contain: the replication slot feed"), "{message}");
}

/// A database that was dropped and recreated, empty, does not replace the earlier one.
#[test]
fn the_last_snapshot_of_a_recreated_database_is_kept() {
    let (with, without) = (json!(["app"]), json!([]));
    let mut of = seen(vec![
        old(1, "Passed", &with),
        old(2, "Passed", &with),
        old(3, "Passed", &without),
        old(4, "Passed", &with),
    ]);
    of.snapshots.push(old(5, "Passed", &with));
    let mut deleted = Vec::new();
    while let Some(one) = pruned(&of).first().map(|effect| effect.rsplit(' ').next().unwrap().to_owned()) {
        of.snapshots.retain(|snapshot| *snapshot.meta.key.name != *one);
        deleted.push(one);
    }
    assert_eq!(deleted, ["shop-2", "shop-5"], "shop-4 contains it, and shop-3 shows that it was deleted since");
    assert!(reported(&of).contains("shop-4") && reported(&of).contains("recreated"), "{}", reported(&of));
    let released = created(4, "Ready", "Passed", &with, &json!({ RELEASE_SNAPSHOT: "shop-4" }));
    of.snapshots.retain(|snapshot| *snapshot.meta.key.name != *"shop-4");
    of.snapshots.push(released);
    assert_eq!(pruned(&of).len(), 1);
}

/// A snapshot's status counts the names that do not fit, and databases that come and go change that count.
#[test]
fn one_of_the_snapshots_whose_names_do_not_fit_is_kept() {
    let sum = |days: i64| json!(["app", format!("...{days}")]);
    let mut of = seen((1..6).map(|days| old(days, "Passed", &sum(days))).collect());
    let mut deleted = Vec::new();
    while let Some(one) = pruned(&of).first().map(|effect| effect.rsplit(' ').next().unwrap().to_owned()) {
        of.snapshots.retain(|snapshot| *snapshot.meta.key.name != *one);
        deleted.push(one);
    }
    assert_eq!(deleted, ["shop-3", "shop-4", "shop-5"], "shop-2 is the newest beyond keepLast");
    let message = reported(&of);
    assert!(message.contains("shop-2") && message.contains("too many databases"), "{message}");
    // A name that others push into the count is not known to be gone; one that sorts before them is.
    of.snapshots = vec![old(1, "Passed", &json!(["app", "...1"])), old(2, "Passed", &json!(["app", "b", "...2"]))];
    of.snapshots.push(old(3, "Passed", &json!(["app", "b", "c", "...3"])));
    assert_eq!(pruned(&of), ["delete SampleDBSnapshot shop-3"]);
    of.snapshots[2] = old(3, "Passed", &json!(["aaa", "app", "...3"]));
    assert_eq!(pruned(&of), Vec::<String>::new(), "aaa was deleted for certain");
}
