//! Single scenarios, most of them found by the random ones.

use runtime::testing::fault_injection::{ActAnswer, ReconcileFaults};
use serde_json::{Value, json};

use runtime::cache::Projection as _;
use runtime::projections::{Job, Pod, Pvc};
use sample_db::{SampleDB, Snapshot};

use crate::collector::Propagation;
use crate::crash_points::{upgrade_to, with_version, without_initial_backup};
use crate::faults::{Edit, Step};
use crate::invariants::is_verified;
use crate::settle::{condition, is};
use crate::simulation::Simulation;

/// Settles.
pub fn settle(sim: &mut Simulation) {
    if let Err(why) = sim.settle() {
        panic!("{why}\n{}", sim.report());
    }
}

/// A settled simulation with a database of that spec.
pub fn settled(spec: &Value) -> Simulation {
    let mut sim = Simulation::new(spec);
    settle(&mut sim);
    sim
}

/// A spec with initial SQL.
pub fn default_spec() -> Value {
    json!({ "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "init.sql" } }] },
        "upgrade": { "keepPreviousVolumeFor": "10m" } })
}

#[test]
fn a_database_comes_up() {
    let sim = settled(&default_spec());
    assert!(sim.infra.acked["shop"].len() > 3, "{}", sim.report());
}

#[test]
fn a_server_that_was_stopped_serves_again() {
    let mut sim = settled(&default_spec());
    let rows = sim.infra.acked["shop"].len();
    sim.take(&Step::StopServer);
    sim.take(&Step::Rounds(20));
    let db = sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there");
    assert!(!is(db, "Ready"), "{}", sim.report());
    settle(&mut sim);
    sim.take(&Step::Rounds(5));
    assert!(sim.infra.acked["shop"].len() > rows, "clients can write again\n{}", sim.report());
}

#[test]
fn a_server_that_hangs_while_it_is_configured_is_reported_and_not_restarted() {
    let mut spec = default_spec();
    spec["engine"] = json!({ "maxSilenceSeconds": 30 });
    let mut sim = Simulation::new(&spec);
    let pod = |sim: &Simulation| {
        let pod = sim.cluster.get(Pod::KIND, &sim.key.sibling("shop-0"));
        pod.map(|pod| pod["metadata"]["uid"].clone())
    };
    let at_work = |sim: &Simulation| sim.cluster.get(Job::KIND, &sim.key.sibling("shop-init")).is_some();
    while !at_work(&sim) {
        sim.round();
    }
    let before = pod(&sim);
    sim.take(&Step::StopServer);
    sim.take(&Step::Rounds(25));
    let db = sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there");
    assert_eq!(condition(db, "Stalled")["reason"], "ServerSilent", "{}", sim.report());
    assert_eq!(pod(&sim), before, "{}", sim.report());
    sim.take(&Step::DeletePod(0));
    settle(&mut sim);
}

/// The server's pod.
fn pod(sim: &Simulation) -> &Value {
    let pod = sim.cluster.get(Pod::KIND, &sim.key.sibling("shop-0"));
    pod.unwrap_or_else(|| panic!("no pod\n{}", sim.report()))
}

#[test]
fn a_pod_that_serves_is_not_deleted_for_one_that_the_api_server_rejects() {
    let mut sim = settled(&default_spec());
    let (key, before) = (sim.key.clone(), pod(&sim)["metadata"]["uid"].clone());
    sim.infra.faults.rejects = Some("forbidden");
    sim.cluster.edit(SampleDB::KIND, &key, |db| db["spec"]["nodeSelector"] = json!({ "disk": "forbidden" }));
    let rows = sim.infra.acked["shop"].len();
    sim.take(&Step::Rounds(20));
    let db = sim.cluster.get(SampleDB::KIND, &key).expect("it is there");
    assert_eq!(pod(&sim)["metadata"]["uid"], before, "{}", sim.report());
    assert!(sim.infra.acked["shop"].len() > rows && is(db, "Ready"), "{}", sim.report());
    assert_eq!(condition(db, "Stalled")["reason"], "PodRefused", "{}", sim.report());

    sim.take(&Step::DeletePod(0));
    sim.take(&Step::Rounds(20));
    assert_ne!(pod(&sim)["metadata"]["uid"], before, "{}", sim.report());
    let db = sim.cluster.get(SampleDB::KIND, &key).expect("it is there");
    assert!(is(db, "Ready"), "a pod that is lost comes back as it was\n{}", sim.report());
    settle(&mut sim);
    assert_eq!(pod(&sim)["spec"]["nodeSelector"]["disk"], "forbidden", "{}", sim.report());
}

