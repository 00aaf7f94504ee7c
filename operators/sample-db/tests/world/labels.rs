//! Labels of the server's pod are edited by a user, or a foreign pod has its name or its labels.

use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::plan::meta::{INSTANCE, KEEP_DETAILS, MANAGED_BY, OWNER_KIND};
use runtime::projections::{Pod, Pvc, Service};
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::collector::Propagation;
use crate::faults::Step;
use crate::infrastructure::text;
use crate::invariants::OWNER_UID;
use crate::scenarios::{default_spec, settle, settled};
use crate::sets::POD_NAME;
use crate::settle::{condition, is};
use crate::simulation::Simulation;

const COMPONENT: &str = "app.kubernetes.io/component";

fn pod(sim: &Simulation) -> &Value {
    sim.cluster.get(Pod::KIND, &key(sim)).unwrap_or_else(|| panic!("no pod\n{}", sim.report()))
}

fn key(sim: &Simulation) -> Key {
    sim.key.sibling("shop-0")
}

fn database(sim: &Simulation) -> &Value {
    sim.cluster.get(SampleDB::KIND, &sim.key).expect("it is there")
}

/// Removes a label, or gives it the value of another database.
fn edit_label(sim: &mut Simulation, label: &str) {
    let key = key(sim);
    sim.log(&format!("a user edits the label {label}"));
    sim.cluster.edit(Pod::KIND, &key, |pod| match label {
        INSTANCE => pod["metadata"]["labels"][INSTANCE] = json!("other"),
        _ => drop(pod["metadata"]["labels"].as_object_mut().expect("labels").remove(label)),
    });
}

/// A pod that no StatefulSet created.
fn foreign_pod(sim: &mut Simulation, key: &Key, labels: &Value) {
    let body =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "tool", "image": "tool:1" }] } });
    sim.cluster.create(Pod::KIND, key, body);
}

#[test]
fn a_servers_pod_that_lost_a_label_gets_it_back_and_serves_on() {
    for label in [MANAGED_BY, OWNER_KIND, INSTANCE, KEEP_DETAILS, COMPONENT, OWNER_UID, POD_NAME] {
        let mut sim = settled(&default_spec());
        let (uid, labels) = (pod(&sim)["metadata"]["uid"].clone(), pod(&sim)["metadata"]["labels"].clone());
        edit_label(&mut sim, label);
        sim.take(&Step::Rounds(5));
        assert_eq!(pod(&sim)["metadata"]["labels"], labels, "{label}\n{}", sim.report());
        assert_eq!(pod(&sim)["metadata"]["uid"], uid, "{label}\n{}", sim.report());
        assert_eq!(pod(&sim)["metadata"]["ownerReferences"][0]["kind"], "StatefulSet", "{label}\n{}", sim.report());
        assert!(is(database(&sim), "Ready"), "{label}\n{}", sim.report());
        settle(&mut sim);
    }
}

#[test]
fn a_pod_of_an_earlier_manager_is_labeled_while_it_runs() {
    let mut sim = settled(&default_spec());
    let uid = pod(&sim)["metadata"]["uid"].clone();
    edit_label(&mut sim, OWNER_UID);
    for service in ["shop-rw", "shop-pods"] {
        let key = sim.key.sibling(service);
        sim.cluster.edit(Service::KIND, &key, |service| {
            drop(service["spec"]["selector"].as_object_mut().expect("labels").remove(OWNER_UID));
        });
    }
    settle(&mut sim);
    assert_eq!(pod(&sim)["metadata"]["uid"], uid, "{}", sim.report());
    for service in ["shop-rw", "shop-pods"] {
        let service = sim.cluster.get(Service::KIND, &sim.key.sibling(service)).expect("it is there");
        assert_eq!(service["spec"]["selector"][OWNER_UID], database(&sim)["metadata"]["uid"], "{}", sim.report());
    }
}

