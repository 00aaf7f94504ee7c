//! From one release to another, step by step.

use api::sample_db::{SampleDBEvent, UpgradeResult, UpgradeStep as At};

use super::server::says;
use super::*;
use crate::database::login::Login;
use crate::database::upgrade::pace::is_urgent;
use play::{Play, of};

pub(super) mod play;
mod previous;
mod waiting;

#[test]
fn a_minor_release_is_gone_to_by_policy() {
    let goes = |spec: Value| {
        let mut play = Play::new(spec, "15.18");
        play.next();
        play.seen.db.status.upgrade.to.clone()
    };
    assert_eq!(goes(json!({})).as_deref(), Some("15.20"), "not to today's default, which is another major version");
    assert_eq!(goes(json!({ "engine": { "version": "15" } })).as_deref(), Some("15.20"));
    assert_eq!(goes(json!({ "engine": { "version": "15.18" } })), None);
    assert_eq!(goes(json!({ "upgrade": { "policy": "Manual" } })), None);
    let mut told = Play::new(json!({ "upgrade": { "policy": "Manual" } }), "15.18");
    told.pass();
    assert_eq!(told.condition("UpToDate").1, "UpgradeAvailable");
    assert_eq!(told.seen.db.status.engine.target.as_deref(), Some("15.20"), "which is no beginning");
    assert_eq!(told.next(), Vec::<String>::new());
}

