//! Single stories, most of them found by the random ones.

use runtime::testing::branching::{Answer, Pass};
use serde_json::{Value, json};

use runtime::cache::Projection as _;
use runtime::projections::{Claim, Job, Pod};
use sample_db::{SampleDB, Snapshot};

use crate::bench::Bench;
use crate::boundaries::{of, quiet, to};
use crate::collector::Propagation;
use crate::faults::{Edit, Step};
use crate::guard::is_proved;
use crate::settle::{condition, is};

/// Lets it come to rest.
pub fn settle(bench: &mut Bench) {
    if let Err(why) = bench.settle() {
        panic!("{why}\n{}", bench.story());
    }
}

/// A database of that spec at rest.
pub fn settled(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    bench
}

/// A spec with initial SQL.
pub fn usual() -> Value {
    json!({ "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "init.sql" } }] },
        "upgrade": { "keepPreviousVolumeFor": "10m" } })
}

#[test]
fn a_database_comes_up() {
    let bench = settled(&usual());
    assert!(bench.site.acked["shop"].len() > 3, "{}", bench.story());
}

#[test]
fn a_server_that_was_stopped_serves_again() {
    let mut bench = settled(&usual());
    let rows = bench.site.acked["shop"].len();
    bench.take(&Step::Stop);
    bench.take(&Step::Calm(20));
    let db = bench.world.get(SampleDB::KIND, &bench.key).expect("it is there");
    assert!(!is(db, "Ready"), "{}", bench.story());
    settle(&mut bench);
    bench.take(&Step::Calm(5));
    assert!(bench.site.acked["shop"].len() > rows, "writers are in again\n{}", bench.story());
}

#[test]
fn a_server_that_hangs_while_it_is_configured_is_reported_and_left_alone() {
    let mut spec = usual();
    spec["engine"] = json!({ "maxSilenceSeconds": 30 });
    let mut bench = Bench::new(&spec);
    let pod = |bench: &Bench| {
        let pod = bench.world.get(Pod::KIND, &bench.key.sibling("shop-0"));
        pod.map(|pod| pod["metadata"]["uid"].clone())
    };
    let at_work = |bench: &Bench| bench.world.get(Job::KIND, &bench.key.sibling("shop-init")).is_some();
    while !at_work(&bench) {
        bench.round();
    }
    let before = pod(&bench);
    bench.take(&Step::Stop);
    bench.take(&Step::Calm(25));
    let db = bench.world.get(SampleDB::KIND, &bench.key).expect("it is there");
    assert_eq!(condition(db, "Stalled")["reason"], "ServerSilent", "{}", bench.story());
    assert_eq!(pod(&bench), before, "{}", bench.story());
    bench.take(&Step::Evict(0));
    settle(&mut bench);
}

/// The server's pod.
fn pod(bench: &Bench) -> &Value {
    let pod = bench.world.get(Pod::KIND, &bench.key.sibling("shop-0"));
    pod.unwrap_or_else(|| panic!("no pod\n{}", bench.story()))
}

#[test]
fn a_pod_that_serves_is_not_deleted_for_one_that_the_api_server_rejects() {
    let mut bench = settled(&usual());
    let (key, before) = (bench.key.clone(), pod(&bench)["metadata"]["uid"].clone());
    bench.site.faults.rejects = Some("forbidden");
    bench.world.edit(SampleDB::KIND, &key, |db| db["spec"]["nodeSelector"] = json!({ "disk": "forbidden" }));
    let rows = bench.site.acked["shop"].len();
    bench.take(&Step::Calm(20));
    let db = bench.world.get(SampleDB::KIND, &key).expect("it is there");
    assert_eq!(pod(&bench)["metadata"]["uid"], before, "{}", bench.story());
    assert!(bench.site.acked["shop"].len() > rows && is(db, "Ready"), "{}", bench.story());
    assert_eq!(condition(db, "Stalled")["reason"], "PodRefused", "{}", bench.story());

    bench.take(&Step::Evict(0));
    bench.take(&Step::Calm(20));
    assert_ne!(pod(&bench)["metadata"]["uid"], before, "{}", bench.story());
    let db = bench.world.get(SampleDB::KIND, &key).expect("it is there");
    assert!(is(db, "Ready"), "a pod that is lost comes back as it was\n{}", bench.story());
    settle(&mut bench);
    assert_eq!(pod(&bench)["spec"]["nodeSelector"]["disk"], "forbidden", "{}", bench.story());
}

