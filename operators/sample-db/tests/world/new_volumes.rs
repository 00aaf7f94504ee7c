//! The volume of a new database is deleted before any client could connect: it is empty, so the database starts again.

use crate::crash_points::without_initial_backup;
use crate::faults::{Edit, Step};
use crate::scenarios::{default_spec, settle};
use crate::simulation::Simulation;

/// A new database that is paused after so many rounds, and loses its pod and then its volume.
fn paused(rounds: u8, order: &[Step]) -> Simulation {
    let mut sim = Simulation::new(&without_initial_backup(default_spec()));
    sim.take(&Step::Rounds(rounds));
    sim.take(&Step::Edit(Edit::Paused(true)));
    sim.take(&Step::Rounds(8));
    order.iter().for_each(|step| sim.take(step));
    sim.take(&Step::Rounds(4));
    sim
}

#[test]
fn a_volume_that_is_deleted_while_a_new_database_is_paused_is_recreated() {
    let all_orders = [[Step::DeletePod(0), Step::DeleteDataPvc(0)], [Step::DeleteDataPvc(0), Step::DeletePod(0)]];
    let mut recreated = 0;
    for (rounds, order) in (0..12).flat_map(|rounds| all_orders.iter().map(move |order| (rounds, order))) {
        let mut sim = paused(rounds, order);
        let recorded = !sim.object().expect("it is there")["status"]["initialization"]["dataCreatedAt"].is_null();
        settle(&mut sim);
        // Once status records data, the finalizer keeps the PVC, and the administrator is asked to have the data saved.
        assert!(recorded || sim.object().is_some(), "after {rounds} rounds: {}", sim.report());
        recreated += u8::from(!recorded);
    }
    assert!(recreated >= 14, "only {recreated} were recreated");
}

/// Without a pause, too, status records no data that no finalizer protects.
#[test]
fn a_volume_that_is_deleted_during_creation_is_recreated_or_reported() {
    for rounds in 0..12 {
        for ticks in 0..4 {
            let mut sim = Simulation::new(&without_initial_backup(default_spec()));
            sim.take(&Step::Rounds(rounds));
            (0..ticks).for_each(|_| sim.tick());
            for step in [Step::DeleteDataPvc(0), Step::DeletePod(0)] {
                sim.take(&step);
            }
            if let Err(why) = sim.settle() {
                panic!("after {rounds} rounds and {ticks} ticks: {why}\n{}", sim.report());
            }
        }
    }
}