#[test]
fn a_foreign_pod_of_the_servers_name_is_left_alone_and_the_server_starts_once_it_is_deleted() {
    let mut sim = settled(&default_spec());
    let key = key(&sim);
    sim.cluster.remove(Pod::KIND, &key);
    foreign_pod(&mut sim, &key, &json!({ INSTANCE: "other" }));
    let foreign = pod(&sim)["metadata"].clone();
    sim.take(&Step::Rounds(10));
    let stalled = condition(database(&sim), "Stalled").clone();
    assert_eq!(stalled["reason"], "NameTaken", "{}", sim.report());
    assert!(text(&stalled["message"]).contains("Pod shop-0 exists"), "{stalled}");
    assert_eq!(pod(&sim)["metadata"], foreign, "{}", sim.report());
    sim.cluster.remove(Pod::KIND, &key);
    settle(&mut sim);
    assert!(is(database(&sim), "Ready"), "{}", sim.report());
}

#[test]
fn a_foreign_pod_with_all_labels_of_the_server_is_reported_and_left_alone() {
    let mut sim = settled(&default_spec());
    let copy = sim.key.sibling("copy");
    let labels = pod(&sim)["metadata"]["labels"].clone();
    foreign_pod(&mut sim, &copy, &labels);
    sim.take(&Step::Rounds(5));
    assert!(is(database(&sim), "Ready"), "{}", sim.report());
    assert_eq!(condition(database(&sim), "Stalled")["reason"], "ForeignPod", "{}", sim.report());
    assert_eq!(sim.cluster.get(Pod::KIND, &copy).expect("it is left")["metadata"]["labels"], labels);
    sim.cluster.remove(Pod::KIND, &copy);
    settle(&mut sim);
    assert!(!is(database(&sim), "Stalled"), "{}", sim.report());
}

#[test]
fn the_last_snapshot_is_taken_of_the_running_server_though_its_pod_has_lost_its_labels() {
    let mut sim = settled(&default_spec());
    let uid = text(&pod(&sim)["metadata"]["uid"]);
    sim.infra.writers_paused = true;
    edit_label(&mut sim, MANAGED_BY);
    edit_label(&mut sim, INSTANCE);
    sim.take(&Step::Delete(Propagation::Background));
    let ready = |sim: &Simulation| {
        let last = sim.cluster.all(Snapshot::KIND).find(|(_, of)| of["spec"]["reason"] == "Final");
        last.is_some_and(|(_, of)| of["status"]["phase"] == "Ready")
    };
    for _ in 0..40 {
        sim.round();
        if ready(&sim) {
            break;
        }
        assert_eq!(pod(&sim)["metadata"]["uid"], *uid, "{}", sim.report());
    }
    assert!(ready(&sim), "{}", sim.report());
    settle(&mut sim);
}

/// Labels of PVCs, by which the operator watches them.
#[test]
fn a_claim_that_lost_a_label_gets_it_back_and_is_saved_with_the_database() {
    for label in [MANAGED_BY, OWNER_KIND, INSTANCE, OWNER_UID] {
        for claim in ["data-shop-0", "shop-snapshots"] {
            let begun = settled(&default_spec());
            let key = begun.key.sibling(claim);
            let unlabeled = || {
                let mut sim = begun.fork();
                sim.cluster.edit(Pvc::KIND, &key, |claim| {
                    drop(claim["metadata"]["labels"].as_object_mut().expect("labels").remove(label));
                });
                sim
            };
            let mut sim = unlabeled();
            sim.take(&Step::Rounds(5));
            let live = sim.cluster.get(Pvc::KIND, &key).expect("it is there");
            assert!(live["metadata"]["labels"][label].is_string(), "{label} of {claim}\n{}", sim.report());
            assert!(is(database(&sim), "StorageHealthy"), "{label} of {claim}\n{}", sim.report());
            settle(&mut sim);

            let mut sim = unlabeled();
            sim.take(&Step::Delete(Propagation::Background));
            settle(&mut sim);
            assert!(sim.object().is_none(), "{label} of {claim}\n{}", sim.report());
            let finals = sim.cluster.all(Snapshot::KIND).filter(|(_, of)| of["spec"]["reason"] == "Final");
            assert!(finals.into_iter().any(|(_, of)| crate::invariants::is_verified(of)), "{label}\n{}", sim.report());
            assert!(sim.cluster.get(Pvc::KIND, &sim.key.sibling("data-shop-0")).is_none(), "{}", sim.report());
        }
    }
}
