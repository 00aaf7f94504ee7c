//! The object's status goes: what has been latched is found again, and no second cluster is begun.

use runtime::cache::View as _;
use runtime::views::Pod;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::stories::settle;

/// Three members, of which the first has been replaced: none of the pods is that of a first member any more.
fn without_its_first_member() -> Bench {
    let mut bench = Bench::new(&json!({ "size": 3 }));
    settle(&mut bench);
    let starts = |(_, pod): &(_, &Value)| pod["metadata"]["annotations"]["multi-operator.example.com/start"] == "new";
    let first = bench.world.all(Pod::KIND).position(|pod| starts(&pod)).expect("it runs since the beginning");
    bench.take(&Step::EvictFully(first));
    settle(&mut bench);
    bench
}

fn members(bench: &Bench) -> Vec<u64> {
    bench.cluster().expect("it is latched").members.iter().map(|member| member.id).collect()
}

#[test]
fn while_all_members_run() {
    let mut bench = without_its_first_member();
    let before = members(&bench);
    bench.take(&Step::LoseStatus);
    settle(&mut bench);
    assert_eq!(members(&bench), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn while_no_pod_is_there() {
    let mut bench = without_its_first_member();
    let before = members(&bench);
    bench.take(&Step::Edit(Edit::Paused(true)));
    for _ in 0..3 {
        bench.round();
    }
    // All nodes are restarted: pods are deleted one after the other, and come back only later.
    (0..3).for_each(|pod| bench.take(&Step::Evict(pod)));
    bench.take(&Step::LoseStatus);
    bench.take(&Step::Edit(Edit::Paused(false)));
    settle(&mut bench);
    assert_eq!(members(&bench), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn at_each_moment_of_the_beginning() {
    for moment in 0..40 {
        let mut bench = Bench::new(&json!({ "size": 3 }));
        (0..moment).for_each(|_| bench.round());
        bench.take(&Step::LoseStatus);
        settle(&mut bench);
        assert_eq!(bench.etcds.clusters.len(), 1, "after {moment} rounds: {}", bench.story());
    }
}
