//! What the pods of a database can write to, and that none has a token. Those of its snapshots: `snapshot/tests/mounts.rs`.

use runtime::plan::{Apply, Create};

use super::upgrades::play::Play;
use super::*;
use crate::database::login::LoginCheck;
use crate::database::pinned::Pinned;
use crate::mounted::mounted;

/// Of the pods of a Job, or of a StatefulSet.
fn of(body: &Value) -> Vec<String> {
    mounted(&body["spec"]["template"]["spec"])
}

/// The Job that is created next.
fn created_job(seen: &Observed) -> (String, Vec<String>) {
    let plan = plan(seen, now());
    let Some(Effect::Create(Create { key, body, .. })) = plan.effects.last() else { panic!("{:?}", plan.effects) };
    (key.name.to_string(), of(body))
}

fn a_snapshot(method: &str) -> Arc<Snapshot> {
    let location = json!({ "claim": "old-snapshots", "path": "old-1" });
    snapshot("old-1", "Manual", &json!({ "phase": "Ready", "method": method, "location": location, "sha256": "a" }))
}

#[test]
fn a_server_can_write_to_its_data_alone_and_has_no_token() {
    let serves = ["install:", "prepare: data, configuration", "postgres: data, configuration, shm"];
    let mut seen = observed(&json!({}), &latched());
    let pinned = Pinned::of(&seen).unwrap();
    let (logical, physical) = (a_snapshot("Logical"), a_snapshot("Physical"));
    let server = |seen: &Observed, source| {
        let Apply { body, .. } = objects::server(seen, &pinned, source);
        of(&body)
    };
    assert_eq!(server(&seen, None), serves);
    assert_eq!(server(&seen, Some(&*logical)), serves, "a Job restores it");
    let filled = ["install:", "prepare: data, configuration, snapshots to read", "postgres: data, configuration, shm"];
    assert_eq!(server(&seen, Some(&*physical)), filled);
    let probe = objects::replacement_pod(&seen, &pinned, Some(&*physical));
    assert_eq!(mounted(&probe.body["spec"]), filled);
    assert_eq!(of(&objects::target_server(&seen, &pinned).body), serves);
    seen = observed(&json!({}), &initialised());
    assert_eq!(server(&seen, Some(&*physical)), serves, "its data is never recreated");
}

#[test]
fn jobs_of_a_database_can_write_to_no_volume_and_have_no_token() {
    let spec = json!({ "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "a" } },
        { "secretKeyRef": { "name": "sql", "key": "b" } }] } });
    let seen = observed(&spec, &latched());
    let job = |job| of(&agent_job::job(job, &seen.pod_context("postgres:17")).body);
    assert_eq!(job(init::job(&seen.db)), ["install:", "work: sql-0, sql-1"]);
    assert_eq!(job(restore::job(&seen.db, &a_snapshot("Logical"))), ["install:", "work: snapshots to read"]);
}

#[test]
fn jobs_of_an_upgrade_have_no_volume_and_no_token() {
    let nothing = |name: &str| (name.to_owned(), vec!["install:".to_owned(), "work:".to_owned()]);
    let mut minor = Play::new(json!({ "engine": { "version": "15" } }), "15.18");
    minor.next();
    assert_eq!(created_job(&minor.seen), nothing("shop-check"));
    minor.ends("shop-check", 0, &json!({ "version": "15.20" }));
    minor.next();
    minor.snapshot("Ready");
    minor.next();
    minor.restarted("15.20", LoginCheck::Ok, "7");
    minor.next();
    assert_eq!(created_job(&minor.seen), nothing("shop-upgrade-15-20"));
    assert_eq!(created_job(&Play::to_the_copy().seen), nothing("shop-upgrade-17-12"));
    let mut major = Play::to_the_switch();
    major.restarted("17.12", LoginCheck::Blocked, "17");
    major.next();
    major.restarted("17.12", LoginCheck::Ok, "17");
    major.next();
    major.seen.servers.remove(0);
    major.next();
    assert_eq!(created_job(&major.seen), nothing("shop-finish-17-12"));
}