#[test]
fn a_pod_that_serves_is_not_deleted_for_one_that_no_node_takes() {
    let mut sim = settled(&default_spec());
    let before = pod(&sim)["metadata"]["uid"].clone();
    sim.infra.faults.nowhere = Some("nowhere");
    sim.take(&Step::Edit(Edit::Node("nowhere")));
    let rows = sim.infra.acked["shop"].len();
    sim.take(&Step::Rounds(20));
    let db = sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there");
    assert_eq!(pod(&sim)["metadata"]["uid"], before, "{}", sim.report());
    assert!(sim.infra.acked["shop"].len() > rows && is(db, "Ready"), "{}", sim.report());
    assert_eq!(condition(db, "Stalled")["reason"], "PodRefused", "{}", sim.report());

    let mut deleted = sim.fork();
    deleted.take(&Step::Delete(Propagation::Background));
    deleted.come_to_rest().unwrap_or_else(|why| panic!("its last snapshot is taken: {why}\n{}", deleted.report()));

    let mut taken_back = sim.fork();
    let key = sim.key.clone();
    taken_back.cluster.edit(SampleDB::KIND, &key, |db| db["spec"]["nodeSelector"] = json!({}));
    settle(&mut taken_back);
    assert_eq!(pod(&taken_back)["metadata"]["uid"], before, "{}", taken_back.report());
    assert_eq!(taken_back.cluster.all(Job::KIND).filter(|(key, _)| key.name.ends_with("-trial")).count(), 0);

    sim.take(&Step::DeletePod(0));
    sim.take(&Step::Rounds(20));
    assert_ne!(pod(&sim)["metadata"]["uid"], before, "{}", sim.report());
    let db = sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there");
    assert!(is(db, "Ready"), "a pod that is lost comes back as it was\n{}", sim.report());
    settle(&mut sim);
    assert_eq!(pod(&sim)["spec"]["nodeSelector"]["disk"], "nowhere", "{}", sim.report());
}

/// Whatever the upgrade does at that moment, the database serves in the end, by one server or the other.
#[test]
fn an_upgrade_never_replaces_the_server_by_one_that_no_node_takes() {
    for (spec, to) in [(with_version("15.18"), "15"), (with_version("15"), "17")] {
        let mut upgrading = settled(&without_initial_backup(spec));
        upgrading.infra.faults.nowhere = Some("nowhere");
        upgrading.take(&crate::crash_points::upgrade_to(to));
        for moment in 0..60 {
            let mut sim = upgrading.fork();
            sim.take(&Step::Edit(Edit::Node("nowhere")));
            sim.take(&Step::Rounds(100));
            let db = sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there");
            assert!(is(db, "Ready"), "to {to}, after {moment} rounds\n{}", sim.report());
            settle(&mut sim);
            if upgrading.at_rest().is_ok() && moment > 1 {
                break;
            }
            upgrading.round();
        }
    }
}

#[test]
fn an_upgrade_whose_pod_the_api_server_rejects_is_rolled_back_without_a_restart() {
    let mut sim = settled(&with_version("15.18"));
    let before = pod(&sim)["metadata"]["uid"].clone();
    sim.infra.faults.rejects = Some("postgres:15.20");
    sim.take(&upgrade_to("15"));
    sim.take(&Step::Rounds(60));
    let db = sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there");
    assert_eq!(db["status"]["upgrade"]["result"], "RolledBack", "{}", sim.report());
    assert!(is(db, "Ready"), "{}", sim.report());
    assert_eq!(pod(&sim)["metadata"]["uid"], before, "{}", sim.report());
}

#[test]
fn a_minor_upgrade_leaves_the_volume_that_was_promised() {
    let mut spec = default_spec();
    spec["engine"] = json!({ "version": "13" });
    spec["upgrade"] = json!({ "keepPreviousVolumeFor": "24h" });
    let mut sim = settled(&spec);
    for version in [1, 2] {
        sim.take(&Step::Edit(Edit::Version(version)));
        settle(&mut sim);
    }
    let db = sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there");
    assert_eq!(db["status"]["engine"]["running"], "15.20", "{}", sim.report());
    assert_eq!(db["status"]["storage"]["previousClaim"], "data-shop-0", "{}", sim.report());
    assert!(sim.cluster.get(Pvc::KIND, &sim.key.sibling("data-shop-0")).is_some(), "{}", sim.report());
}

