//! Upgrades that wait for what may never come.

use api::sample_db::UpgradeStep;

use super::super::*;
use super::play::Play;
use crate::database::login::LoginCheck;
use crate::database::tests::server::says;
use crate::database::upgrade::polling::{copy_result_poll, requeue_after};

/// When it requeues.
fn next(play: &Play) -> Duration {
    assert!(matches!(plan(&play.seen, now()).next, Requeue::After(_)));
    requeue_after(&play.seen, now())
}

/// As if the step had begun that many minutes ago.
fn minutes_ago(play: &mut Play, minutes: i64) {
    let mut status = serde_json::to_value(&play.seen.db.status).unwrap();
    status["upgrade"]["stepSince"] = json!(now() - jiff::SignedDuration::from_mins(minutes));
    play.seen.db = with(&play.meta, &play.spec, &status).db;
}

#[test]
fn the_result_of_a_copy_whose_pod_has_not_started_is_not_polled() {
    let mut play = Play::to_the_copy();
    play.pending("shop-upgrade-17-12");
    assert!(
        next(&play) >= Duration::from_secs(10) && copy_result_poll(&play.seen, now()).is_none(),
        "{:?}",
        next(&play)
    );
    play.works("shop-upgrade-17-12");
    assert!(next(&play) < Duration::from_secs(1), "the end of a copy is noticed at once");
    play.works_since("shop-upgrade-17-12", "2027-01-15T07:57:00Z");
    assert!(next(&play) >= Duration::from_secs(10), "each poll of the result is a login");
}

#[test]
fn a_copy_whose_pod_no_node_accepts_is_given_up() {
    let mut play = Play::to_the_copy();
    play.pending("shop-upgrade-17-12");
    minutes_ago(&mut play, 10);
    play.pass();
    assert_eq!(play.step(), Some(UpgradeStep::Copy), "a node may come");
    minutes_ago(&mut play, 11);
    play.pass();
    assert_eq!(play.step(), Some(UpgradeStep::RollBack));
    let reported = play.seen.db.status.upgrade.message.clone().unwrap();
    assert!(reported.contains("shop-upgrade-17-12") && reported.contains("0/3 nodes"), "{reported}");
}

#[test]
fn a_copy_whose_job_creates_no_pod_is_given_up() {
    let mut play = Play::to_the_copy();
    play.pending("shop-upgrade-17-12");
    play.seen.pods.truncate(2);
    minutes_ago(&mut play, 11);
    play.seen.probe = says(|answer| answer.version = "15.20".to_owned());
    play.pass();
    assert_eq!(play.step(), Some(UpgradeStep::RollBack));
}

#[test]
fn a_server_that_rejects_its_superuser_or_is_silent_waits_for_the_user() {
    let finish = || {
        let mut play = Play::to_the_switch();
        play.restarted("17.12", LoginCheck::Blocked, "17");
        assert_eq!(play.next(), ["AllowConnections"]);
        play
    };
    let back = || {
        let mut play = Play::to_the_copy();
        play.ends("shop-upgrade-17-12", 1, &json!({ "reason": "NoSpace", "message": "no room" }));
        play.next();
        (play.seen.jobs, play.seen.pods) = (Vec::new(), play.seen.pods[..2].to_vec());
        play
    };
    for (mut play, step) in [(finish(), UpgradeStep::Finish), (back(), UpgradeStep::RollBack)] {
        play.seen.probe = ServerProbe::BadPassword;
        play.next();
        assert_eq!(play.step(), Some(step));
        assert_eq!(play.condition("Stalled"), (ConditionStatus::True, "SuperuserShutOut".to_owned()));
        play.seen.probe = ServerProbe::Failed("the server does not answer within 3 s".to_owned());
        play.next();
        assert_eq!(
            play.condition("Reconciling").1,
            if step == UpgradeStep::Finish { "Upgrading" } else { "RollingBack" }
        );
        play.seen.silent_for = Some(Duration::from_secs(121));
        play.next();
        assert_eq!(play.condition("Stalled"), (ConditionStatus::True, "ServerSilent".to_owned()));
        assert_eq!(play.condition("Ready").0, ConditionStatus::False);
    }
}

#[test]
fn a_new_server_that_does_not_answer_is_rolled_back() {
    let mut play = Play::to_the_switch();
    play.restarted("17.12", LoginCheck::Blocked, "17");
    play.seen.probe = ServerProbe::BadPassword;
    play.pass();
    assert_eq!(play.step(), Some(UpgradeStep::Switch));
    minutes_ago(&mut play, 11);
    play.pass();
    assert_eq!(play.step(), Some(UpgradeStep::RollBack));
}

/// The agent does not dump those while clients work in them (CVE-2024-7348).
#[test]
fn a_server_that_is_unsafe_to_dump_is_saved_physically_before_its_upgrade() {
    let method = |from: &str, to: &str, release: &str| {
        let mut play = Play::new(json!({ "engine": { "version": to } }), from);
        play.next();
        play.ends("shop-check", 0, &json!({ "version": release }));
        for _ in 0..5 {
            let decided = plan(&play.seen, now());
            if let Some(Effect::Create(create)) = decided.effects.first() {
                assert_eq!(create.kind.kind, "SampleDBSnapshot");
                return create.body["spec"]["method"].clone();
            }
            play.pass();
        }
        panic!("there is no snapshot of before");
    };
    assert_eq!(method("15.7", "15", "15.20"), "Physical");
    assert_eq!(method("15.7", "17", "17.12"), "Physical");
    assert_eq!(method("15.18", "15", "15.20"), Value::Null, "as the SampleDB says");
    assert_eq!(method("13.15", "17", "17.12"), "Physical");
    assert_eq!(method("13.23", "17", "17.12"), Value::Null);
}

