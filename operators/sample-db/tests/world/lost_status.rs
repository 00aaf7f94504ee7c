//! The object's status goes, or the object itself comes back under another uid: what was latched is found on the volumes, and
//! no second database is begun.

use runtime::cache::Projection as _;
use runtime::projections::Claim;
use sample_db::SampleDB;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::boundaries::{of, quiet, to};
use crate::collector::Propagation;
use crate::faults::{Edit, Step};
use crate::settle::condition;
use crate::stories::{settle, settled, usual};

fn status(bench: &Bench) -> &Value {
    &bench.object().expect("it is there")["status"]
}

/// A database that has been brought from 15 to 17.
fn upgraded() -> Bench {
    let mut bench = settled(&quiet(of("15")));
    bench.take(&to("17"));
    settle(&mut bench);
    assert_eq!(status(&bench)["storage"]["claim"], "data-shop-17");
    bench
}

#[test]
fn after_a_major_upgrade_the_volume_of_the_new_version_is_found_again() {
    for gone in [false, true] {
        let mut bench = upgraded();
        let (before, rows) = (status(&bench)["storage"].clone(), bench.site.acked["shop"].len());
        if gone {
            bench.take(&Step::Evict(0));
        }
        bench.take(&Step::LoseStatus);
        settle(&mut bench);
        assert_eq!(status(&bench)["storage"], before, "{}", bench.story());
        assert!(bench.site.acked["shop"].len() > rows, "{}", bench.story());
    }
}

#[test]
fn a_status_of_before_the_upgrade_is_taken_for_none() {
    let mut bench = settled(&quiet(of("15")));
    let old = status(&bench).clone();
    bench.take(&to("17"));
    settle(&mut bench);
    let key = bench.key.clone();
    bench.world.edit(SampleDB::KIND, &key, |object| object["status"] = old);
    settle(&mut bench);
    assert_eq!(status(&bench)["storage"]["claim"], "data-shop-17", "{}", bench.story());
}

