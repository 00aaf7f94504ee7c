//! From one release to another, step by step.

use api::sample_db::{SampleDBEvent, UpgradeResult, UpgradeStep};

use super::server::says;
use super::*;
use crate::database::login::LoginCheck;
use crate::database::upgrade::polling::is_urgent;
use play::{Play, of};

pub(super) mod play;
mod previous;
mod waiting;

#[test]
fn a_minor_upgrade_follows_the_policy() {
    let target = |spec: Value| {
        let mut play = Play::new(spec, "15.18");
        play.next();
        play.seen.db.status.upgrade.to.clone()
    };
    assert_eq!(target(json!({})).as_deref(), Some("15.20"), "not to today's default, which is another major version");
    assert_eq!(target(json!({ "engine": { "version": "15" } })).as_deref(), Some("15.20"));
    assert_eq!(target(json!({ "engine": { "version": "15.18" } })), None);
    assert_eq!(target(json!({ "upgrade": { "policy": "Manual" } })), None);
    let mut reported = Play::new(json!({ "upgrade": { "policy": "Manual" } }), "15.18");
    reported.pass();
    assert_eq!(reported.condition("UpToDate").1, "UpgradeAvailable");
    assert_eq!(reported.seen.db.status.engine.target.as_deref(), Some("15.20"), "which is no beginning");
    assert_eq!(reported.next(), Vec::<String>::new());
}

#[test]
fn a_minor_upgrade_checks_takes_a_snapshot_rolls_and_finishes() {
    let mut play = Play::new(json!({ "engine": { "version": "15" } }), "15.18");
    assert_eq!(play.next(), ["create Job shop-check"]);
    assert_eq!(play.condition("Ready").0, ConditionStatus::True);
    play.ends("shop-check", 0, &json!({ "version": "15.20" }));
    let name = crate::operand::names::pre_upgrade_snapshot(&play.seen.db);
    assert_eq!(play.next(), [format!("create SampleDBSnapshot {name}")]);
    play.snapshot("Ready");
    assert_eq!(play.next(), ["apply StatefulSet shop"]);
    assert_eq!(play.step(), Some(UpgradeStep::Roll));
    let old = play.seen.pods.clone();
    play.restarted("15.20", LoginCheck::Ok, "7");
    let new = std::mem::replace(&mut play.seen.pods, old);
    assert_eq!(play.next(), ["delete Pod shop-0"]);
    play.seen.pods = new;
    assert_eq!(play.next(), ["create Job shop-upgrade-15-20"]);
    assert!(play.seen.db.status.upgrade.downtime_milliseconds.is_some());
    play.ends("shop-upgrade-15-20", 0, &json!({ "extensions": 1 }));
    assert_eq!(play.next(), ["delete Job shop-upgrade-15-20"], "its work is done");
    let status = &play.seen.db.status;
    assert_eq!(
        (status.upgrade.result, status.engine.version.as_deref()),
        (Some(UpgradeResult::Completed), Some("15.20"))
    );
    assert_eq!((status.engine.previous.as_deref(), &status.engine.target), (Some("15.18"), &None));
}

#[test]
fn a_major_upgrade_copies_and_allows_clients_last() {
    let mut play = Play::to_the_switch();
    assert_eq!(play.condition("Ready"), (ConditionStatus::False, "Provisioning".to_owned()), "clients cannot write");
    let status = &play.seen.db.status;
    assert_eq!(status.storage.claim.as_deref(), Some("data-shop-17"));
    assert_eq!(status.storage.previous_claim.as_deref(), Some("data-shop-0"));
    assert_eq!(status.system_identifier.as_deref(), Some("17"));
    play.restarted("17.12", LoginCheck::Blocked, "17");
    assert_eq!(play.next(), ["AllowConnections"]);
    assert_eq!(play.step(), Some(UpgradeStep::Finish));
    play.restarted("17.12", LoginCheck::Ok, "17");
    assert_eq!(play.next(), ["delete StatefulSet shop"], "once writers are in at the new one");
    play.seen.servers.remove(0);
    assert_eq!(play.next(), ["create Job shop-finish-17-12"]);
    assert_eq!(play.seen.db.status.upgrade.downtime_milliseconds, Some(6500));
    play.ends("shop-finish-17-12", 1, &json!({ "reason": "ToolFailed", "message": "no statistics" }));
    assert_eq!(play.next(), ["delete Job shop-finish-17-12"]);
    let status = &play.seen.db.status;
    assert_eq!(status.upgrade.result, Some(UpgradeResult::Completed));
    assert!(status.upgrade.message.as_deref().is_some_and(|message| message.contains("no statistics")));
    assert!(status.storage.previous_claim_until.is_some(), "the old volume is kept for a while");
}

