//! Backups are taken whatever the steps do, and whatever of these fails.

use super::server::{stand, standing, terminating_pod};
use super::upgrades::play::Play;
use super::*;
use crate::database::backup;
use crate::database::login::LoginCheck;

const DUE: &str = "create SampleDBSnapshot shop-2701150730";

/// A status with a backup of 07:30 that is due at 08:00.
fn due() -> Value {
    let mut status = initialised();
    status["backup"] = json!({ "lastScheduled": "2027-01-15T06:30:00Z" });
    status["volumes"] = json!([{ "claim": "data-shop-0", "capacity": "1Gi" }]);
    status
}

fn hourly(more: &Value) -> Value {
    let mut spec = json!({ "backup": { "schedule": "30 * * * *" } });
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    spec
}

#[test]
fn a_step_that_always_fails_does_not_block_backups() {
    let mut seen = standing(&hourly(&json!({})), &due());
    let taken = hourly(&json!({ "service": { "type": "NodePort", "nodePort": 30000 } }));
    seen.db = observed(&taken, &due()).db;
    assert_eq!(done(&plan(&seen, now())), [DUE, "apply Service shop-rw"]);
    // Nor does a backup that cannot be created block the steps.
    let minute = now() + jiff::SignedDuration::from_mins(1);
    assert_eq!(done(&plan(&seen, minute)), ["apply Service shop-rw", DUE]);
    let mut seen = standing(&hourly(&json!({})), &due());
    seen.app_secret = SecretState::Outdated;
    assert_eq!(done(&plan(&seen, now())), [DUE, "UpdateSecret(App)"]);
}

#[test]
fn no_backup_is_started_of_a_server_that_is_about_to_stop_or_blocks_clients() {
    let mut seen = standing(&hourly(&json!({})), &due());
    let other = hourly(&json!({ "resources": { "limits": { "memory": "1Gi" } } }));
    seen.db = observed(&other, &due()).db;
    let pods = seen.pods.clone();
    stand(&mut seen);
    seen.pods = pods;
    let restarts = plan(&seen, now());
    assert_eq!(done(&restarts), ["delete Pod shop-0"]);
    assert_eq!(restarts.status.unwrap().backup.last_scheduled, seen.db.status.backup.last_scheduled);
    let mut seen = standing(&hourly(&json!({})), &due());
    seen.probe = super::server::says(|answer| answer.login = LoginCheck::Blocked);
    assert_eq!(done(&plan(&seen, now())), ["AllowConnections"]);
    seen.pods = vec![terminating_pod(&seen)];
    seen.app_secret = SecretState::Outdated;
    assert_eq!(done(&plan(&seen, now())), ["UpdateSecret(App)"]);
}

/// The planned status is written even if an effect fails, so a slot is over only once its snapshot is observed.
#[test]
fn a_backup_that_could_not_be_created_is_still_due() {
    let mut seen = standing(&hourly(&json!({})), &due());
    let first = plan(&seen, now());
    assert_eq!(done(&first), [DUE]);
    let before = seen.db.status.backup.last_scheduled;
    assert_eq!(first.status.unwrap().backup.last_scheduled, before);
    seen.snapshots =
        vec![snapshot("shop-2701150730", "Scheduled", &json!({ "phase": "Running", "sampleDBUID": "u-1" }))];
    let then = plan(&seen, now());
    assert_eq!(done(&then), Vec::<String>::new());
    assert_eq!(then.status.unwrap().backup.last_scheduled, Some("2027-01-15T07:30:00Z".parse().unwrap()));
    // The first snapshot is named after the minute in which it is started.
    let mut seen = standing(&json!({}), &initialised());
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-2701150800"]);
    seen.snapshots = vec![snapshot("shop-2701150759", "Scheduled", &json!({}))];
    let begun = backup::decide(&seen, now());
    assert!(begun.effect.is_none());
    assert_eq!(backup::status(&seen, &begun).last_scheduled, Some(now()));
}

/// The effects at that moment of an upgrade, with a backup that is due.
fn at(play: &mut Play) -> Vec<String> {
    let mut status = serde_json::to_value(&play.seen.db.status).unwrap();
    status["backup"] = due()["backup"].clone();
    play.spec["backup"] = json!({ "schedule": "30 * * * *" });
    play.seen.db = with(&play.meta, &play.spec, &status).db;
    done(&plan(&play.seen, now()))
}

#[test]
fn backups_are_taken_during_an_upgrade_while_clients_are_allowed() {
    let mut play = Play::new(json!({ "engine": { "version": "17" } }), "15.20");
    assert_eq!(play.next(), ["create Job shop-check"]);
    assert_eq!(at(&mut play), [DUE, "create Job shop-check"], "a quota may reject the Job in each reconcile");
    let mut play = Play::to_the_copy();
    play.works("shop-upgrade-17-12");
    assert_eq!(at(&mut play), Vec::<String>::new(), "clients cannot write");
    let mut status = serde_json::to_value(&play.seen.db.status).unwrap();
    status["upgrade"]["step"] = json!("Prepare");
    play.seen.db = with(&play.meta, &play.spec, &status).db;
    play.seen.pods.retain(|pod| *pod.meta.key.name == *"shop-0");
    assert_eq!(at(&mut play), [DUE], "the new server is waited for");
    let mut play = Play::to_the_switch();
    play.restarted("17.12", LoginCheck::Blocked, "17");
    assert_eq!(play.next(), ["AllowConnections"]);
    assert_eq!(at(&mut play), ["AllowConnections"]);
    play.restarted("17.12", LoginCheck::Ok, "17");
    play.next();
    play.seen.servers.remove(0);
    assert_eq!(at(&mut play), [DUE, "create Job shop-finish-17-12"]);
}