#[test]
fn lost_data_is_never_created_again() {
    let mut sim = settled(&default_spec());
    for volume in sim.infra.disks.volumes.values_mut() {
        volume.data = None;
    }
    let pod = sim.infra.pod_states.keys().next().cloned().expect("there is one");
    sim.infra.kill(&pod);
    sim.take(&Step::DeletePod(0));
    sim.take(&Step::Rounds(60));
    let db = sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there");
    assert!(sim.check_invariants().is_ok(), "{:?}\n{}", sim.check_invariants(), sim.report());
    assert!(is(db, "Stalled") && condition(db, "Stalled")["reason"] == "DataMissing", "{}", sim.report());
    assert!(sim.infra.disks.volumes.values().all(|volume| volume.data.is_none()), "{}", sim.report());
}

#[test]
fn the_newest_verified_snapshot_outlives_unverified_ones() {
    let mut sim = settled(&default_spec());
    let key = sim.key.clone();
    sim.take(&Step::Edit(Edit::Schedule(1)));
    let verified =
        |sim: &Simulation| sim.cluster.all(Snapshot::KIND).filter(|(_, snapshot)| is_verified(snapshot)).count();
    assert_eq!(verified(&sim), 1, "{}", sim.report());
    sim.cluster.edit(SampleDB::KIND, &key, |db| db["spec"]["backup"]["verify"] = json!({ "mode": "None" }));
    for _ in 0..5 {
        sim.take(&Step::Wait(10));
        sim.take(&Step::Rounds(20));
    }
    assert!(sim.check_invariants().is_ok(), "{:?}\n{}", sim.check_invariants(), sim.report());
    assert_eq!(verified(&sim), 1, "{}", sim.report());
    assert_eq!(sim.cluster.all(Snapshot::KIND).count(), 3, "{}", sim.report());
}

#[test]
fn a_deletion_does_not_wait_for_a_backup_that_cannot_log_in() {
    let mut sim = Simulation::new(&json!({ "backup": {}, "engine": { "version": null } }));
    for step in [
        Step::Reconcile(ReconcileFaults { crash_after: None, act_answer: ActAnswer::Delivered, stale_caches: false }),
        Step::Rounds(13),
        Step::CreateSnapshot { physical: false },
        Step::DeleteSecret(71),
        Step::Rounds(2),
        Step::Delete(Propagation::Background),
    ] {
        sim.take(&step);
    }
    settle(&mut sim);
}

#[test]
fn a_previous_volume_whose_pvc_a_user_deletes_is_promised_no_longer() {
    let mut sim = settled(&without_initial_backup(with_version("15")));
    sim.take(&upgrade_to("17"));
    settle(&mut sim);
    let storage = |sim: &Simulation| sim.object().expect("it is there")["status"]["storage"].clone();
    assert_eq!(storage(&sim)["previousClaim"], "data-shop-0", "{}", sim.report());
    sim.take(&Step::DeleteDataPvc(0));
    sim.take(&Step::Rounds(6));
    let after = storage(&sim);
    assert!(after["previousClaim"].is_null() && after["claim"] == "data-shop-17", "{}", sim.report());
    settle(&mut sim);
}

/// The volume has data that status does not record yet, created with the password of a deleted Secret.
#[test]
fn a_superuser_secret_that_is_deleted_during_initdb_is_replaced() {
    for rounds in 1..10 {
        for ticks in 0..4 {
            let mut sim = Simulation::new(&without_initial_backup(default_spec()));
            sim.take(&Step::Rounds(rounds));
            (0..ticks).for_each(|_| sim.tick());
            for step in [Step::DeleteSecret(1), Step::DeletePod(0), Step::Tick, Step::DeletePod(0)] {
                sim.take(&step);
            }
            if let Err(why) = sim.settle() {
                panic!("after {rounds} rounds and {ticks} ticks: {why}\n{}", sim.report());
            }
        }
    }
}