#[test]
fn a_minor_release_is_looked_at_saved_before_rolled_and_finished() {
    let mut play = Play::new(json!({ "engine": { "version": "15" } }), "15.18");
    assert_eq!(play.next(), ["create Job shop-check"]);
    assert_eq!(play.condition("Ready").0, ConditionStatus::True);
    play.ends("shop-check", 0, &json!({ "version": "15.20" }));
    let name = crate::operand::names::pre_snapshot(&play.seen.db);
    assert_eq!(play.next(), [format!("create SampleDBSnapshot {name}")]);
    play.snapshot("Ready");
    assert_eq!(play.next(), ["apply StatefulSet shop"]);
    assert_eq!(play.step(), Some(At::Roll));
    let old = play.seen.pods.clone();
    play.restarted("15.20", Login::In, "7");
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
fn a_major_release_is_copied_to_and_writers_are_let_in_last() {
    let mut play = Play::to_the_switch();
    assert_eq!(play.condition("Ready"), (ConditionStatus::False, "Provisioning".to_owned()), "nobody can write");
    let status = &play.seen.db.status;
    assert_eq!(status.storage.claim.as_deref(), Some("data-shop-17"));
    assert_eq!(status.storage.previous_claim.as_deref(), Some("data-shop-0"));
    assert_eq!(status.system_identifier.as_deref(), Some("17"));
    play.restarted("17.12", Login::ShutOut, "17");
    assert_eq!(play.next(), ["LetIn"]);
    assert_eq!(play.step(), Some(At::Finish));
    play.restarted("17.12", Login::In, "17");
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
fn the_note_of_a_copy_is_as_good_as_the_end_of_its_job() {
    let mut play = Play::to_the_copy();
    play.ends("shop-upgrade-17-12", 0, &json!({}));
    play.seen.jobs.clear();
    let note = |of: &str| {
        let closed_at = NOW * 1000 - 1500;
        let note = json!({ "systemIdentifier": "17", "fromSystemIdentifier": of, "closedAt": closed_at });
        serde_json::from_value(note).ok()
    };
    play.seen.copied = note("8");
    assert_eq!(play.next(), ["create Job shop-upgrade-17-12"], "it is of other data");
    play.seen.copied = note("7");
    play.seen.asked = says(|answer| answer.login = Login::ShutOut);
    assert_eq!(play.next(), ["apply Service shop-rw", "apply StatefulSet shop-17"]);
    play.restarted("17.12", Login::In, "17");
    play.next();
    assert_eq!(play.seen.db.status.upgrade.downtime_milliseconds, Some(1500));
}

/// What is waited for with writers in may never come, and each look takes requests.
#[test]
fn only_a_young_step_or_one_that_keeps_writers_out_is_looked_at_often() {
    let urgent = |step: &str, minutes: i64| {
        let mut status = of("15.20");
        status["upgrade"] = json!({ "step": step, "stepSince": now() - jiff::SignedDuration::from_mins(minutes) });
        is_urgent(&with(&json!({}), &json!({}), &status).db, now())
    };
    assert!(urgent("Snapshot", 1) && !urgent("Snapshot", 2) && !urgent("Prepare", 60));
    assert!(urgent("Copy", 60) && urgent("Switch", 60) && urgent("RollBack", 60));
}

#[test]
fn until_writers_are_let_in_there_is_a_way_back() {
    let mut play = Play::to_the_copy();
    play.ends("shop-upgrade-17-12", 1, &json!({ "reason": "NoSpace", "message": "no room" }));
    play.seen.asked = says(|answer| answer.login = Login::ShutOut);
    assert_eq!(play.next(), ["delete Job shop-upgrade-17-12"]);
    assert_eq!(play.step(), Some(At::RollBack));
    (play.seen.jobs, play.seen.pods) = (Vec::new(), play.seen.pods[..2].to_vec());
    assert_eq!(play.next(), ["LetIn"]);
    play.seen.asked = says(|answer| answer.version = "15.20".to_owned());
    assert_eq!(play.next(), ["delete StatefulSet shop-17"]);
    play.seen.servers.truncate(1);
    play.seen.successor = ChildState::Absent;
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
fn a_new_server_that_does_not_start_harms_nobody() {
    let mut play = Play::to_the_copy();
    play.seen.db = with(&play.meta, &play.spec, &{
        let mut status = serde_json::to_value(&play.seen.db.status).unwrap();
        status["upgrade"]["step"] = json!("Prepare");
        status
    })
    .db;
    let running = play.seen.pod_named("shop-17-0").unwrap().running.clone().unwrap();
    let broken = json!({ "metadata": { "namespace": "n", "name": "shop-17-0", "uid": "p-2",
            "annotations": running.annotations, "labels": running.labels },
        "status": { "containerStatuses": [{ "name": "postgres", "image": "i", "restartCount": 5, "state": { "waiting": {
            "reason": "ImagePullBackOff", "message": "no such image" } } }] } });
    play.seen.pods.retain(|pod| *pod.meta.key.name == *"shop-0");
    play.seen.pods.push(Arc::new(Pod::decode(&broken.to_string()).unwrap()));
    play.seen.jobs = Vec::new();
    assert_eq!(play.next(), ["delete StatefulSet shop-17"]);
    assert_eq!(play.step(), Some(At::RollBack));
    assert_eq!(play.condition("Ready").0, ConditionStatus::True, "nobody was shut out");
}

#[test]
fn a_new_server_that_is_another_one_gives_way_to_the_old_one() {
    let mut play = Play::to_the_switch();
    play.restarted("17.12", Login::ShutOut, "18");
    assert_eq!(play.next(), ["apply Service shop-rw"]);
    let status = &play.seen.db.status;
    assert_eq!((play.step(), status.storage.claim.as_deref()), (Some(At::RollBack), Some("data-shop-0")));
    assert_eq!((status.engine.version.as_deref(), status.system_identifier.as_deref()), (Some("15.20"), Some("7")));
    assert_eq!(status.server.as_deref(), Some("shop"));
}

#[test]
fn what_fails_before_anything_is_shut_out_changes_nothing() {
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
fn there_is_no_way_back_to_an_earlier_release() {
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
fn that_the_application_may_not_log_in_is_no_matter_of_the_upgrade() {
    let full = Login::Refused("the role app may have no connection".to_owned());
    for login in [full, Login::Busy, Login::WrongPassword] {
        let mut play = Play::to_the_switch();
        play.restarted("17.12", Login::ShutOut, "17");
        assert_eq!(play.next(), ["LetIn"]);
        let outdated = login == Login::WrongPassword;
        play.restarted("17.12", login, "17");
        if outdated {
            assert_eq!(play.next(), ["SetPassword"]);
            play.restarted("17.12", Login::In, "17");
        }
        assert_eq!(play.next(), ["delete StatefulSet shop"]);
        assert_eq!(play.seen.db.status.upgrade.downtime_milliseconds, Some(6500));
    }
}

#[test]
fn what_is_not_carried_over_is_told_before_anything_begins() {
    let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
    play.pass();
    let Effect::Create(check) = plan(&play.seen, now()).effects.remove(0) else { panic!() };
    let work = &check.body["spec"]["template"]["spec"]["containers"][0];
    assert!(
        work["command"].to_string().contains("pg-survey") && work["envFrom"][1]["secretRef"]["name"] == "shop-system"
    );
    play.ends("shop-check", 0, &json!({ "version": "17.12", "notCovered": ["the replication slot feed"] }));
    let told = |play: &mut Play, what: &str| {
        let decided = plan(&play.seen, now());
        play.pass();
        let event = decided.events.iter().find(|event| event.reason == SampleDBEvent::UpgradeLeavesBehind);
        assert!(event.is_some_and(|event| event.message.contains(what)), "{what}");
        play.pass();
        let condition = play.seen.db.status.contract.condition("UpToDate").unwrap();
        assert!(
            condition.reason == SampleDBReason::Upgrading && condition.message.contains(what),
            "{}",
            condition.message
        );
    };
    told(&mut play, "slot feed");
    assert_eq!(play.step(), Some(At::Snapshot), "before the snapshot of before");
    play.snapshot("Ready");
    let mut found = serde_json::to_value(&play.seen.snapshots[0].status).unwrap();
    found["notCovered"] = json!(["the replication slot feed", "the subscription s"]);
    play.seen.snapshots = vec![snapshot(&play.seen.snapshots[0].meta.key.name, "PreUpgrade", &found)];
    told(&mut play, "subscription s");
    assert_eq!(play.step(), Some(At::Prepare));
    assert_eq!(play.seen.db.status.upgrade.not_covered.len(), 2, "each once");
}

#[test]
fn what_a_new_catalog_leads_to_does_not_begin_everywhere_at_once() {
    let (spec, mut status) = (json!({ "engine": { "version": "15" } }), of("15.18"));
    status["observedGeneration"] = json!(1);
    let mut play = Play::new(spec.clone(), "15.18");
    play.seen.db = observed(&spec, &status).db;
    assert_eq!(play.next(), Vec::<String>::new());
    assert_eq!(play.condition("UpToDate"), (ConditionStatus::False, "UpgradeWaits".to_owned()));
    assert_eq!(play.condition("Ready").0, ConditionStatus::True);
    let later = plan(&play.seen, now() + jiff::SignedDuration::from_secs(300)).status.unwrap();
    assert_eq!(later.upgrade.step, Some(At::Check));
    // Nor does it once a manager is back that was away when the time came.
    play.seen.began = Some(now() + jiff::SignedDuration::from_secs(600));
    let at = |seconds| plan(&play.seen, now() + jiff::SignedDuration::from_secs(seconds)).status.unwrap().upgrade.step;
    assert_eq!((at(600), at(900)), (None, Some(At::Check)));
    // What somebody asks for begins at once.
    play.meta["generation"] = json!(2);
    play.seen.db = with(&play.meta, &spec, &serde_json::to_value(&play.seen.db.status).unwrap()).db;
    assert_eq!(play.next(), ["create Job shop-check"]);
}