#[test]
fn a_pod_that_serves_is_not_deleted_for_one_that_no_node_takes() {
    let mut bench = settled(&usual());
    let before = pod(&bench)["metadata"]["uid"].clone();
    bench.site.faults.nowhere = Some("nowhere");
    bench.take(&Step::Edit(Edit::Node("nowhere")));
    let rows = bench.site.acked["shop"].len();
    bench.take(&Step::Calm(20));
    let db = bench.world.get(SampleDB::KIND, &bench.key).expect("it is there");
    assert_eq!(pod(&bench)["metadata"]["uid"], before, "{}", bench.story());
    assert!(bench.site.acked["shop"].len() > rows && is(db, "Ready"), "{}", bench.story());
    assert_eq!(condition(db, "Stalled")["reason"], "PodRefused", "{}", bench.story());

    let mut deleted = bench.fork();
    deleted.take(&Step::Delete(Propagation::Background));
    deleted.come_to_rest().unwrap_or_else(|why| panic!("its last snapshot is taken: {why}\n{}", deleted.story()));

    let mut taken_back = bench.fork();
    let key = bench.key.clone();
    taken_back.world.edit(SampleDB::KIND, &key, |db| db["spec"]["nodeSelector"] = json!({}));
    settle(&mut taken_back);
    assert_eq!(pod(&taken_back)["metadata"]["uid"], before, "{}", taken_back.story());
    assert_eq!(taken_back.world.all(Job::KIND).filter(|(key, _)| key.name.ends_with("-trial")).count(), 0);

    bench.take(&Step::Evict(0));
    bench.take(&Step::Calm(20));
    assert_ne!(pod(&bench)["metadata"]["uid"], before, "{}", bench.story());
    let db = bench.world.get(SampleDB::KIND, &bench.key).expect("it is there");
    assert!(is(db, "Ready"), "a pod that is lost comes back as it was\n{}", bench.story());
    settle(&mut bench);
    assert_eq!(pod(&bench)["spec"]["nodeSelector"]["disk"], "nowhere", "{}", bench.story());
}

/// Whatever an upgrade does at that moment, the database serves in the end, by one server or the other.
#[test]
fn no_moment_of_an_upgrade_gives_the_server_up_for_one_that_no_node_takes() {
    for (spec, to) in [(of("15.18"), "15"), (of("15"), "17")] {
        let mut whole = settled(&quiet(spec));
        whole.site.faults.nowhere = Some("nowhere");
        whole.take(&crate::boundaries::to(to));
        for moment in 0..60 {
            let mut bench = whole.fork();
            bench.take(&Step::Edit(Edit::Node("nowhere")));
            bench.take(&Step::Calm(100));
            let db = bench.world.get(SampleDB::KIND, &bench.key).expect("it is there");
            assert!(is(db, "Ready"), "to {to}, after {moment} rounds\n{}", bench.story());
            settle(&mut bench);
            if whole.at_rest().is_ok() && moment > 1 {
                break;
            }
            whole.round();
        }
    }
}

#[test]
fn an_upgrade_whose_pod_the_api_server_rejects_goes_back_without_a_restart() {
    let mut bench = settled(&of("15.18"));
    let before = pod(&bench)["metadata"]["uid"].clone();
    bench.site.faults.rejects = Some("postgres:15.20");
    bench.take(&to("15"));
    bench.take(&Step::Calm(60));
    let db = bench.world.get(SampleDB::KIND, &bench.key).expect("it is there");
    assert_eq!(db["status"]["upgrade"]["result"], "RolledBack", "{}", bench.story());
    assert!(is(db, "Ready"), "{}", bench.story());
    assert_eq!(pod(&bench)["metadata"]["uid"], before, "{}", bench.story());
}

