//! Which snapshots are kept for what they alone hold.

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

/// One of the schedule's, so many days old, with these databases in it.
fn old(days: i64, verification: &str, names: &Value) -> Arc<Snapshot> {
    made(days, "Ready", verification, names, &json!({}))
}

fn made(days: i64, phase: &str, verification: &str, names: &Value, annotations: &Value) -> Arc<Snapshot> {
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

fn told(seen: &Observed) -> String {
    let conditions = backup::health::conditions(seen, &backup::decide(seen, now()), now());
    conditions.into_iter().find(|of| of.type_ == "BackupHealthy").unwrap().message
}

/// `DROP DATABASE app`, and nobody notices for weeks.
#[test]
fn the_newest_that_holds_a_database_that_later_ones_lack_is_never_let_go() {
    let app = json!(["app"]);
    let mut of = seen(vec![old(1, "Passed", &json!([])), old(3, "Passed", &app), old(40, "Passed", &app)]);
    assert_eq!(pruned(&of), ["delete SampleDBSnapshot shop-40"], "a later one holds it, too");
    of.snapshots.pop();
    assert_eq!(pruned(&of), Vec::<String>::new());
    assert!(told(&of).contains("database app") && told(&of).contains(RELEASE_SNAPSHOT), "{}", told(&of));
    // Of many databases the rest are told by a sum.
    of.snapshots = vec![old(1, "Passed", &json!(["...2"])), old(3, "Passed", &json!(["...1"]))];
    assert_eq!(pruned(&of), Vec::<String>::new());
    of.snapshots[0] = old(1, "Passed", &json!(["...1"]));
    assert_eq!(pruned(&of), ["delete SampleDBSnapshot shop-3"]);
}

#[test]
fn what_is_kept_for_a_database_that_was_dropped_is_released_by_its_name() {
    let released = |by: &str| {
        let app = made(3, "Ready", "Passed", &json!(["app"]), &json!({ RELEASE_SNAPSHOT: by }));
        pruned(&seen(vec![old(1, "Passed", &json!([])), app]))
    };
    assert_eq!(released("shop-2"), Vec::<String>::new());
    assert_eq!(released("shop-3"), ["delete SampleDBSnapshot shop-3"]);
}

#[test]
fn only_one_that_is_as_good_takes_the_place_of_another() {
    let app = json!(["app"]);
    let places =
        |first: Arc<Snapshot>| pruned(&seen(vec![first, old(2, "Passed", &Value::Null), old(3, "Skipped", &app)]));
    assert_eq!(places(made(1, "Failed", "Failed", &app, &json!({}))), Vec::<String>::new(), "its files are bad");
    assert_eq!(places(old(1, "Failed", &app)), Vec::<String>::new(), "it could not be verified");
    assert_eq!(places(made(1, "Running", "Running", &app, &json!({}))), Vec::<String>::new(), "it is being proved");
    assert_eq!(places(made(1, "Ready", "Skipped", &Value::Null, &json!({}))), Vec::<String>::new(), "nobody knows");
    assert_eq!(places(old(1, "Skipped", &app)), ["delete SampleDBSnapshot shop-3"]);
    // Where no proof can be carried out, they do not pile up all the same.
    let bad = (1..5).map(|days| old(days, "Failed", &app)).collect();
    assert_eq!(pruned(&seen(bad)), ["delete SampleDBSnapshot shop-2"]);
}

/// One that was taken before names were written down holds the application's database.
#[test]
fn what_was_taken_by_a_manager_of_before_is_kept_until_a_new_one_holds_it() {
    let before = || old(3, "Passed", &Value::Null);
    let mut of = seen(vec![old(1, "Passed", &json!([])), before()]);
    assert_eq!(pruned(&of), Vec::<String>::new());
    of.snapshots[0] = old(1, "Passed", &json!(["app"]));
    assert_eq!(pruned(&of), ["delete SampleDBSnapshot shop-3"]);
}

#[test]
fn what_the_last_one_does_not_hold_is_told_while_the_database_is_there() {
    let at = now() - jiff::SignedDuration::from_hours(2);
    let status = json!({ "phase": "Ready", "startedAt": at, "completedAt": at, "sampleDBUID": "u-1",
        "databaseNames": ["app"], "notCovered": ["the replication slot feed"], "verification": { "phase": "Passed" } });
    let words = told(&seen(vec![snapshot("one", "Scheduled", &status)]));
    assert!(words.contains("it does not hold: the replication slot feed"), "{words}");
}

/// A database that was dropped and made again, empty, does not take the place of the earlier one.
#[test]
fn the_last_snapshot_of_a_database_that_was_made_again_is_kept() {
    let (with, without) = (json!(["app"]), json!([]));
    let mut of = seen(vec![
        old(1, "Passed", &with),
        old(2, "Passed", &with),
        old(3, "Passed", &without),
        old(4, "Passed", &with),
    ]);
    of.snapshots.push(old(5, "Passed", &with));
    let mut gone = Vec::new();
    while let Some(one) = pruned(&of).first().map(|words| words.rsplit(' ').next().unwrap().to_owned()) {
        of.snapshots.retain(|snapshot| *snapshot.meta.key.name != *one);
        gone.push(one);
    }
    assert_eq!(gone, ["shop-2", "shop-5"], "shop-4 holds it, and shop-3 tells that it was gone since");
    assert!(told(&of).contains("shop-4") && told(&of).contains("made again"), "{}", told(&of));
    let released = made(4, "Ready", "Passed", &with, &json!({ RELEASE_SNAPSHOT: "shop-4" }));
    of.snapshots.retain(|snapshot| *snapshot.meta.key.name != *"shop-4");
    of.snapshots.push(released);
    assert_eq!(pruned(&of).len(), 1);
}

/// Of more names than fit a snapshot's status a sum stands for the rest, and databases that come and go change it each time.
#[test]
fn of_those_whose_names_do_not_fit_one_is_kept() {
    let sum = |days: i64| json!(["app", format!("...{days}")]);
    let mut of = seen((1..6).map(|days| old(days, "Passed", &sum(days))).collect());
    let mut gone = Vec::new();
    while let Some(one) = pruned(&of).first().map(|words| words.rsplit(' ').next().unwrap().to_owned()) {
        of.snapshots.retain(|snapshot| *snapshot.meta.key.name != *one);
        gone.push(one);
    }
    assert_eq!(gone, ["shop-3", "shop-4", "shop-5"], "shop-2 is the newest beyond keepLast");
    let words = told(&of);
    assert!(words.contains("shop-2") && words.contains("too many databases"), "{words}");
    // A name that others push behind the sum is not known to be gone; one that stands before them is.
    of.snapshots = vec![old(1, "Passed", &json!(["app", "...1"])), old(2, "Passed", &json!(["app", "b", "...2"]))];
    of.snapshots.push(old(3, "Passed", &json!(["app", "b", "c", "...3"])));
    assert_eq!(pruned(&of), ["delete SampleDBSnapshot shop-3"]);
    of.snapshots[2] = old(3, "Passed", &json!(["aaa", "app", "...3"]));
    assert_eq!(pruned(&of), Vec::<String>::new(), "aaa is gone for certain");
}