#[test]
fn the_result_of_a_copy_counts_before_the_end_of_its_job() {
    let mut play = Play::to_the_copy();
    play.ends("shop-upgrade-17-12", 0, &json!({}));
    play.seen.jobs.clear();
    let note = |of: &str| {
        let closed_at = NOW * 1000 - 1500;
        let note = json!({ "systemIdentifier": "17", "fromSystemIdentifier": of, "closedAt": closed_at });
        serde_json::from_value(note).ok()
    };
    play.seen.copy_result = note("8");
    assert_eq!(play.next(), ["create Job shop-upgrade-17-12"], "it is of other data");
    play.seen.copy_result = note("7");
    play.seen.probe = says(|answer| answer.login = LoginCheck::Blocked);
    assert_eq!(play.next(), ["apply Service shop-rw", "apply StatefulSet shop-17"]);
    play.restarted("17.12", LoginCheck::Ok, "17");
    play.next();
    assert_eq!(play.seen.db.status.upgrade.downtime_milliseconds, Some(1500));
}

/// What is awaited with clients allowed may never come, and each reconcile costs requests.
#[test]
fn only_a_recent_step_or_one_that_blocks_clients_is_polled_often() {
    let urgent = |step: &str, minutes: i64| {
        let mut status = of("15.20");
        status["upgrade"] = json!({ "step": step, "stepSince": now() - jiff::SignedDuration::from_mins(minutes) });
        is_urgent(&with(&json!({}), &json!({}), &status).db, now())
    };
    assert!(urgent("Snapshot", 1) && !urgent("Snapshot", 2) && !urgent("Prepare", 60));
    assert!(urgent("Copy", 60) && urgent("Switch", 60) && urgent("RollBack", 60));
}

#[test]
fn until_clients_are_allowed_an_upgrade_can_be_rolled_back() {
    let mut play = Play::to_the_copy();
    play.ends("shop-upgrade-17-12", 1, &json!({ "reason": "NoSpace", "message": "no room" }));
    play.seen.probe = says(|answer| answer.login = LoginCheck::Blocked);
    assert_eq!(play.next(), ["delete Job shop-upgrade-17-12"]);
    assert_eq!(play.step(), Some(UpgradeStep::RollBack));
    (play.seen.jobs, play.seen.pods) = (Vec::new(), play.seen.pods[..2].to_vec());
    assert_eq!(play.next(), ["AllowConnections"]);
    play.seen.probe = says(|answer| answer.version = "15.20".to_owned());
    assert_eq!(play.next(), ["delete StatefulSet shop-17"]);
    play.seen.servers.truncate(1);
    play.seen.target_server = ChildState::Absent;
    assert_eq!(play.next(), ["delete PersistentVolumeClaim data-shop-17"]);
    play.seen.claims.truncate(1);
    assert_eq!(play.next(), Vec::<String>::new(), "it is not tried again");
    let status = &play.seen.db.status;
    assert_eq!(
        (status.upgrade.result, status.engine.version.as_deref()),
        (Some(UpgradeResult::RolledBack), Some("15.20"))
    );
    assert!(status.upgrade.message.as_deref().is_some_and(|message| message.contains("no room")));
    assert_eq!(play.condition("UpToDate").1, "UpgradeFailed");
    assert_eq!(play.condition("Ready").0, ConditionStatus::True);
    play.meta["generation"] = json!(2);
    play.pass();
    assert_eq!(play.next(), ["create Job shop-check"], "once the spec changes it is");
}

