//! What the operator observes beyond its own objects: foreign pods, the namespace, and queries without an answer.

use etcd_cluster::EtcdClusterKind;
use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{CustomKind as _, DisruptionBudget, Pod, Pvc, Service};
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::stories::settle;

fn settled(spec: &Value) -> Bench {
    let mut bench = Bench::new(spec);
    settle(&mut bench);
    bench
}

fn reason(bench: &Bench) -> Value {
    bench.condition("Ready").map_or(Value::Null, |ready| ready["reason"].clone())
}

fn pods(bench: &Bench) -> Vec<Key> {
    bench.world.all(Pod::KIND).map(|(key, _)| key.clone()).collect()
}

#[test]
fn no_cluster_is_created_while_foreign_pods_have_its_labels() {
    let mut bench = Bench::new(&json!({ "size": 3 }));
    let key = bench.key.sibling("c-0000");
    let labels = json!({ "app": "etcd", "etcd_cluster": "c", "etcd_node": "c-0000" });
    bench.world.create(
        Pod::KIND,
        &key,
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "etcd", "image": "foreign" }] } }),
    );
    let elsewhere = Key::new("other", "c-0001");
    bench.world.create(
        Pod::KIND,
        &elsewhere,
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "etcd", "image": "foreign" }] } }),
    );
    bench.take(&Step::Calm(10));
    assert_eq!((reason(&bench), pods(&bench).len()), (json!("ForeignPods"), 2), "{}", bench.story());
    let ready = bench.condition("Ready").expect("Ready")["message"].clone();
    assert!(!ready.as_str().is_some_and(|ready| ready.contains("c-0001")), "{ready}");
    bench.world.delete(Pod::KIND, &key);
    bench.pass(ReconcileFaults::default());
    assert_eq!((reason(&bench), pods(&bench).len()), (json!("WaitingForDeletion"), 2), "{}", bench.story());
    bench.world.remove(Pod::KIND, &key);
    bench.world.remove(Pod::KIND, &elsewhere);
    settle(&mut bench);
}

/// Found by migrating from the archived operator: its pods are foreign, but the object and its Services are the same. Members that no
/// longer find each other by the headless Service lose quorum when they restart.
#[test]
fn what_serves_an_earlier_operators_pods_is_left_alone() {
    let mut bench = Bench::new(&json!({ "size": 3 }));
    let labels = json!({ "app": "etcd", "etcd_cluster": "c" });
    let services = ["c", "c-client"].map(|name| bench.key.sibling(name));
    let owner = json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "name": "c",
        "uid": bench.world.get(EtcdClusterKind::KIND, &bench.key).expect("it is there")["metadata"]["uid"],
        "controller": true,
    });
    for key in &services {
        bench.world.create(
            Service::KIND,
            key,
            json!({ "metadata": { "labels": labels, "ownerReferences": [owner] }, "spec": { "selector": labels } }),
        );
    }
    bench.world.create(
        Pod::KIND,
        &bench.key.sibling("c-0000"),
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "etcd", "image": "earlier" }] } }),
    );
    bench.take(&Step::Calm(10));
    assert_eq!(reason(&bench), json!("ForeignPods"), "{}", bench.story());
    for key in &services {
        let service = bench.world.get(Service::KIND, key).expect("it is there");
        assert_eq!(service["spec"]["selector"], labels, "{}", bench.story());
    }
    assert_eq!(bench.world.all(DisruptionBudget::KIND).count(), 0, "{}", bench.story());
}

#[test]
fn pods_run_as_the_namespace_requires() {
    for assigns_uids in [true, false] {
        let mut bench = Bench { assigns_uids, ..Bench::new(&json!({ "size": 3, "version": "3.5.35" })) };
        settle(&mut bench);
        for edit in [Edit::Restart(1), Edit::Size(5), Edit::Version(4), Edit::Nowhere(true)] {
            bench.take(&Step::Edit(edit));
            bench.take(&Step::Calm(40));
            bench.check_invariants().unwrap_or_else(|why| panic!("{why}\n{}", bench.story()));
        }
        settle(&mut bench);
    }
}

/// Found with seed 20261123: the cluster has the desired number of pods, and one of its members has none.
#[test]
fn a_member_that_restarts_while_the_cluster_shrinks_runs_as_the_namespace_requires() {
    let mut bench = Bench { assigns_uids: true, ..Bench::new(&json!({ "size": 3, "version": "3.6.16" })) };
    bench.take(&Step::Calm(4));
    bench.take(&Step::Evict(104));
    bench.take(&Step::Edit(Edit::Size(1)));
    settle(&mut bench);
}

/// Neither that there is no foreign pod, nor that a PVC is deleted, nor which user ids the namespace assigns.
#[test]
fn nothing_follows_from_a_query_without_an_answer() {
    let mut bench = Bench::new(&json!({ "size": 3 }));
    bench.take(&Step::Blind(true));
    bench.take(&Step::Calm(10));
    assert!(pods(&bench).is_empty(), "{}", bench.story());
    settle(&mut bench);
    bench.take(&Step::Blind(true));
    let key = pods(&bench).remove(0);
    bench.world.edit(Pvc::KIND, &key, |claim| claim["metadata"]["labels"] = json!({}));
    bench.world.delete(Pod::KIND, &key);
    bench.take(&Step::Calm(30));
    let members = bench.cluster().expect("a cluster").members.clone();
    assert!(members.iter().any(|member| *member.name == *key.name), "{}", bench.story());
    settle(&mut bench);
    assert!(pods(&bench).contains(&key), "{}", bench.story());
}

#[test]
fn clients_do_not_reach_a_foreign_pod_with_the_clusters_labels() {
    let bench = settled(&json!({ "size": 3 }));
    for (kind, name, path) in [
        (Service::KIND, "c-client", "/spec/selector"),
        (Service::KIND, "c", "/spec/selector"),
        (DisruptionBudget::KIND, "c", "/spec/selector/matchLabels"),
    ] {
        let selector = bench.world.get(kind, &bench.key.sibling(name)).and_then(|it| it.pointer(path)).cloned();
        let uid = selector.expect("it selects")["multi-operator.example.com/owner-uid"].clone();
        assert_eq!(uid, bench.object()["metadata"]["uid"], "{name}");
    }
}

#[test]
fn a_foreign_pod_with_all_labels_of_the_cluster_is_reported_and_not_changed() {
    let mut bench = settled(&json!({ "size": 3 }));
    let labels = bench.world.all(Pod::KIND).next().expect("a member's").1["metadata"]["labels"].clone();
    let key = bench.key.sibling("foreign");
    let pod =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "etcd", "image": "other:1" }] } });
    bench.world.create(Pod::KIND, &key, pod.clone());
    bench.world.deliver_all_events();
    bench.pass(ReconcileFaults::default());
    let stalled = bench.condition("Stalled").cloned().unwrap_or_default();
    assert_eq!((bench.is("Stalled"), &stalled["reason"]), (true, &json!("ForeignPods")), "{}", bench.story());
    assert!(stalled["message"].as_str().is_some_and(|why| why.contains("foreign")), "{stalled}");
    assert_eq!(bench.world.get(Pod::KIND, &key).map(|live| &live["spec"]), Some(&pod["spec"]), "it is left alone");
    bench.world.remove(Pod::KIND, &key);
    settle(&mut bench);
}
