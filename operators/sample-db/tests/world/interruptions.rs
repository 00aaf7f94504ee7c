//! Something happens at every moment of what is done: a pod dies or is deleted, a Secret or a Service is, the database is,
//! or the whole namespace. No rows are lost, and all ends as it should.

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::boundaries::{of, quiet, to};
use crate::collector::Propagation;
use crate::faults::{Edit, Step};
use crate::stories::usual;

/// What is done meanwhile.
struct Doing {
    name: &'static str,
    spec: Value,
    /// After it has come to rest; without, it is being made.
    step: Option<Step>,
}

fn doings() -> Vec<Doing> {
    let backup = |physical| Some(Step::Backup { physical });
    vec![
        Doing { name: "create", spec: quiet(usual()), step: None },
        Doing { name: "a backup", spec: quiet(usual()), step: backup(false) },
        Doing { name: "another placement", spec: quiet(usual()), step: Some(Step::Edit(Edit::Node("ssd"))) },
        Doing { name: "a minor upgrade", spec: quiet(of("15.18")), step: Some(to("15")) },
        Doing { name: "a major upgrade", spec: quiet(of("15")), step: Some(to("17")) },
    ]
}

fn begun(doing: &Doing) -> Bench {
    let mut bench = Bench::new(&doing.spec);
    if let Some(step) = &doing.step {
        if let Err(why) = bench.come_to_rest() {
            panic!("{}: {why}\n{}", doing.name, bench.story());
        }
        bench.take(step);
    }
    bench
}

/// Of so many moments one is tried; `scripts/test --all` tries each.
fn stride() -> usize {
    if seed::is_thorough() { 1 } else { 7 }
}

/// Has it happen at every moment there is.
fn at_every_moment(steps: &[Step]) {
    for doing in doings() {
        let mut whole = begun(&doing);
        for moment in 0..200 {
            for (place, step) in steps.iter().enumerate().filter(|(place, _)| (moment + place) % stride() == 0) {
                let mut bench = whole.fork();
                bench.take(step);
                if let Err(why) = bench.settle() {
                    panic!("{}, {step:?} ({place}) after {moment} rounds: {why}\n{}", doing.name, bench.story());
                }
            }
            if moment > 1 && whole.at_rest().is_ok() {
                break;
            }
            whole.round();
        }
    }
}

#[test]
fn a_pod_dies_or_is_deleted() {
    at_every_moment(&[Step::Kill(0), Step::Kill(1), Step::Evict(0), Step::Evict(1)]);
}

#[test]
fn a_secret_or_a_service_is_deleted() {
    at_every_moment(&[Step::DropSecret(0), Step::DropSecret(1), Step::DropChild(0), Step::DropChild(1)]);
}

#[test]
fn the_database_is_deleted() {
    at_every_moment(&[Step::Delete(Propagation::Background), Step::Delete(Propagation::Foreground)]);
}

#[test]
fn the_namespace_is_deleted() {
    at_every_moment(&[Step::End]);
}

#[test]
fn the_database_is_deleted_and_its_volume_kept() {
    let mut bench = Bench::new(&json!({ "deletion": { "policy": "Retain" } }));
    crate::stories::settle(&mut bench);
    bench.take(&Step::Delete(Propagation::Foreground));
    bench.take(&Step::Rest);
    bench.take(&Step::Adopt);
    crate::stories::settle(&mut bench);
}
