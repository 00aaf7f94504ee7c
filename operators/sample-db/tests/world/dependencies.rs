//! What the final snapshot needs besides the volume is deleted together with the object.

use runtime::cache::Projection as _;
use sample_db::Snapshot;

use crate::claims::check_saved;
use crate::collector::Propagation::Background;
use crate::crash_points::without_initial_backup;
use crate::faults::Step;
use crate::scenarios::{default_spec, settle, settled};

/// The Service and the ConfigMap are restored for the final snapshot.
#[test]
fn a_service_or_a_config_map_that_is_deleted_with_the_database_does_not_prevent_its_snapshot() {
    let begun = settled(&without_initial_backup(default_spec()));
    for child in 0..4 {
        for rounds in 0..8 {
            let steps = [Step::DeleteChild(child), Step::Delete(Background)];
            for [first, second] in [[0, 1], [1, 0]] {
                let mut sim = begun.fork();
                sim.take(&steps[first]);
                // Before the database is deleted it would be restored.
                sim.take(&Step::Rounds(if first == 0 { 0 } else { rounds }));
                sim.take(&steps[second]);
                sim.take(&Step::Rounds(120));
                let last = sim.cluster.all(Snapshot::KIND).find(|(_, of)| of["spec"]["reason"] == "Final");
                assert!(sim.object().is_none() && last.is_some(), "{child} {rounds} {first}\n{}", sim.report());
                settle(&mut sim);
            }
        }
    }
}

#[test]
fn a_secret_that_is_deleted_with_the_database_does_not_prevent_its_snapshot() {
    let begun = settled(&without_initial_backup(default_spec()));
    for secret in 0..2 {
        for rounds in [0, 1, 20] {
            let mut sim = begun.fork();
            sim.take(&Step::DeleteSecret(secret));
            sim.take(&Step::Delete(Background));
            sim.take(&Step::Kill(0));
            sim.take(&Step::Rounds(rounds));
            settle(&mut sim);
            let last = sim.cluster.all(Snapshot::KIND).find(|(_, of)| of["spec"]["reason"] == "Final");
            assert!(sim.object().is_none() && last.is_some(), "{secret} {rounds}\n{}", sim.report());
        }
    }
}

/// No login to the server is possible, and no other server can use the volume.
#[test]
fn a_pvc_and_the_superusers_secret_that_are_deleted_with_the_database_are_reported() {
    let begun = settled(&without_initial_backup(default_spec()));
    for rounds in [0, 1, 30] {
        let mut sim = begun.fork();
        sim.take(&Step::DeleteSecret(1));
        sim.take(&Step::DeleteDataPvc(0));
        sim.take(&Step::Delete(Background));
        sim.take(&Step::Rounds(rounds));
        // A Job that was created meanwhile reaches its deadline.
        for step in [Step::Rounds(30), Step::Wait(120), Step::Rounds(30)] {
            sim.take(&step);
        }
        check_saved(&sim, &[], rounds);
        settle(&mut sim);
        assert!(sim.object().is_none(), "{}", sim.report());
    }
}
