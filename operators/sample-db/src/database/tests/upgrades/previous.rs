//! The volume, the snapshot and the image from before an upgrade.

use api::sample_db::{UpgradeResult, UpgradeStep};

use super::super::*;
use super::play::{Play, of};
use crate::database::tests::server::stand;

#[test]
fn the_previous_volume_is_deleted_when_its_time_is_over() {
    let mut status = of("17.12");
    status["storage"]["claim"] = json!("data-shop-17");
    status["storage"]["previousClaim"] = json!("data-shop-0");
    status["storage"]["previousClaimUntil"] = json!("2026-01-01T00:00:00Z");
    let mut play = Play::new(json!({}), "17.12");
    play.claim("data-shop-17");
    play.seen.db = observed(&json!({}), &status).db;
    status["storage"]["claimUID"] = json!("data-shop-17");
    play.seen.db = observed(&json!({}), &status).db;
    stand(&mut play.seen);
    assert_eq!(play.next(), ["delete PersistentVolumeClaim data-shop-0"]);
    play.seen.claims.remove(0);
    assert_eq!(play.next(), Vec::<String>::new());
    assert_eq!(play.seen.db.status.storage.previous_claim, None);
}

/// A database after an upgrade to 15.18, whose previous volume is kept until tomorrow.
fn after_an_upgrade(version: &str) -> Play {
    let mut status = of("15.18");
    status["storage"] = json!({ "claim": "data-shop-15", "claimUID": "data-shop-15", "previousClaim": "data-shop-0",
        "previousClaimUntil": "2027-01-16T00:00:00Z" });
    let spec = json!({ "engine": { "version": version } });
    let mut play = Play::new(spec.clone(), "15.18");
    play.claim("data-shop-15");
    play.seen.db = observed(&spec, &status).db;
    stand(&mut play.seen);
    play
}

#[test]
fn a_minor_upgrade_keeps_the_previous_volume() {
    let mut play = after_an_upgrade("15");
    assert_eq!(play.next(), ["create Job shop-check"], "the previous volume is kept");
    assert_eq!(play.seen.db.status.storage.previous_claim.as_deref(), Some("data-shop-0"));
    assert!(play.seen.db.status.storage.previous_claim_until.is_some());
}

#[test]
fn a_major_upgrade_waits_until_the_previous_volume_may_be_deleted() {
    let mut play = after_an_upgrade("17");
    assert_eq!(play.next(), Vec::<String>::new());
    assert_eq!(play.condition("UpToDate"), (ConditionStatus::False, "PreviousVolumeKept".to_owned()));
    assert_eq!(play.condition("Ready").0, ConditionStatus::True);
    // A user gives it up.
    play.seen.claims.retain(|claim| *claim.meta.key.name != *"data-shop-0");
    assert_eq!(play.next(), ["create Job shop-check"]);
}

/// It may be the only copy of the data from before the upgrade, once the previous volume is deleted.
#[test]
fn an_unverified_pre_upgrade_snapshot_stops_the_upgrade() {
    let at_the_snapshot = |verification: &str| {
        let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
        play.next();
        play.ends("shop-check", 0, &json!({ "version": "17.12" }));
        play.next();
        let status = json!({ "phase": "Ready", "sampleDBUID": "u-1", "error": "check 1: the result is 1, not 2",
            "verification": { "phase": verification } });
        let name = crate::operand::names::pre_upgrade_snapshot(&play.seen.db);
        play.seen.snapshots = vec![snapshot(&name, "PreUpgrade", &status)];
        play.seen.jobs = Vec::new();
        (play.next(), play)
    };
    let (effects, play) = at_the_snapshot("Failed");
    let upgrade = &play.seen.db.status.upgrade;
    assert_eq!((effects, upgrade.step, upgrade.result), (Vec::new(), None, Some(UpgradeResult::RolledBack)));
    let message = upgrade.message.clone().unwrap();
    assert!(message.contains("was not verified: check 1") && message.contains("nothing was changed"), "{message}");
    for doubtful in ["Running", "Pending"] {
        let (effects, play) = at_the_snapshot(doubtful);
        assert_eq!((effects, play.step()), (Vec::new(), Some(UpgradeStep::Snapshot)), "{doubtful}");
    }
    for enough in ["Passed", "Skipped"] {
        assert_eq!(at_the_snapshot(enough).1.step(), Some(UpgradeStep::Prepare), "{enough}");
    }
}

#[test]
fn an_image_other_than_the_catalogs_is_reported_with_the_way_to_that() {
    let message = |image: &str| {
        let (spec, mut status) = (json!({}), of("17.12"));
        status["engine"]["image"] = json!(image);
        let mut play = Play::new(spec.clone(), "17.12");
        play.seen.db = observed(&spec, &status).db;
        let status = plan(&play.seen, now()).status.unwrap();
        assert_eq!(reason(&status, "UpToDate"), (ConditionStatus::True, "Current".to_owned()));
        status.contract.condition("UpToDate").unwrap().message.clone()
    };
    assert_eq!(message("docker.io/library/postgres:17.12"), "the database runs the desired release");
    let reported = message("mirror/postgres:17.12");
    assert!(
        reported.contains("mirror/postgres:17.12")
            && reported.contains("the catalog lists docker.io/library/postgres:17.12"),
        "{reported}"
    );
}
