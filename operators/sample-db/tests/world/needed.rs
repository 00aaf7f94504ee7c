//! What the final snapshot takes besides the volume is deleted together with the object.

use runtime::cache::Projection as _;
use sample_db::Snapshot;

use crate::boundaries::quiet;
use crate::claims::judge;
use crate::collector::Propagation::Background;
use crate::faults::Step;
use crate::stories::{settle, settled, usual};

/// What leads to the server is put back for the final snapshot.
#[test]
fn a_service_or_a_config_map_that_is_deleted_with_the_database_keeps_nobody_from_saving_it() {
    let begun = settled(&quiet(usual()));
    for child in 0..4 {
        for rounds in 0..8 {
            let steps = [Step::DropChild(child), Step::Delete(Background)];
            for [first, second] in [[0, 1], [1, 0]] {
                let mut bench = begun.fork();
                bench.take(&steps[first]);
                // Before the database is deleted it would be put back.
                bench.take(&Step::Calm(if first == 0 { 0 } else { rounds }));
                bench.take(&steps[second]);
                bench.take(&Step::Calm(120));
                let last = bench.world.all(Snapshot::KIND).find(|(_, of)| of["spec"]["reason"] == "Final");
                assert!(bench.object().is_none() && last.is_some(), "{child} {rounds} {first}\n{}", bench.story());
                settle(&mut bench);
            }
        }
    }
}

#[test]
fn a_secret_that_is_deleted_with_the_database_keeps_nobody_from_saving_it() {
    let begun = settled(&quiet(usual()));
    for secret in 0..2 {
        for rounds in [0, 1, 20] {
            let mut bench = begun.fork();
            bench.take(&Step::DropSecret(secret));
            bench.take(&Step::Delete(Background));
            bench.take(&Step::Kill(0));
            bench.take(&Step::Calm(rounds));
            settle(&mut bench);
            let last = bench.world.all(Snapshot::KIND).find(|(_, of)| of["spec"]["reason"] == "Final");
            assert!(bench.object().is_none() && last.is_some(), "{secret} {rounds}\n{}", bench.story());
        }
    }
}

/// Nobody can log in to the server, and no other one can read the volume.
#[test]
fn a_claim_and_the_superusers_secret_that_are_deleted_with_the_database_are_reported() {
    let begun = settled(&quiet(usual()));
    for rounds in [0, 1, 30] {
        let mut bench = begun.fork();
        bench.take(&Step::DropSecret(1));
        bench.take(&Step::DropClaim(0));
        bench.take(&Step::Delete(Background));
        bench.take(&Step::Calm(rounds));
        // A Job that was created meanwhile comes to its deadline.
        for step in [Step::Calm(30), Step::Wait(120), Step::Calm(30)] {
            bench.take(&step);
        }
        judge(&bench, &[], rounds);
        settle(&mut bench);
        assert!(bench.object().is_none(), "{}", bench.story());
    }
}
