//! The object's status goes: what has been latched is found again, and no second cluster is begun.

use runtime::cache::View as _;
use runtime::views::Pod;
use serde_json::{Value, json};

use crate::bench::{Bench, Pass};
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

#[test]
fn of_a_cluster_without_volumes() {
    for moment in 0..40 {
        let mut bench = Bench::new(&json!({ "size": 3 }));
        bench.default_class = false;
        (0..moment).for_each(|_| bench.round());
        // Whoever installs a default class later does not make volumes of what there is.
        bench.default_class = true;
        let made = !bench.pods().is_empty();
        bench.take(&Step::LoseStatus);
        settle(&mut bench);
        assert_eq!(bench.etcds.clusters.len(), 1, "after {moment} rounds: {}", bench.story());
        assert!(!made || bench.status()["storage"]["durable"] == false, "{moment}: {}", bench.story());
    }
}

/// What Ready says.
fn reason(bench: &Bench) -> String {
    bench.condition("Ready").map_or_else(String::new, |ready| ready["reason"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn an_object_from_a_backup_holds_until_its_volumes_are_adopted() {
    let mut bench = without_its_first_member();
    let before = members(&bench);
    bench.take(&Step::Reborn { status: false });
    bench.take(&Step::Calm(30));
    assert_eq!((reason(&bench).as_str(), bench.pods()), ("VolumesFound", Vec::new()), "{}", bench.story());
    assert!(bench.is("Stalled"), "{}", bench.story());
    bench.take(&Step::Adopt);
    settle(&mut bench);
    assert_eq!(members(&bench), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn an_object_from_a_backup_with_its_status_takes_its_volumes_back_by_itself() {
    let mut bench = without_its_first_member();
    let before = members(&bench);
    bench.take(&Step::Reborn { status: true });
    settle(&mut bench);
    assert_eq!(members(&bench), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn adoption_is_carried_through_whenever_the_manager_dies() {
    for lives in 0..6 {
        let mut bench = without_its_first_member();
        let before = members(&bench);
        bench.take(&Step::Reborn { status: false });
        bench.take(&Step::Calm(3));
        bench.take(&Step::Adopt);
        bench.world.deliver_all();
        bench.take(&Step::Pass(Pass { lives: Some(lives), ..Pass::default() }));
        settle(&mut bench);
        assert_eq!(members(&bench), before, "after {lives} writes: {}", bench.story());
        assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
    }
}