#[test]
fn a_new_server_that_does_not_start_does_not_affect_clients() {
    let mut play = Play::to_the_copy();
    play.seen.db = with(&play.meta, &play.spec, &{
        let mut status = serde_json::to_value(&play.seen.db.status).unwrap();
        status["upgrade"]["step"] = json!("Prepare");
        status
    })
    .db;
    let running = play.seen.pod_named("shop-17-0").unwrap().details.clone().unwrap();
    let broken = json!({ "metadata": { "namespace": "n", "name": "shop-17-0", "uid": "p-2",
            "annotations": running.annotations, "labels": running.labels },
        "status": { "containerStatuses": [{ "name": "postgres", "image": "i", "restartCount": 5, "state": { "waiting": {
            "reason": "ImagePullBackOff", "message": "no such image" } } }] } });
    play.seen.pods.retain(|pod| *pod.meta.key.name == *"shop-0");
    play.seen.pods.push(Arc::new(Pod::decode(&broken.to_string()).unwrap()));
    play.seen.jobs = Vec::new();
    assert_eq!(play.next(), ["delete StatefulSet shop-17"]);
    assert_eq!(play.step(), Some(UpgradeStep::RollBack));
    assert_eq!(play.condition("Ready").0, ConditionStatus::True, "clients were not blocked");
}

#[test]
fn a_new_server_with_other_data_is_rolled_back() {
    let mut play = Play::to_the_switch();
    play.restarted("17.12", LoginCheck::Blocked, "18");
    assert_eq!(play.next(), ["apply Service shop-rw"]);
    let status = &play.seen.db.status;
    assert_eq!((play.step(), status.storage.claim.as_deref()), (Some(UpgradeStep::RollBack), Some("data-shop-0")));
    assert_eq!((status.engine.version.as_deref(), status.system_identifier.as_deref()), (Some("15.20"), Some("7")));
    assert_eq!(status.server.as_deref(), Some("shop"));
}

#[test]
fn a_failure_before_clients_are_blocked_changes_nothing() {
    let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
    play.next();
    play.ends("shop-check", 0, &json!({ "version": "15.20" }));
    assert_eq!(play.next(), ["delete Job shop-check"]);
    let upgrade = &play.seen.db.status.upgrade;
    assert_eq!((upgrade.step, upgrade.result), (None, Some(UpgradeResult::RolledBack)));

    let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
    play.next();
    play.ends("shop-check", 0, &json!({ "version": "17.12" }));
    play.next();
    play.snapshot("Failed");
    play.seen.jobs = Vec::new();
    assert_eq!(play.next(), Vec::<String>::new());
    let upgrade = &play.seen.db.status.upgrade;
    assert!(upgrade.message.as_deref().is_some_and(|message| message.contains("no room")), "{upgrade:?}");
}

#[test]
fn a_downgrade_is_refused() {
    for version in ["13", "15.18"] {
        let mut play = Play::new(json!({ "engine": { "version": version } }), "15.20");
        assert_eq!(play.next(), Vec::<String>::new());
        assert_eq!(play.condition("UpToDate").1, "DowngradeRefused");
        assert_eq!(play.condition("Stalled").1, "DowngradeRefused");
        assert_eq!(play.condition("Ready").0, ConditionStatus::True, "it serves on");
    }
    let mut play = Play::new(json!({ "engine": { "version": "16" } }), "15.20");
    assert_eq!(play.next(), Vec::<String>::new());
    assert_eq!(play.condition("Stalled").1, "VersionUnknown");
}