/// Status goes at each moment of what is done.
fn at_each_moment(begun: &mut Bench) {
    let stride = if seed::is_thorough() { 1 } else { 4 };
    for moment in 0..160 {
        if moment % stride == 0 {
            let mut bench = begun.fork();
            bench.take(&Step::LoseStatus);
            if let Err(why) = bench.settle() {
                panic!("after {moment} rounds: {why}\n{}", bench.story());
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
    at_each_moment(&mut Bench::new(&usual()));
}

#[test]
fn at_each_moment_of_upgrades() {
    for (from, version) in [("15", "17"), ("15.18", "15")] {
        let mut bench = settled(&quiet(of(from)));
        bench.take(&to(version));
        at_each_moment(&mut bench);
    }
}

#[test]
fn at_each_moment_of_a_deletion() {
    for way in [Propagation::Background, Propagation::Foreground] {
        let mut bench = upgraded();
        bench.take(&Step::Delete(way));
        at_each_moment(&mut bench);
    }
}

/// The object is restored from a backup of objects, without status and under another uid, while its volumes are there.
fn restored(bench: &mut Bench, annotations: &Value) {
    let (key, spec) = (bench.key.clone(), bench.object().expect("it is there")["spec"].clone());
    bench.world.remove(SampleDB::KIND, &key);
    bench.create(&key, &spec, annotations);
}

#[test]
fn an_object_that_is_restored_under_another_uid_takes_its_volumes_over() {
    let mut bench = upgraded();
    let claim = status(&bench)["storage"]["claimUID"].clone();
    restored(&mut bench, &json!({}));
    settle(&mut bench);
    assert_eq!(status(&bench)["storage"]["claimUID"], claim, "{}", bench.story());
    // It may be retained, and taken over again: its Secrets still bear the first uid.
    bench.take(&Step::Edit(Edit::Policy("Retain")));
    bench.take(&Step::Calm(3));
    bench.take(&Step::Delete(Propagation::Background));
    bench.take(&Step::Rest);
    bench.take(&Step::Adopt);
    settle(&mut bench);
    assert_eq!(status(&bench)["storage"]["claimUID"], claim, "{}", bench.story());
}

#[test]
fn what_was_retained_on_purpose_waits_for_a_person() {
    let mut bench = settled(&json!({ "deletion": { "policy": "Retain" } }));
    let spec = bench.object().expect("it is there")["spec"].clone();
    bench.take(&Step::Delete(Propagation::Background));
    bench.take(&Step::Rest);
    let key = bench.key.clone();
    bench.create(&key, &spec, &json!({}));
    bench.take(&Step::Calm(20));
    let db = bench.object().expect("it is there");
    assert_eq!(condition(db, "Stalled")["reason"], "VolumeLeft", "{}", bench.story());
    assert!(bench.innocent().is_ok(), "{:?}", bench.innocent());
}

/// A volume is left, and somebody makes the object again, to be filled from a snapshot: both cannot be had.
#[test]
fn a_volume_that_is_taken_over_is_not_restored_over_and_is_saved_at_the_end() {
    let mut bench = settled(&quiet(usual()));
    bench.take(&Step::Backup { physical: false });
    settle(&mut bench);
    let (name, uid) = {
        let (key, _) = bench.world.all(sample_db::Snapshot::KIND).next().expect("there is one");
        (key.name.clone(), bench.object().expect("it is there")["metadata"]["uid"].clone())
    };
    bench.take(&Step::Edit(Edit::Policy("Retain")));
    bench.take(&Step::Delete(Propagation::Background));
    bench.take(&Step::Rest);
    assert!(bench.object().is_none(), "{}", bench.story());
    let (key, mut spec) = (bench.key.clone(), usual());
    spec["bootstrap"] = json!({ "fromSnapshot": { "name": &*name } });
    bench.create(&key, &spec, &json!({}));
    bench.take(&Step::Calm(10));
    assert_eq!(condition(bench.object().expect("it is there"), "Stalled")["reason"], "VolumeLeft", "{}", bench.story());
    bench.world.edit(SampleDB::KIND, &key, |db| db["metadata"]["annotations"][api::sample_db::ADOPT] = uid.clone());
    settle(&mut bench);
    assert!(status(&bench)["restore"]["completedAt"].is_null(), "{}", bench.story());
    let rows = bench.site.acked["shop"].len();
    bench.take(&Step::Calm(10));
    assert!(bench.site.acked["shop"].len() > rows, "it serves on\n{}", bench.story());
    bench.take(&Step::Delete(Propagation::Background));
    settle(&mut bench);
    assert!(bench.object().is_none(), "{}", bench.story());
    let last = bench.world.all(sample_db::Snapshot::KIND).any(|(_, of)| of["spec"]["reason"] == "Final");
    assert!(last, "{}", bench.story());
}

#[test]
fn a_volume_without_a_record_whose_status_is_lost_is_left_alone_until_a_person_names_it() {
    let mut bench = settled(&json!({}));
    bench.take(&Step::Edit(Edit::Paused(true)));
    bench.take(&Step::Calm(3));
    let claim = bench.key.sibling("data-shop-0");
    bench.world.edit(Claim::KIND, &claim, |claim| {
        claim["metadata"]["annotations"]["multi-operator.example.com/record"] = Value::Null;
        claim["metadata"]["annotations"].as_object_mut().expect("it has some").retain(|_, value| !value.is_null());
    });
    bench.take(&Step::LoseStatus);
    bench.take(&Step::Edit(Edit::Paused(false)));
    bench.take(&Step::Calm(20));
    let db = bench.object().expect("it is there");
    let stalled = condition(db, "Stalled");
    assert_eq!(stalled["reason"], "StatusLost", "{}", bench.story());
    let uid = db["metadata"]["uid"].as_str().expect("it has one").to_owned();
    assert!(stalled["message"].as_str().is_some_and(|why| why.contains(&format!("{}={uid}", api::sample_db::ADOPT))));
    bench.world.edit(SampleDB::KIND, &bench.key.clone(), |db| {
        db["metadata"]["annotations"][api::sample_db::ADOPT] = json!(uid);
    });
    settle(&mut bench);
}

#[test]
fn a_database_that_is_deleted_right_after_its_status_was_lost_keeps_its_volume_if_it_is_to_be_retained() {
    for rounds in 0..12 {
        let mut spec = usual();
        spec["deletion"] = json!({ "policy": "Retain" });
        let mut bench = Bench::new(&spec);
        bench.take(&Step::Calm(rounds));
        let claims =
            |bench: &Bench| bench.world.all(Claim::KIND).filter(|(key, _)| key.name.starts_with("data-")).count();
        let before = claims(&bench);
        bench.take(&Step::LoseStatus);
        bench.take(&Step::Delete(Propagation::Background));
        settle(&mut bench);
        assert!(bench.object().is_none() && claims(&bench) == before, "after {rounds} rounds: {}", bench.story());
    }
}
