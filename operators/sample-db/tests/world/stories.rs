//! Single stories, most of them found by the random ones.

use serde_json::{Value, json};

use runtime::cache::View as _;
use sample_db::{SampleDB, Snapshot};

use crate::asked::Answer;
use crate::bench::{Bench, Pass};
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
    json!({ "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "init.sql" } }] } })
}

#[test]
fn a_database_comes_up() {
    let bench = settled(&usual());
    assert!(bench.site.acked["shop"].len() > 3, "{}", bench.story());
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