#[test]
fn a_minor_upgrade_leaves_the_volume_that_was_promised() {
    let mut spec = usual();
    spec["engine"] = json!({ "version": "13" });
    spec["upgrade"] = json!({ "keepPreviousVolumeFor": "24h" });
    let mut bench = settled(&spec);
    for version in [1, 2] {
        bench.take(&Step::Edit(Edit::Version(version)));
        settle(&mut bench);
    }
    let db = bench.world.get(SampleDB::KIND, &bench.key).expect("it is there");
    assert_eq!(db["status"]["engine"]["running"], "15.20", "{}", bench.story());
    assert_eq!(db["status"]["storage"]["previousClaim"], "data-shop-0", "{}", bench.story());
    assert!(bench.world.get(Claim::KIND, &bench.key.sibling("data-shop-0")).is_some(), "{}", bench.story());
}

#[test]
fn data_that_are_gone_are_never_made_anew() {
    let mut bench = settled(&usual());
    for volume in bench.site.disks.volumes.values_mut() {
        volume.data = None;
    }
    let pod = bench.site.lives.keys().next().cloned().expect("there is one");
    bench.site.kill(&pod);
    bench.take(&Step::Evict(0));
    bench.take(&Step::Calm(60));
    let db = bench.world.get(SampleDB::KIND, &bench.key).expect("it is there");
    assert!(bench.innocent().is_ok(), "{:?}\n{}", bench.innocent(), bench.story());
    assert!(is(db, "Stalled") && condition(db, "Stalled")["reason"] == "DataMissing", "{}", bench.story());
    assert!(bench.site.disks.volumes.values().all(|volume| volume.data.is_none()), "{}", bench.story());
}

#[test]
fn the_newest_proved_snapshot_outlives_those_that_nobody_proves() {
    let mut bench = settled(&usual());
    let key = bench.key.clone();
    bench.take(&Step::Edit(Edit::Schedule(1)));
    let proved = |bench: &Bench| bench.world.all(Snapshot::KIND).filter(|(_, snapshot)| is_proved(snapshot)).count();
    assert_eq!(proved(&bench), 1, "{}", bench.story());
    bench.world.edit(SampleDB::KIND, &key, |db| db["spec"]["backup"]["verify"] = json!({ "mode": "None" }));
    for _ in 0..5 {
        bench.take(&Step::Wait(10));
        bench.take(&Step::Calm(20));
    }
    assert!(bench.innocent().is_ok(), "{:?}\n{}", bench.innocent(), bench.story());
    assert_eq!(proved(&bench), 1, "{}", bench.story());
    assert_eq!(bench.world.all(Snapshot::KIND).count(), 3, "{}", bench.story());
}

#[test]
fn a_deletion_does_not_wait_for_a_backup_that_cannot_log_in() {
    let mut bench = Bench::new(&json!({ "backup": {}, "engine": { "version": null } }));
    for step in [
        Step::Pass(Pass { lives: None, answer: Answer::Given, late: false }),
        Step::Calm(13),
        Step::Backup { physical: false },
        Step::DropSecret(71),
        Step::Calm(2),
        Step::Delete(Propagation::Background),
    ] {
        bench.take(&step);
    }
    settle(&mut bench);
}

#[test]
fn a_previous_volume_whose_claim_somebody_deletes_is_promised_no_longer() {
    let mut bench = settled(&quiet(of("15")));
    bench.take(&to("17"));
    settle(&mut bench);
    let storage = |bench: &Bench| bench.object().expect("it is there")["status"]["storage"].clone();
    assert_eq!(storage(&bench)["previousClaim"], "data-shop-0", "{}", bench.story());
    bench.take(&Step::DropClaim(0));
    bench.take(&Step::Calm(6));
    let after = storage(&bench);
    assert!(after["previousClaim"].is_null() && after["claim"] == "data-shop-17", "{}", bench.story());
    settle(&mut bench);
}

/// The volume has data that status does not tell of yet, made with the password of a Secret that is gone.
#[test]
fn a_superusers_secret_that_is_deleted_while_the_data_are_made_is_taken_by_the_server() {
    for rounds in 1..10 {
        for ticks in 0..4 {
            let mut bench = Bench::new(&quiet(usual()));
            bench.take(&Step::Calm(rounds));
            (0..ticks).for_each(|_| bench.tick());
            for step in [Step::DropSecret(1), Step::Evict(0), Step::Tick, Step::Evict(0)] {
                bench.take(&step);
            }
            if let Err(why) = bench.settle() {
                panic!("after {rounds} rounds and {ticks} ticks: {why}\n{}", bench.story());
            }
        }
    }
}
