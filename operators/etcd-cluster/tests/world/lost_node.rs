//! Nodes are down for long, and the spec says when other members replace those on them.

use runtime::cache::Projection as _;
use runtime::projections::{Pod, Pvc};
use serde_json::json;

use crate::bench::Bench;
use crate::faults::Step;
use crate::stories::settle;

/// Three members, of which the node of the second one is down; Kubernetes deletes its pod if it `evicts`.
fn with_a_lost_node(replace_after: Option<&str>, evicts: bool) -> (Bench, Vec<String>) {
    let storage = json!({ "size": "1Gi", "onDelete": "Delete" });
    let mut bench = Bench::new(&json!({ "size": 3, "storage": storage, "replaceAfter": replace_after }));
    settle(&mut bench);
    let before = bench.members();
    let key = bench.key.sibling(&before[1]);
    let uid = bench.world.get(Pod::KIND, &key).expect("a pod")["metadata"]["uid"].as_str().expect("a uid").to_owned();
    let node = bench.kubelet.node_of(&uid).expect("a node");
    bench.take(&Step::Node { node, up: false });
    bench.take(&Step::Calm(5));
    if evicts {
        bench.world.delete(Pod::KIND, &key);
    }
    (bench, before)
}

#[test]
fn a_member_is_replaced_elsewhere_and_its_volume_stays() {
    for evicts in [false, true] {
        let (mut bench, before) = with_a_lost_node(Some("10m"), evicts);
        bench.take(&Step::Wait(9));
        bench.take(&Step::Calm(5));
        assert_eq!(bench.members(), before, "{}", bench.story());
        bench.take(&Step::Wait(1));
        bench.take(&Step::Calm(60));
        let after = bench.members();
        assert!(after.len() == 3 && !after.contains(&before[1]), "{}", bench.story());
        assert!(bench.is("QuorumHealthy") && bench.is("Ready"), "{}", bench.story());
        settle(&mut bench);
        assert_eq!(bench.members(), after, "it does not come back: {}", bench.story());
        let claim = bench.world.get(Pvc::KIND, &bench.key.sibling(&before[1])).expect("its volume is retained");
        assert!(claim["metadata"]["labels"]["multi-operator.example.com/retired"].is_string(), "{claim}");
    }
}

#[test]
fn without_such_a_time_a_member_waits_for_its_node() {
    let (mut bench, before) = with_a_lost_node(None, true);
    for _ in 0..10 {
        bench.take(&Step::Wait(60));
        bench.take(&Step::Calm(5));
    }
    assert_eq!(bench.members(), before, "{}", bench.story());
    settle(&mut bench);
    assert_eq!(bench.members(), before, "{}", bench.story());
}
