//! Labels of the server's pod are edited by hand, or a foreign pod bears its name or its labels.

use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::plan::meta::{INSTANCE, MANAGED_BY, OWNER_KIND, WHOLE};
use runtime::projections::{Claim, Pod, Service};
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::collector::Propagation;
use crate::faults::Step;
use crate::guard::OWNER_UID;
use crate::sets::POD_NAME;
use crate::settle::{condition, is};
use crate::site::text;
use crate::stories::{settle, settled, usual};

const COMPONENT: &str = "app.kubernetes.io/component";

fn pod(bench: &Bench) -> &Value {
    bench.world.get(Pod::KIND, &key(bench)).unwrap_or_else(|| panic!("no pod\n{}", bench.story()))
}

fn key(bench: &Bench) -> Key {
    bench.key.sibling("shop-0")
}

fn database(bench: &Bench) -> &Value {
    bench.world.get(SampleDB::KIND, &bench.key).expect("it is there")
}

/// Removes a label, or gives it the value of another database.
fn unlabel(bench: &mut Bench, label: &str) {
    let key = key(bench);
    bench.say(&format!("a user edits the label {label}"));
    bench.world.edit(Pod::KIND, &key, |pod| match label {
        INSTANCE => pod["metadata"]["labels"][INSTANCE] = json!("other"),
        _ => drop(pod["metadata"]["labels"].as_object_mut().expect("labels").remove(label)),
    });
}

/// A pod that no StatefulSet has made.
fn foreign_pod(bench: &mut Bench, key: &Key, labels: &Value) {
    let body =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "tool", "image": "tool:1" }] } });
    bench.world.create(Pod::KIND, key, body);
}

#[test]
fn a_servers_pod_that_lost_a_label_gets_it_back_and_serves_on() {
    for label in [MANAGED_BY, OWNER_KIND, INSTANCE, WHOLE, COMPONENT, OWNER_UID, POD_NAME] {
        let mut bench = settled(&usual());
        let (uid, labels) = (pod(&bench)["metadata"]["uid"].clone(), pod(&bench)["metadata"]["labels"].clone());
        unlabel(&mut bench, label);
        bench.take(&Step::Calm(5));
        assert_eq!(pod(&bench)["metadata"]["labels"], labels, "{label}\n{}", bench.story());
        assert_eq!(pod(&bench)["metadata"]["uid"], uid, "{label}\n{}", bench.story());
        assert_eq!(pod(&bench)["metadata"]["ownerReferences"][0]["kind"], "StatefulSet", "{label}\n{}", bench.story());
        assert!(is(database(&bench), "Ready"), "{label}\n{}", bench.story());
        settle(&mut bench);
    }
}

#[test]
fn a_pod_of_an_earlier_manager_is_labeled_while_it_runs() {
    let mut bench = settled(&usual());
    let uid = pod(&bench)["metadata"]["uid"].clone();
    unlabel(&mut bench, OWNER_UID);
    for service in ["shop-rw", "shop-pods"] {
        let key = bench.key.sibling(service);
        bench.world.edit(Service::KIND, &key, |service| {
            drop(service["spec"]["selector"].as_object_mut().expect("labels").remove(OWNER_UID));
        });
    }
    settle(&mut bench);
    assert_eq!(pod(&bench)["metadata"]["uid"], uid, "{}", bench.story());
    for service in ["shop-rw", "shop-pods"] {
        let service = bench.world.get(Service::KIND, &bench.key.sibling(service)).expect("it is there");
        assert_eq!(service["spec"]["selector"][OWNER_UID], database(&bench)["metadata"]["uid"], "{}", bench.story());
    }
}

