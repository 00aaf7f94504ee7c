//! The volume of a new database goes before anybody was let in: nothing was in it, so the database begins anew.

use crate::bench::Bench;
use crate::boundaries::quiet;
use crate::faults::{Edit, Step};
use crate::stories::{settle, usual};

/// A new database that is paused after so many rounds, and loses its pod and then its volume.
fn paused(rounds: u8, order: &[Step]) -> Bench {
    let mut bench = Bench::new(&quiet(usual()));
    bench.take(&Step::Calm(rounds));
    bench.take(&Step::Edit(Edit::Paused(true)));
    bench.take(&Step::Calm(8));
    order.iter().for_each(|step| bench.take(step));
    bench.take(&Step::Calm(4));
    bench
}

#[test]
fn a_volume_that_goes_while_a_new_database_is_paused_is_made_anew() {
    let orders = [[Step::Evict(0), Step::DropClaim(0)], [Step::DropClaim(0), Step::Evict(0)]];
    let mut anew = 0;
    for (rounds, order) in (0..12).flat_map(|rounds| orders.iter().map(move |order| (rounds, order))) {
        let mut bench = paused(rounds, order);
        let told = !bench.object().expect("it is there")["status"]["initialization"]["dataCreatedAt"].is_null();
        settle(&mut bench);
        // Once status tells of its data, the finalizer holds the claim, and a person is asked to have the data saved.
        assert!(told || bench.object().is_some(), "after {rounds} rounds: {}", bench.story());
        anew += u8::from(!told);
    }
    assert!(anew >= 14, "only {anew} began anew");
}

/// Without a pause, too, status tells of no data that nothing keeps.
#[test]
fn a_volume_that_goes_while_a_database_is_made_is_made_anew_or_reported() {
    for rounds in 0..12 {
        for ticks in 0..4 {
            let mut bench = Bench::new(&quiet(usual()));
            bench.take(&Step::Calm(rounds));
            (0..ticks).for_each(|_| bench.tick());
            for step in [Step::DropClaim(0), Step::Evict(0)] {
                bench.take(&step);
            }
            if let Err(why) = bench.settle() {
                panic!("after {rounds} rounds and {ticks} ticks: {why}\n{}", bench.story());
            }
        }
    }
}
