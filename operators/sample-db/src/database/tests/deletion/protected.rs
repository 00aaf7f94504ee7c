//! A database that is deleted and protected serves on.

use runtime::projections::{Job, StatefulSet};

use super::*;
use crate::database::backup::due::next_due;
use crate::database::backup::health::overdue_since;
use crate::database::deletion::is_to_be_asked;
use crate::database::login::Login;
use crate::database::tests::server::{says, standing};

/// One whose server answers; since the schedule has last had its way, hours have passed.
fn protected(login: Login, upgrade: &Value) -> Observed {
    let spec = json!({ "deletion": { "protection": true }, "backup": { "schedule": "30 * * * *" } });
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-15T06:30:00Z" });
    (status["replicas"], status["upgrade"]) = (json!(1), upgrade.clone());
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    let mut seen = standing(&spec, &initialised());
    seen.asked = says(|answer| answer.login = login);
    seen.db = with(&leaving_meta(&json!({})), &spec, &status).db;
    let set = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "shop", "ownerReferences": [
        { "apiVersion": "example.com/v1alpha1", "kind": "SampleDB", "name": "shop", "uid": "u-1", "controller": true }] } });
    seen.servers = vec![Arc::new(StatefulSet::decode(&set.to_string()).unwrap())];
    seen.claims.push(snapshots_claim());
    seen
}

#[test]
fn a_deleted_but_protected_database_is_backed_up_and_reports_it() {
    let mut seen = protected(Login::In, &json!({}));
    assert!(is_to_be_asked(&seen));
    let told = plan(&seen, now());
    assert_eq!(done(&told), ["create SampleDBSnapshot shop-2701150730"]);
    let status = told.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked"), (ConditionStatus::True, "Protected".to_owned()));
    assert_eq!(reason(&status, "BackupHealthy"), (ConditionStatus::False, "Overdue".to_owned()));
    assert_eq!(reason(&status, "BackupVerified").0, ConditionStatus::Unknown);
    assert_eq!(status.ready.as_deref(), Some("1/1"));
    assert!(next_due(&seen.db, now()).is_some() && overdue_since(&seen, now()).is_some(), "alerts are by these");
    seen.asked = says(|answer| answer.login = Login::WrongPassword);
    assert!(done(&plan(&seen, now())).contains(&"SetPassword".to_owned()));
    // Once its server has been stopped, there is nothing to back up.
    (seen.servers, seen.pods, seen.asked) = (Vec::new(), Vec::new(), Asked::Nothing);
    assert!(!is_to_be_asked(&seen));
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
}

/// The protection came after the deletion had begun.
#[test]
fn writers_are_let_in_again_and_the_final_snapshot_goes_which_would_lack_what_they_write() {
    let mut seen = protected(Login::ShutOut, &json!({}));
    seen.snapshots = vec![last(&proved())];
    let told = plan(&seen, now());
    assert_eq!(done(&told), ["delete SampleDBSnapshot shop-final-u1", "LetIn"]);
    assert_eq!(told.status.unwrap().ready.as_deref(), Some("0/1"), "nobody gets in yet");
    seen.asked = Asked::Failed("no answer".to_owned());
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "it is kept until writers can be let in");
    (seen.snapshots, seen.asked) = (Vec::new(), says(|answer| answer.system_identifier = "8".to_owned()));
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "that is another database");
}

#[test]
fn a_pause_lets_writers_in_and_nothing_else() {
    let paused = |login: Login| {
        let mut seen = protected(login, &json!({}));
        let mut db = (*seen.db).clone();
        db.spec.paused = true;
        (seen.db, seen.snapshots) = (Arc::new(db), vec![last(&proved())]);
        seen
    };
    for login in [Login::In, Login::WrongPassword] {
        let told = plan(&paused(login), now());
        assert!(done(&told).is_empty() && told.independent.is_empty(), "{:?}", told.effects);
    }
    assert_eq!(done(&plan(&paused(Login::ShutOut), now())), ["delete SampleDBSnapshot shop-final-u1", "LetIn"]);
}

/// A deletion ends an upgrade where it is: what copies must not go on beside writers.
#[test]
fn writers_that_an_upgrade_has_shut_out_are_let_in_once_nothing_copies() {
    let mut seen = protected(Login::ShutOut, &json!({ "step": "Copy" }));
    let job = json!({ "metadata": { "namespace": "n", "name": "shop-upgrade-17-12", "uid": "j" } });
    seen.jobs = vec![Arc::new(Job::decode(&job.to_string()).unwrap())];
    assert_eq!(done(&plan(&seen, now())), ["delete Job shop-upgrade-17-12"]);
    seen.jobs = Vec::new();
    assert_eq!(done(&plan(&seen, now())), ["LetIn"]);
}

/// It is not stopped, and may come to its end; its Job, which tells, is the first to go afterwards.
#[test]
fn a_restore_that_comes_to_its_end_meanwhile_is_saved_once_nothing_protects_it() {
    let spec = |protection: bool| json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } }, "deletion": { "protection": protection } });
    let job = |end: &Value| {
        let job = json!({ "metadata": { "namespace": "n", "name": "shop-restore", "uid": "j" }, "status": { "conditions": end } });
        vec![Arc::new(Job::decode(&job.to_string()).unwrap())]
    };
    let mut seen = leaving(&spec(true), &json!({}));
    seen.db = with(&leaving_meta(&json!({})), &spec(true), &half()).db;
    seen.jobs = job(&json!([]));
    assert_eq!(plan(&seen, now()).status.unwrap().restore.completed_at, None, "it is under way");
    seen.jobs = job(&json!([{ "type": "Complete", "status": "True" }]));
    let told = plan(&seen, now());
    assert!(told.effects.is_empty(), "it is written down first: {:?}", told.effects);
    let status = told.status.unwrap();
    assert!(status.restore.completed_at.is_some());
    let mut status = serde_json::to_value(&status).unwrap();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    seen.db = with(&leaving_meta(&json!({})), &spec(false), &status).db;
    assert_eq!(done(&plan(&seen, now())), ["delete Job shop-restore"]);
    seen.jobs = Vec::new();
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-u1"]);
}