/// Snapshots take hours: applications must not be locked out for as long.
#[test]
fn an_edited_password_is_set_while_an_upgrade_waits_with_clients_allowed() {
    let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
    assert_eq!(play.next(), ["create Job shop-check"]);
    let edited = |play: &mut Play| {
        play.seen.probe = says(|answer| (answer.version, answer.login) = ("15.20".to_owned(), LoginCheck::BadPassword));
        let reported = play.next();
        play.seen.probe = says(|answer| answer.version = "15.20".to_owned());
        reported
    };
    assert_eq!(edited(&mut play), ["SetPassword"]);
    play.ends("shop-check", 0, &json!({ "version": "17.12" }));
    play.next();
    play.snapshot("Running");
    assert_eq!(edited(&mut play), ["SetPassword"]);
    assert_eq!(play.step(), Some(UpgradeStep::Snapshot));
    let mut copy = Play::to_the_copy();
    copy.works("shop-upgrade-17-12");
    assert_eq!(edited(&mut copy), Vec::<String>::new(), "no client writes to what is being copied");
}

#[test]
fn an_upgrade_does_not_wait_for_ever_for_a_volume_that_cannot_be_created() {
    let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
    play.next();
    play.ends("shop-check", 0, &json!({ "version": "17.12" }));
    play.next();
    play.snapshot("Ready");
    assert_eq!(play.next(), ["apply PersistentVolumeClaim data-shop-17"]);
    minutes_ago(&mut play, 11);
    play.pass();
    assert_eq!(play.step(), Some(UpgradeStep::RollBack));
}

/// As long as clients were not blocked for it.
#[test]
fn an_upgrade_is_canceled_with_the_spec() {
    let begun = |steps: usize| {
        let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
        play.next();
        if steps > 0 {
            play.ends("shop-check", 0, &json!({ "version": "17.12" }));
            play.next();
        }
        if steps > 1 {
            play.snapshot("Ready");
            play.next();
        }
        play
    };
    for (steps, at) in [UpgradeStep::Check, UpgradeStep::Snapshot, UpgradeStep::Prepare].into_iter().enumerate() {
        for (spec, goes_on) in [
            (json!({ "engine": { "version": "15" } }), false),
            (json!({ "engine": { "version": "13" } }), false),
            (json!({ "engine": { "version": "17" }, "upgrade": { "policy": "Manual" } }), false),
            (json!({ "engine": { "version": "17" }, "backup": { "suspend": true } }), true),
        ] {
            let mut play = begun(steps);
            assert_eq!(play.step(), Some(at));
            let status = serde_json::to_value(&play.seen.db.status).unwrap();
            play.spec = spec.clone();
            play.seen.db = with(&play.meta, &play.spec, &status).db;
            play.seen.jobs = Vec::new();
            play.seen.pods.truncate(1);
            (0..8).for_each(|_| drop(play.pass()));
            let upgrade = &play.seen.db.status.upgrade;
            if goes_on {
                assert!(upgrade.step.is_some(), "{spec} in {at:?}");
                continue;
            }
            assert_eq!((upgrade.step, upgrade.retry_after_generation), (None, None), "{spec} in {at:?}");
            let reported = upgrade.message.clone().unwrap();
            assert!(reported.contains("canceled") && reported.contains("no longer"), "{reported}");
            assert_eq!(play.seen.db.status.engine.running.as_deref(), Some("15.20"));
        }
    }
}

/// A quota or a policy refuses its Job. Clients are allowed, and the upgrade is canceled with the spec.
#[test]
fn what_blocks_the_pre_upgrade_snapshot_is_reported() {
    let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
    play.next();
    play.ends("shop-check", 0, &json!({ "version": "17.12" }));
    play.next();
    let refused = json!({ "type": "Ready", "status": "False", "reason": "Forbidden", "observedGeneration": 1,
        "message": "exceeded quota: few", "lastTransitionTime": "2027-01-15T07:00:00Z" });
    let status = json!({ "phase": "Running", "sampleDBUID": "u-1", "observedGeneration": 1, "conditions": [refused] });
    let name = crate::operand::names::pre_upgrade_snapshot(&play.seen.db);
    play.seen.snapshots = vec![snapshot(&name, "PreUpgrade", &status)];
    play.seen.jobs = Vec::new();
    assert_eq!(play.next(), Vec::<String>::new());
    assert_eq!((play.step(), play.condition("Ready").0), (Some(UpgradeStep::Snapshot), ConditionStatus::True));
    let reported = play.seen.db.status.contract.condition("Reconciling").unwrap().message.clone();
    assert!(reported.contains(&name) && reported.ends_with("exceeded quota: few"), "{reported}");
    play.spec = json!({ "engine": { "version": "15" } });
    play.seen.db = with(&play.meta, &play.spec, &serde_json::to_value(&play.seen.db.status).unwrap()).db;
    play.next();
    assert_eq!(play.step(), None);
}