#[test]
fn a_foreign_pod_of_the_servers_name_is_left_alone_and_the_server_comes_back_once_it_is_gone() {
    let mut bench = settled(&usual());
    let key = key(&bench);
    bench.world.remove(Pod::KIND, &key);
    foreign_pod(&mut bench, &key, &json!({ INSTANCE: "other" }));
    let foreign = pod(&bench)["metadata"].clone();
    bench.take(&Step::Calm(10));
    let told = condition(database(&bench), "Stalled").clone();
    assert_eq!(told["reason"], "NameTaken", "{}", bench.story());
    assert!(text(&told["message"]).contains("Pod shop-0 exists"), "{told}");
    assert_eq!(pod(&bench)["metadata"], foreign, "{}", bench.story());
    bench.world.remove(Pod::KIND, &key);
    settle(&mut bench);
    assert!(is(database(&bench), "Ready"), "{}", bench.story());
}

#[test]
fn a_foreign_pod_with_all_labels_of_the_server_is_reported_and_left_alone() {
    let mut bench = settled(&usual());
    let copy = bench.key.sibling("copy");
    let labels = pod(&bench)["metadata"]["labels"].clone();
    foreign_pod(&mut bench, &copy, &labels);
    bench.take(&Step::Calm(5));
    assert!(is(database(&bench), "Ready"), "{}", bench.story());
    assert_eq!(condition(database(&bench), "Stalled")["reason"], "ForeignPod", "{}", bench.story());
    assert_eq!(bench.world.get(Pod::KIND, &copy).expect("it is left")["metadata"]["labels"], labels);
    bench.world.remove(Pod::KIND, &copy);
    settle(&mut bench);
    assert!(!is(database(&bench), "Stalled"), "{}", bench.story());
}

#[test]
fn the_last_snapshot_is_taken_of_the_running_server_though_its_pod_has_lost_its_labels() {
    let mut bench = settled(&usual());
    let uid = text(&pod(&bench)["metadata"]["uid"]);
    bench.site.idle = true;
    unlabel(&mut bench, MANAGED_BY);
    unlabel(&mut bench, INSTANCE);
    bench.take(&Step::Delete(Propagation::Background));
    let ready = |bench: &Bench| {
        let last = bench.world.all(Snapshot::KIND).find(|(_, of)| of["spec"]["reason"] == "Final");
        last.is_some_and(|(_, of)| of["status"]["phase"] == "Ready")
    };
    for _ in 0..40 {
        bench.round();
        if ready(&bench) {
            break;
        }
        assert_eq!(pod(&bench)["metadata"]["uid"], *uid, "{}", bench.story());
    }
    assert!(ready(&bench), "{}", bench.story());
    settle(&mut bench);
}

/// Labels of claims, by which the operator watches them.
#[test]
fn a_claim_that_lost_a_label_gets_it_back_and_is_saved_with_the_database() {
    for label in [MANAGED_BY, OWNER_KIND, INSTANCE, OWNER_UID] {
        for claim in ["data-shop-0", "shop-snapshots"] {
            let begun = settled(&usual());
            let key = begun.key.sibling(claim);
            let unlabeled = || {
                let mut bench = begun.fork();
                bench.world.edit(Claim::KIND, &key, |claim| {
                    drop(claim["metadata"]["labels"].as_object_mut().expect("labels").remove(label));
                });
                bench
            };
            let mut bench = unlabeled();
            bench.take(&Step::Calm(5));
            let live = bench.world.get(Claim::KIND, &key).expect("it is there");
            assert!(live["metadata"]["labels"][label].is_string(), "{label} of {claim}\n{}", bench.story());
            assert!(is(database(&bench), "StorageHealthy"), "{label} of {claim}\n{}", bench.story());
            settle(&mut bench);

            let mut bench = unlabeled();
            bench.take(&Step::Delete(Propagation::Background));
            settle(&mut bench);
            assert!(bench.object().is_none(), "{label} of {claim}\n{}", bench.story());
            let finals = bench.world.all(Snapshot::KIND).filter(|(_, of)| of["spec"]["reason"] == "Final");
            assert!(finals.into_iter().any(|(_, of)| crate::guard::is_proved(of)), "{label}\n{}", bench.story());
            assert!(bench.world.get(Claim::KIND, &bench.key.sibling("data-shop-0")).is_none(), "{}", bench.story());
        }
    }
}
