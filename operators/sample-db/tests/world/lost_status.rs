//! The object's status is lost, or the object is recreated under another UID: latched decisions are found on the volumes, and no
//! second database is created.

use runtime::cache::Projection as _;
use runtime::projections::Pvc;
use sample_db::SampleDB;
use serde_json::{Value, json};

use crate::collector::Propagation;
use crate::crash_points::{upgrade_to, with_version, without_initial_backup};
use crate::faults::{Edit, Step};
use crate::scenarios::{default_spec, settle, settled};
use crate::settle::condition;
use crate::simulation::Simulation;

fn status(sim: &Simulation) -> &Value {
    &sim.object().expect("it is there")["status"]
}

/// A database that was upgraded from 15 to 17.
fn upgraded() -> Simulation {
    let mut sim = settled(&without_initial_backup(with_version("15")));
    sim.take(&upgrade_to("17"));
    settle(&mut sim);
    assert_eq!(status(&sim)["storage"]["claim"], "data-shop-17");
    sim
}

#[test]
fn after_a_major_upgrade_the_volume_of_the_new_version_is_found_again() {
    for evict in [false, true] {
        let mut sim = upgraded();
        let (before, rows) = (status(&sim)["storage"].clone(), sim.infra.acked["shop"].len());
        if evict {
            sim.take(&Step::DeletePod(0));
        }
        sim.take(&Step::LoseStatus);
        settle(&mut sim);
        assert_eq!(status(&sim)["storage"], before, "{}", sim.report());
        assert!(sim.infra.acked["shop"].len() > rows, "{}", sim.report());
    }
}

#[test]
fn a_status_from_before_the_upgrade_does_not_count() {
    let mut sim = settled(&without_initial_backup(with_version("15")));
    let old = status(&sim).clone();
    sim.take(&upgrade_to("17"));
    settle(&mut sim);
    let key = sim.key.clone();
    sim.cluster.edit(SampleDB::KIND, &key, |object| object["status"] = old);
    settle(&mut sim);
    assert_eq!(status(&sim)["storage"]["claim"], "data-shop-17", "{}", sim.report());
}

/// Status is lost at each moment of an operation.
fn at_each_moment(begun: &mut Simulation) {
    let stride = if seed::is_thorough() { 1 } else { 4 };
    for moment in 0..160 {
        if moment % stride == 0 {
            let mut sim = begun.fork();
            sim.take(&Step::LoseStatus);
            if let Err(why) = sim.settle() {
                panic!("after {moment} rounds: {why}\n{}", sim.report());
            }
        }
        if moment > 1 && begun.at_rest().is_ok() {
            break;
        }
        begun.round();
    }
}

#[test]
fn at_each_moment_of_the_beginning() {
    at_each_moment(&mut Simulation::new(&default_spec()));
}

#[test]
fn at_each_moment_of_upgrades() {
    for (from, version) in [("15", "17"), ("15.18", "15")] {
        let mut sim = settled(&without_initial_backup(with_version(from)));
        sim.take(&upgrade_to(version));
        at_each_moment(&mut sim);
    }
}

#[test]
fn at_each_moment_of_a_deletion() {
    for way in [Propagation::Background, Propagation::Foreground] {
        let mut sim = upgraded();
        sim.take(&Step::Delete(way));
        at_each_moment(&mut sim);
    }
}

/// The object is restored from a backup of objects, without status and under another UID, while its volumes exist.
fn recreate_object(sim: &mut Simulation, annotations: &Value) {
    let (key, spec) = (sim.key.clone(), sim.object().expect("it is there")["spec"].clone());
    sim.cluster.remove(SampleDB::KIND, &key);
    sim.create(&key, &spec, annotations);
}

#[test]
fn an_object_that_is_restored_under_another_uid_takes_its_volumes_over() {
    let mut sim = upgraded();
    let claim = status(&sim)["storage"]["claimUID"].clone();
    recreate_object(&mut sim, &json!({}));
    settle(&mut sim);
    assert_eq!(status(&sim)["storage"]["claimUID"], claim, "{}", sim.report());
    // It may be retained and adopted again: its Secrets still have the first UID.
    sim.take(&Step::Edit(Edit::Policy("Retain")));
    sim.take(&Step::Rounds(3));
    sim.take(&Step::Delete(Propagation::Background));
    sim.take(&Step::UntilSettled);
    sim.take(&Step::Adopt);
    settle(&mut sim);
    assert_eq!(status(&sim)["storage"]["claimUID"], claim, "{}", sim.report());
}

