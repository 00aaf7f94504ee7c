//! A database that is deleted and protected keeps serving.

use runtime::projections::{Job, StatefulSet};

use super::*;
use crate::database::backup::due::next_due;
use crate::database::backup::health::overdue_since;
use crate::database::deletion::should_query_server;
use crate::database::login::LoginCheck;
use crate::database::tests::server::{says, standing};

/// One whose server answers; hours have passed since the last scheduled snapshot.
fn protected(login: LoginCheck, upgrade: &Value) -> Observed {
    let spec = json!({ "deletion": { "protection": true }, "backup": { "schedule": "30 * * * *" } });
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-15T06:30:00Z" });
    (status["replicas"], status["upgrade"]) = (json!(1), upgrade.clone());
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    let mut seen = standing(&spec, &initialised());
    seen.probe = says(|answer| answer.login = login);
    seen.db = with(&deleting_meta(&json!({})), &spec, &status).db;
    let set = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "shop", "ownerReferences": [
        { "apiVersion": "example.com/v1alpha1", "kind": "SampleDB", "name": "shop", "uid": "u-1", "controller": true }] } });
    seen.servers = vec![Arc::new(StatefulSet::decode(&set.to_string()).unwrap())];
    seen.claims.push(snapshots_claim());
    seen
}

#[test]
fn a_deleted_but_protected_database_is_backed_up_and_reports_it() {
    let mut seen = protected(LoginCheck::Ok, &json!({}));
    assert!(should_query_server(&seen));
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), ["create SampleDBSnapshot shop-2701150730"]);
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked"), (ConditionStatus::True, "Protected".to_owned()));
    assert_eq!(reason(&status, "BackupHealthy"), (ConditionStatus::False, "Overdue".to_owned()));
    assert_eq!(reason(&status, "BackupVerified").0, ConditionStatus::Unknown);
    assert_eq!(status.ready.as_deref(), Some("1/1"));
    assert!(next_due(&seen.db, now()).is_some() && overdue_since(&seen, now()).is_some(), "alerts are by these");
    seen.probe = says(|answer| answer.login = LoginCheck::BadPassword);
    assert!(done(&plan(&seen, now())).contains(&"SetPassword".to_owned()));
    // Once its server is stopped, there is nothing to back up.
    (seen.servers, seen.pods, seen.probe) = (Vec::new(), Vec::new(), ServerProbe::Skipped);
    assert!(!should_query_server(&seen));
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new());
}

/// The protection was set after the deletion had begun.
#[test]
fn clients_are_allowed_again_and_the_final_snapshot_is_deleted() {
    let mut seen = protected(LoginCheck::Blocked, &json!({}));
    seen.snapshots = vec![last(&verified_status())];
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), ["delete SampleDBSnapshot shop-final-u1", "AllowConnections"]);
    assert_eq!(planned.status.unwrap().ready.as_deref(), Some("0/1"), "clients cannot connect yet");
    seen.probe = ServerProbe::Failed("no answer".to_owned());
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "it is kept until clients can be allowed");
    (seen.snapshots, seen.probe) = (Vec::new(), says(|answer| answer.system_identifier = "8".to_owned()));
    assert_eq!(done(&plan(&seen, now())), Vec::<String>::new(), "that is another database");
}

#[test]
fn a_pause_allows_clients_and_nothing_else() {
    let paused = |login: LoginCheck| {
        let mut seen = protected(login, &json!({}));
        let mut db = (*seen.db).clone();
        db.spec.paused = true;
        (seen.db, seen.snapshots) = (Arc::new(db), vec![last(&verified_status())]);
        seen
    };
    for login in [LoginCheck::Ok, LoginCheck::BadPassword] {
        let planned = plan(&paused(login), now());
        assert!(done(&planned).is_empty() && planned.independent.is_empty(), "{:?}", planned.effects);
    }
    assert_eq!(
        done(&plan(&paused(LoginCheck::Blocked), now())),
        ["delete SampleDBSnapshot shop-final-u1", "AllowConnections"]
    );
}

/// A deletion stops an upgrade where it is: no copy may run while clients write.
#[test]
fn clients_that_an_upgrade_blocked_are_allowed_once_nothing_copies() {
    let mut seen = protected(LoginCheck::Blocked, &json!({ "step": "Copy" }));
    let job = json!({ "metadata": { "namespace": "n", "name": "shop-upgrade-17-12", "uid": "j" } });
    seen.jobs = vec![Arc::new(Job::decode(&job.to_string()).unwrap())];
    assert_eq!(done(&plan(&seen, now())), ["delete Job shop-upgrade-17-12"]);
    seen.jobs = Vec::new();
    assert_eq!(done(&plan(&seen, now())), ["AllowConnections"]);
}

/// It is not stopped, and may complete; afterward its Job is deleted first.
#[test]
fn a_restore_that_completes_meanwhile_is_saved_once_protection_ends() {
    let spec = |protection: bool| json!({ "bootstrap": { "fromSnapshot": { "name": "whole" } }, "deletion": { "protection": protection } });
    let job = |end: &Value| {
        let job = json!({ "metadata": { "namespace": "n", "name": "shop-restore", "uid": "j" }, "status": { "conditions": end } });
        vec![Arc::new(Job::decode(&job.to_string()).unwrap())]
    };
    let mut seen = deleting(&spec(true), &json!({}));
    seen.db = with(&deleting_meta(&json!({})), &spec(true), &half()).db;
    seen.jobs = job(&json!([]));
    assert_eq!(plan(&seen, now()).status.unwrap().restore.completed_at, None, "it is under way");
    seen.jobs = job(&json!([{ "type": "Complete", "status": "True" }]));
    let planned = plan(&seen, now());
    assert!(planned.effects.is_empty(), "it is written down first: {:?}", planned.effects);
    let status = planned.status.unwrap();
    assert!(status.restore.completed_at.is_some());
    let mut status = serde_json::to_value(&status).unwrap();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    seen.db = with(&deleting_meta(&json!({})), &spec(false), &status).db;
    assert_eq!(done(&plan(&seen, now())), ["delete Job shop-restore"]);
    seen.jobs = Vec::new();
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-u1"]);
}
