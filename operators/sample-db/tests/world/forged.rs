//! Final snapshots that somebody else has made, who may create SampleDBSnapshots and nothing else.

use runtime::cache::Projection as _;
use sample_db::Snapshot;
use serde_json::json;

use crate::bench::Bench;
use crate::boundaries::quiet;
use crate::collector::Propagation::{self, Background, Foreground};
use crate::faults::Step;
use crate::site::text;
use crate::stories::{settled, usual};

/// As the operator would make it.
fn forge(bench: &mut Bench, online: bool) {
    let uid = text(&bench.object().expect("it is there")["metadata"]["uid"]);
    let part: String = uid.chars().filter(char::is_ascii_alphanumeric).take(4).collect();
    let key = bench.key.sibling(&format!("{}-final-{part}", bench.key.name));
    let annotations = if online { json!({ "multi-operator.example.com/online": "true" }) } else { json!({}) };
    let spec = json!({ "sampleDB": &*bench.key.name, "sampleDBUID": uid, "reason": "Final" });
    bench.world.create(Snapshot::KIND, &key, json!({ "metadata": { "annotations": annotations }, "spec": spec }));
}

/// How long writers stay after it was made, before the operator has seen that the database is being deleted.
fn goes_on(propagation: Propagation, online: bool, rounds: usize) {
    let mut bench = settled(&quiet(usual()));
    bench.take(&Step::Delete(propagation));
    forge(&mut bench, online);
    for _ in 0..rounds {
        bench.round_of_snapshots();
    }
    if let Err(why) = bench.come_to_rest() {
        panic!("{propagation:?}, online {online}, after {rounds}: {why}\n{}", bench.story());
    }
    assert!(bench.object().is_none(), "{propagation:?}, online {online}, after {rounds}: {}", bench.story());
}

/// No row is lost, which the guard looks after, and the deletion comes to its end without anybody.
#[test]
fn a_final_snapshot_that_the_operator_has_not_made_is_no_reason_to_let_the_data_go() {
    for propagation in [Background, Foreground] {
        for online in [true, false] {
            for rounds in [0, 1, 2, 5, 10, 40] {
                goes_on(propagation, online, rounds);
            }
        }
    }
}