#[test]
fn an_upgrade_completes_although_the_application_may_not_log_in() {
    let full = LoginCheck::Refused("the role app may have no connection".to_owned());
    for login in [full, LoginCheck::Busy, LoginCheck::BadPassword] {
        let mut play = Play::to_the_switch();
        play.restarted("17.12", LoginCheck::Blocked, "17");
        assert_eq!(play.next(), ["AllowConnections"]);
        let outdated = login == LoginCheck::BadPassword;
        play.restarted("17.12", login, "17");
        if outdated {
            assert_eq!(play.next(), ["SetPassword"]);
            play.restarted("17.12", LoginCheck::Ok, "17");
        }
        assert_eq!(play.next(), ["delete StatefulSet shop"]);
        assert_eq!(play.seen.db.status.upgrade.downtime_milliseconds, Some(6500));
    }
}

#[test]
fn what_is_not_carried_over_is_reported_before_the_upgrade_changes_anything() {
    let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
    play.pass();
    let Effect::Create(check) = plan(&play.seen, now()).effects.remove(0) else { panic!() };
    let work = &check.body["spec"]["template"]["spec"]["containers"][0];
    assert!(
        work["command"].to_string().contains("pg-survey") && work["envFrom"][1]["secretRef"]["name"] == "shop-system"
    );
    play.ends("shop-check", 0, &json!({ "version": "17.12", "notCovered": ["the replication slot feed"] }));
    let reported = |play: &mut Play, what: &str| {
        let decided = plan(&play.seen, now());
        play.pass();
        let event = decided.events_after_status.iter().find(|event| event.reason == SampleDBEvent::UpgradeLeavesBehind);
        assert!(event.is_some_and(|event| event.message.contains(what)), "{what}");
        play.pass();
        let condition = play.seen.db.status.contract.condition("UpToDate").unwrap();
        assert!(
            condition.reason == SampleDBReason::Upgrading && condition.message.contains(what),
            "{}",
            condition.message
        );
    };
    reported(&mut play, "slot feed");
    assert_eq!(play.step(), Some(UpgradeStep::Snapshot), "before the snapshot of before");
    play.snapshot("Ready");
    let mut found = serde_json::to_value(&play.seen.snapshots[0].status).unwrap();
    found["notCovered"] = json!(["the replication slot feed", "the subscription s"]);
    play.seen.snapshots = vec![snapshot(&play.seen.snapshots[0].meta.key.name, "PreUpgrade", &found)];
    reported(&mut play, "subscription s");
    assert_eq!(play.step(), Some(UpgradeStep::Prepare));
    assert_eq!(play.seen.db.status.upgrade.not_covered.len(), 2, "each once");
}

#[test]
fn upgrades_to_a_new_catalog_do_not_start_everywhere_at_once() {
    let (spec, mut status) = (json!({ "engine": { "version": "15" } }), of("15.18"));
    status["observedGeneration"] = json!(1);
    let mut play = Play::new(spec.clone(), "15.18");
    play.seen.db = observed(&spec, &status).db;
    assert_eq!(play.next(), Vec::<String>::new());
    assert_eq!(play.condition("UpToDate"), (ConditionStatus::False, "UpgradeWaits".to_owned()));
    assert_eq!(play.condition("Ready").0, ConditionStatus::True);
    let later = plan(&play.seen, now() + jiff::SignedDuration::from_secs(300)).status.unwrap();
    assert_eq!(later.upgrade.step, Some(UpgradeStep::Check));
    // Nor does it start once a manager is back that was away when the time came.
    play.seen.observing_since = Some(now() + jiff::SignedDuration::from_secs(600));
    let at = |seconds| plan(&play.seen, now() + jiff::SignedDuration::from_secs(seconds)).status.unwrap().upgrade.step;
    assert_eq!((at(600), at(900)), (None, Some(UpgradeStep::Check)));
    // What the spec requests starts at once.
    play.meta["generation"] = json!(2);
    play.seen.db = with(&play.meta, &spec, &serde_json::to_value(&play.seen.db.status).unwrap()).db;
    assert_eq!(play.next(), ["create Job shop-check"]);
}
