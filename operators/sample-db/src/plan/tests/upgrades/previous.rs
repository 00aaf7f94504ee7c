//! The volume of before an upgrade.

use super::super::server::stand;
use super::super::*;
use super::play::{Play, of};

#[test]
fn the_old_volume_goes_when_its_time_is_over() {
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

/// What runs 15.18 after an upgrade, whose volume of before is kept until tomorrow.
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
fn a_minor_upgrade_keeps_the_volume_that_was_promised() {
    let mut play = after_an_upgrade("15");
    assert_eq!(play.next(), ["create Job shop-check"], "the volume of before stays");
    assert_eq!(play.seen.db.status.storage.previous_claim.as_deref(), Some("data-shop-0"));
    assert!(play.seen.db.status.storage.previous_claim_until.is_some());
}

#[test]
fn a_major_upgrade_waits_until_the_volume_of_before_is_kept_no_longer() {
    let mut play = after_an_upgrade("17");
    assert_eq!(play.next(), Vec::<String>::new());
    assert_eq!(play.condition("UpToDate"), (ConditionStatus::False, "PreviousVolumeKept".to_owned()));
    assert_eq!(play.condition("Ready").0, ConditionStatus::True);
    // Somebody gives it up.
    play.seen.claims.retain(|claim| *claim.meta.key.name != *"data-shop-0");
    assert_eq!(play.next(), ["create Job shop-check"]);
}
