//! The object has an older status, as after a restore of the API server's own etcd, and no pods: no data is lost, the operator
//! creates no second cluster, and no member returns to an older version.

use runtime::cache::Projection as _;
use runtime::projections::Pvc;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::stories::{settle, version};

/// Replaces the status by an older one while there are no pods, as with `kubectl replace --subresource=status`.
fn with_older(bench: &mut Bench, older: Value) {
    bench.take(&Step::Edit(Edit::Paused(true)));
    for _ in 0..3 {
        bench.round();
    }
    (0..bench.pods().len()).for_each(|pod| bench.take(&Step::Evict(pod)));
    bench.edit(|object| object["status"] = older);
    bench.take(&Step::Edit(Edit::Paused(false)));
}

/// It names members none of which exists any more.
#[test]
fn a_status_from_before_all_members_were_replaced() {
    let mut bench = Bench::new(&json!({ "size": 3 }));
    settle(&mut bench);
    let (older, first) = (bench.status().clone(), bench.ids());
    for name in bench.pods() {
        bench.take(&Step::EvictFully(bench.place_of(&name)));
        settle(&mut bench);
    }
    let before = bench.ids();
    assert!(!before.iter().any(|id| first.contains(id)), "{}", bench.story());
    with_older(&mut bench, older);
    settle(&mut bench);
    assert_eq!(bench.ids(), before, "{}", bench.story());
    assert_eq!(bench.etcds.clusters.len(), 1, "{}", bench.story());
}

#[test]
fn a_status_from_before_a_resize() {
    for (size, next) in [(1, 3), (3, 5), (5, 3), (3, 1), (2, 1), (1, 2)] {
        for delete in [false, true] {
            let mut spec = json!({ "size": size });
            spec["storage"]["onDelete"] = json!(if delete { "Delete" } else { "Retain" });
            let mut bench = Bench::new(&spec);
            settle(&mut bench);
            let older = bench.status().clone();
            bench.take(&Step::Edit(Edit::Size(next)));
            settle(&mut bench);
            let before = bench.ids();
            with_older(&mut bench, older);
            settle(&mut bench);
            assert_eq!(bench.ids(), before, "{size} to {next}: {}", bench.story());
            assert_eq!(bench.etcds.clusters.len(), 1, "{size} to {next}: {}", bench.story());
        }
    }
}

/// With or without a version in the spec.
#[test]
fn a_status_from_before_an_upgrade() {
    for named in [false, true] {
        let mut bench = Bench::new(&json!({ "size": 3, "version": "3.5.35" }));
        settle(&mut bench);
        let older = bench.status().clone();
        bench.take(&Step::Edit(Edit::Version(version("3.6.16"))));
        settle(&mut bench);
        let before = bench.ids();
        if !named {
            bench.take(&Step::Edit(Edit::NoVersion));
        }
        with_older(&mut bench, older);
        for _ in 0..40 {
            bench.round();
            let runs = bench.etcds.processes.values().map(|process| process.version.to_string());
            assert!(runs.into_iter().all(|runs| runs == "3.6.16"), "{named}: {}", bench.story());
        }
        settle(&mut bench);
        assert_eq!(bench.ids(), before, "{named}: {}", bench.story());
        assert_eq!(bench.etcds.clusters.len(), 1, "{named}: {}", bench.story());
    }
}

/// A restore of the API server's own etcd also restores PVCs and what they record, but no volume. A user sets the version of the
/// data.
#[test]
fn all_objects_are_from_before_an_upgrade() {
    for (size, from, to) in
        [(1, "3.5.35", "3.6.16"), (3, "3.5.35", "3.6.16"), (1, "3.6.16", "v3.7.3"), (3, "3.6.16", "v3.7.3")]
    {
        let mut bench = Bench::new(&json!({ "size": size, "version": from }));
        settle(&mut bench);
        let reported = |bench: &Bench| -> Vec<_> {
            let all = bench.world.all(Pvc::KIND);
            all.map(|(key, claim)| {
                (key.clone(), claim["metadata"]["labels"].clone(), claim["metadata"]["annotations"].clone())
            })
            .collect()
        };
        let (older, claims) = (bench.status().clone(), reported(&bench));
        bench.take(&Step::Edit(Edit::Version(version(to))));
        settle(&mut bench);
        let before = bench.ids();
        with_older(&mut bench, older);
        bench.take(&Step::Edit(Edit::Version(version(from))));
        for (key, labels, annotations) in claims {
            bench.world.edit(Pvc::KIND, &key, |claim| {
                claim["metadata"]["labels"] = labels;
                claim["metadata"]["annotations"] = annotations;
            });
        }
        bench.take(&Step::Calm(40));
        assert!(!bench.is("Ready") && bench.check_invariants().is_ok(), "{}", bench.story());
        bench.take(&Step::Edit(Edit::Version(version(to))));
        settle(&mut bench);
        assert_eq!(bench.ids(), before, "{size} from {from}: {}", bench.story());
        assert_eq!(bench.etcds.clusters.len(), 1, "{size} from {from}: {}", bench.story());
    }
}
