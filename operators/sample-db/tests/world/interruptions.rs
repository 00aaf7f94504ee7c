//! Something happens at every moment of an operation: a pod dies or is deleted, a Secret or a Service, the database or the
//! namespace is deleted. No rows are lost, and everything settles.

use serde_json::{Value, json};

use crate::collector::Propagation;
use crate::crash_points::{upgrade_to, with_version, without_initial_backup};
use crate::faults::{Edit, Step};
use crate::scenarios::default_spec;
use crate::simulation::Simulation;

/// The operation.
struct Operation {
    name: &'static str,
    spec: Value,
    /// The step after everything is settled; without one, the database is being created.
    step: Option<Step>,
}

fn operations() -> Vec<Operation> {
    let backup = |physical| Some(Step::CreateSnapshot { physical });
    vec![
        Operation { name: "create", spec: without_initial_backup(default_spec()), step: None },
        Operation { name: "a backup", spec: without_initial_backup(default_spec()), step: backup(false) },
        Operation {
            name: "another placement",
            spec: without_initial_backup(default_spec()),
            step: Some(Step::Edit(Edit::Node("ssd"))),
        },
        Operation {
            name: "a minor upgrade",
            spec: without_initial_backup(with_version("15.18")),
            step: Some(upgrade_to("15")),
        },
        Operation {
            name: "a major upgrade",
            spec: without_initial_backup(with_version("15")),
            step: Some(upgrade_to("17")),
        },
    ]
}

fn start(operation: &Operation) -> Simulation {
    let mut sim = Simulation::new(&operation.spec);
    if let Some(step) = &operation.step {
        if let Err(why) = sim.come_to_rest() {
            panic!("{}: {why}\n{}", operation.name, sim.report());
        }
        sim.take(step);
    }
    sim
}

/// One of so many moments is tried; `scripts/test --all` tries each.
fn stride() -> usize {
    if seed::is_thorough() { 1 } else { 7 }
}

/// Performs the steps at every moment of each operation.
fn at_every_moment(steps: &[Step]) {
    for operation in operations() {
        let mut undisturbed = start(&operation);
        for moment in 0..200 {
            for (index, step) in steps.iter().enumerate().filter(|(index, _)| (moment + index) % stride() == 0) {
                let mut sim = undisturbed.fork();
                sim.take(step);
                if let Err(why) = sim.settle() {
                    panic!("{}, {step:?} ({index}) after {moment} rounds: {why}\n{}", operation.name, sim.report());
                }
            }
            if moment > 1 && undisturbed.at_rest().is_ok() {
                break;
            }
            undisturbed.round();
        }
    }
}

#[test]
fn a_pod_dies_or_is_deleted() {
    at_every_moment(&[Step::Kill(0), Step::Kill(1), Step::DeletePod(0), Step::DeletePod(1)]);
}

#[test]
fn a_secret_or_a_service_is_deleted() {
    at_every_moment(&[Step::DeleteSecret(0), Step::DeleteSecret(1), Step::DeleteChild(0), Step::DeleteChild(1)]);
}

#[test]
fn the_database_is_deleted() {
    at_every_moment(&[Step::Delete(Propagation::Background), Step::Delete(Propagation::Foreground)]);
}

#[test]
fn the_namespace_is_deleted() {
    at_every_moment(&[Step::DeleteNamespace]);
}

#[test]
fn the_database_is_deleted_and_its_volume_kept() {
    let mut sim = Simulation::new(&json!({ "deletion": { "policy": "Retain" } }));
    crate::scenarios::settle(&mut sim);
    sim.take(&Step::Delete(Propagation::Foreground));
    sim.take(&Step::UntilSettled);
    sim.take(&Step::Adopt);
    crate::scenarios::settle(&mut sim);
}
