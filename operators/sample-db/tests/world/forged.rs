//! Final snapshots that were created by a user who may create SampleDBSnapshots and nothing else.

use runtime::cache::Projection as _;
use sample_db::Snapshot;
use serde_json::json;

use crate::collector::Propagation::{self, Background, Foreground};
use crate::crash_points::without_initial_backup;
use crate::faults::Step;
use crate::infrastructure::text;
use crate::scenarios::{default_spec, settled};
use crate::simulation::Simulation;

/// Creates one as the operator would.
fn create_forged_snapshot(sim: &mut Simulation, online: bool) {
    let uid = text(&sim.object().expect("it is there")["metadata"]["uid"]);
    let part: String = uid.chars().filter(char::is_ascii_alphanumeric).take(4).collect();
    let key = sim.key.sibling(&format!("{}-final-{part}", sim.key.name));
    let annotations = if online { json!({ "multi-operator.example.com/online": "true" }) } else { json!({}) };
    let spec = json!({ "sampleDB": &*sim.key.name, "sampleDBUID": uid, "reason": "Final" });
    sim.cluster.create(Snapshot::KIND, &key, json!({ "metadata": { "annotations": annotations }, "spec": spec }));
}

/// Clients write for so many rounds after it was created, before the operator observes that the database is being deleted.
fn completes_after(propagation: Propagation, online: bool, rounds: usize) {
    let mut sim = settled(&without_initial_backup(default_spec()));
    sim.take(&Step::Delete(propagation));
    create_forged_snapshot(&mut sim, online);
    for _ in 0..rounds {
        sim.round_of_snapshots();
    }
    if let Err(why) = sim.come_to_rest() {
        panic!("{propagation:?}, online {online}, after {rounds}: {why}\n{}", sim.report());
    }
    assert!(sim.object().is_none(), "{propagation:?}, online {online}, after {rounds}: {}", sim.report());
}

/// No row is lost, which the invariants check, and the deletion completes without an administrator.
#[test]
fn data_is_not_deleted_for_a_final_snapshot_of_a_user() {
    for propagation in [Background, Foreground] {
        for online in [true, false] {
            for rounds in [0, 1, 2, 5, 10, 40] {
                completes_after(propagation, online, rounds);
            }
        }
    }
}