#[test]
fn what_was_retained_on_purpose_waits_for_an_administrator() {
    let mut sim = settled(&json!({ "deletion": { "policy": "Retain" } }));
    let spec = sim.object().expect("it is there")["spec"].clone();
    sim.take(&Step::Delete(Propagation::Background));
    sim.take(&Step::UntilSettled);
    let key = sim.key.clone();
    sim.create(&key, &spec, &json!({}));
    sim.take(&Step::Rounds(20));
    let db = sim.object().expect("it is there");
    assert_eq!(condition(db, "Stalled")["reason"], "VolumeLeft", "{}", sim.report());
    assert!(sim.check_invariants().is_ok(), "{:?}", sim.check_invariants());
}

/// A volume was retained, and a user creates the object again, to be restored from a snapshot: both are not possible.
#[test]
fn a_volume_that_is_taken_over_is_not_restored_over_and_is_saved_at_the_end() {
    let mut sim = settled(&without_initial_backup(default_spec()));
    sim.take(&Step::CreateSnapshot { physical: false });
    settle(&mut sim);
    let (name, uid) = {
        let (key, _) = sim.cluster.all(sample_db::Snapshot::KIND).next().expect("there is one");
        (key.name.clone(), sim.object().expect("it is there")["metadata"]["uid"].clone())
    };
    sim.take(&Step::Edit(Edit::Policy("Retain")));
    sim.take(&Step::Delete(Propagation::Background));
    sim.take(&Step::UntilSettled);
    assert!(sim.object().is_none(), "{}", sim.report());
    let (key, mut spec) = (sim.key.clone(), default_spec());
    spec["bootstrap"] = json!({ "fromSnapshot": { "name": &*name } });
    sim.create(&key, &spec, &json!({}));
    sim.take(&Step::Rounds(10));
    assert_eq!(condition(sim.object().expect("it is there"), "Stalled")["reason"], "VolumeLeft", "{}", sim.report());
    sim.cluster.edit(SampleDB::KIND, &key, |db| db["metadata"]["annotations"][api::sample_db::ADOPT] = uid.clone());
    settle(&mut sim);
    assert!(status(&sim)["restore"]["completedAt"].is_null(), "{}", sim.report());
    let rows = sim.infra.acked["shop"].len();
    sim.take(&Step::Rounds(10));
    assert!(sim.infra.acked["shop"].len() > rows, "it serves on\n{}", sim.report());
    sim.take(&Step::Delete(Propagation::Background));
    settle(&mut sim);
    assert!(sim.object().is_none(), "{}", sim.report());
    let last = sim.cluster.all(sample_db::Snapshot::KIND).any(|(_, of)| of["spec"]["reason"] == "Final");
    assert!(last, "{}", sim.report());
}

#[test]
fn a_volume_without_a_record_whose_status_is_lost_is_left_alone_until_an_administrator_names_it() {
    let mut sim = settled(&json!({}));
    sim.take(&Step::Edit(Edit::Paused(true)));
    sim.take(&Step::Rounds(3));
    let claim = sim.key.sibling("data-shop-0");
    sim.cluster.edit(Pvc::KIND, &claim, |claim| {
        claim["metadata"]["annotations"]["multi-operator.example.com/record"] = Value::Null;
        claim["metadata"]["annotations"].as_object_mut().expect("it has some").retain(|_, value| !value.is_null());
    });
    sim.take(&Step::LoseStatus);
    sim.take(&Step::Edit(Edit::Paused(false)));
    sim.take(&Step::Rounds(20));
    let db = sim.object().expect("it is there");
    let stalled = condition(db, "Stalled");
    assert_eq!(stalled["reason"], "StatusLost", "{}", sim.report());
    let uid = db["metadata"]["uid"].as_str().expect("it has one").to_owned();
    assert!(stalled["message"].as_str().is_some_and(|why| why.contains(&format!("{}={uid}", api::sample_db::ADOPT))));
    sim.cluster.edit(SampleDB::KIND, &sim.key.clone(), |db| {
        db["metadata"]["annotations"][api::sample_db::ADOPT] = json!(uid);
    });
    settle(&mut sim);
}

#[test]
fn a_database_that_is_deleted_right_after_its_status_was_lost_keeps_its_volume_if_it_is_to_be_retained() {
    for rounds in 0..12 {
        let mut spec = default_spec();
        spec["deletion"] = json!({ "policy": "Retain" });
        let mut sim = Simulation::new(&spec);
        sim.take(&Step::Rounds(rounds));
        let claims =
            |sim: &Simulation| sim.cluster.all(Pvc::KIND).filter(|(key, _)| key.name.starts_with("data-")).count();
        let before = claims(&sim);
        sim.take(&Step::LoseStatus);
        sim.take(&Step::Delete(Propagation::Background));
        settle(&mut sim);
        assert!(sim.object().is_none() && claims(&sim) == before, "after {rounds} rounds: {}", sim.report());
    }
}
