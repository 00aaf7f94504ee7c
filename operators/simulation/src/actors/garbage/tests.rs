use serde_json::json;

use super::super::object::{has_finalizer, is_deleting, items, uid};
use super::super::testing::{self, NAMESPACE};
use super::graph::{FOREGROUND, ORPHAN};
use super::*;
use crate::api_server::request::{DeleteOptions, Propagation};

fn map(name: &str, owners: &[&Value]) -> Value {
    let reference = |owner: &&Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": true,
        })
    };
    let owners: Vec<Value> = owners.iter().map(reference).collect();
    json!({ "metadata": { "name": name, "namespace": NAMESPACE, "ownerReferences": owners } })
}

/// Steps until nothing changes.
fn collect(server: &SimulatedApiServer) {
    let mut collector = GarbageCollector::default();
    let mut random = Random::new(1);
    loop {
        let before = server.read(StoredState::version);
        let again = collector.step(server, runtime::clock::now(), &mut random);
        assert_eq!(again, None::<Duration>);
        if server.read(StoredState::version) == before {
            return;
        }
    }
}

fn delete(server: &SimulatedApiServer, object: &Value, propagation: Propagation) {
    testing::delete(server, "configmaps", object, DeleteOptions { propagation, ..DeleteOptions::default() });
}

fn names(server: &SimulatedApiServer) -> Vec<String> {
    let maps = testing::list(server, "configmaps");
    maps.iter().map(|map| super::super::object::name(map).to_owned()).collect()
}

#[test]
fn objects_go_after_their_last_owner() {
    let server = testing::server();
    let [a, b] = ["a", "b"].map(|name| testing::create(&server, "configmaps", map(name, &[])));
    let child = testing::create(&server, "configmaps", map("child", &[&a, &b]));
    testing::create(&server, "configmaps", map("grandchild", &[&child]));
    delete(&server, &a, Propagation::Background);
    collect(&server);
    assert_eq!(names(&server), ["b", "child", "grandchild"]);
    let child = testing::get(&server, "configmaps", "child").unwrap();
    let owners = items(&child["metadata"]["ownerReferences"]);
    assert_eq!(owners.iter().map(|owner| owner["uid"].as_str().unwrap()).collect::<Vec<_>>(), [uid(&b)]);
    delete(&server, &b, Propagation::Background);
    collect(&server);
    assert_eq!(names(&server), Vec::<String>::new());
}

#[test]
fn an_owner_of_another_uid_or_kind_is_absent_and_one_of_an_unknown_kind_is_not() {
    let server = testing::server();
    let a = testing::create(&server, "configmaps", map("a", &[]));
    let owned = |name: &str, field: &str, value: &str| {
        let mut object = map(name, &[&a]);
        object["metadata"]["ownerReferences"][0][field] = json!(value);
        testing::create(&server, "configmaps", object);
    };
    owned("former", "uid", "former-uid");
    owned("secret", "kind", "Secret");
    owned("unknown", "kind", "Unicorn");
    collect(&server);
    assert_eq!(names(&server), ["a", "unknown"]);
}

#[test]
fn an_owner_in_the_foreground_goes_last() {
    let server = testing::server();
    let a = testing::create(&server, "configmaps", map("a", &[]));
    let mut child = map("child", &[&a]);
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    testing::create(&server, "configmaps", child);
    delete(&server, &a, Propagation::Foreground);
    assert!(has_finalizer(&testing::get(&server, "configmaps", "a").unwrap(), FOREGROUND));
    collect(&server);
    assert_eq!(names(&server), ["a", "child"]);
    assert!(is_deleting(&testing::get(&server, "configmaps", "child").unwrap()));
    testing::merge(&server, "configmaps", "child", json!({ "metadata": { "finalizers": null } }));
    collect(&server);
    assert_eq!(names(&server), Vec::<String>::new());
}

#[test]
fn a_child_that_does_not_block_its_owner_goes_after_it() {
    let server = testing::server();
    let a = testing::create(&server, "configmaps", map("a", &[]));
    let mut child = map("child", &[&a]);
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    child["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(false);
    testing::create(&server, "configmaps", child);
    delete(&server, &a, Propagation::Foreground);
    collect(&server);
    assert_eq!(names(&server), ["child"]);
}

#[test]
fn orphans_stay_without_their_owner() {
    let server = testing::server();
    let a = testing::create(&server, "configmaps", map("a", &[]));
    testing::create(&server, "configmaps", map("child", &[&a]));
    delete(&server, &a, Propagation::Orphan);
    assert!(has_finalizer(&testing::get(&server, "configmaps", "a").unwrap(), ORPHAN));
    collect(&server);
    assert_eq!(names(&server), ["child"]);
    let child = testing::get(&server, "configmaps", "child").unwrap();
    assert!(items(&child["metadata"]["ownerReferences"]).is_empty());
    assert!(!is_deleting(&child));
}

#[test]
fn changes_that_concern_no_owner_are_skipped() {
    let server = testing::server();
    let a = testing::create(&server, "configmaps", map("a", &[]));
    let before = server.read(StoredState::version);
    testing::merge(&server, "configmaps", "a", json!({ "data": { "k": "v" } }));
    assert!(!server.read(|state| is_concerned(state, before)));
    let before = server.read(StoredState::version);
    delete(&server, &a, Propagation::Background);
    assert!(server.read(|state| is_concerned(state, before)));
}
