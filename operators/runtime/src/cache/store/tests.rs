//! The store, without a cluster.

use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::projections::ConfigMap;

type Told = Arc<Mutex<Vec<(String, bool, bool, usize)>>>;

/// A store, and what its route was told: name, deleted, relevant, owners.
fn store() -> (Store<ConfigMap>, Told) {
    let (store, told) = (Store::new(1), Told::default());
    let tell = told.clone();
    store.route(Box::new(move |change| {
        let owners = change.owners.iter().flatten().count();
        let entry = (change.key.name.to_string(), change.deleted, change.relevant, owners);
        tell.lock().expect("not poisoned").push(entry);
    }));
    (store, told)
}

fn entry(name: &str, version: u64, owner: &str, data: &str) -> Entry<ConfigMap> {
    let owned = json!({ "f:data": { "f:a": {} } });
    let json = json!({
        "metadata": {
            "name": name, "namespace": "n", "uid": format!("{name}-uid"), "resourceVersion": version.to_string(),
            "ownerReferences": [{ "apiVersion": "example.com/v1", "kind": "Sample", "name": owner, "uid": "u", "controller": true }],
            "managedFields": [{ "manager": "multi-operator-sample", "operation": "Apply", "fieldsV1": owned }],
        },
        "data": { "a": data },
    });
    Entry::decode(&json.to_string()).expect("it has a name")
}

fn owner(name: &str) -> Owner {
    Owner { kind: "Sample.example.com".into(), name: name.into() }
}

fn told(told: &Told) -> Vec<(String, bool, bool, usize)> {
    std::mem::take(&mut told.lock().expect("not poisoned"))
}

#[test]
fn tells_of_changes_of_deletions_and_of_what_is_the_same() {
    let (store, log) = store();
    store.apply(entry("a", 1, "o", "x"));
    store.apply(entry("a", 2, "o", "x"));
    store.apply(entry("a", 3, "o", "y"));
    store.delete(&Key::new("n", "a"));
    let a = || "a".to_owned();
    assert_eq!(
        told(&log),
        [(a(), false, true, 1), (a(), false, false, 1), (a(), false, true, 1), (a(), true, true, 1)]
    );
}

#[test]
fn a_change_of_owner_wakes_both() {
    let (store, log) = store();
    store.apply(entry("a", 1, "old", "x"));
    store.apply(entry("a", 2, "new", "x"));
    assert_eq!(told(&log)[1], ("a".to_owned(), false, true, 2));
    let namespace: Arc<str> = "n".into();
    assert!(store.owned(&namespace, &owner("old")).is_empty());
    assert_eq!(store.owned(&namespace, &owner("new")).len(), 1);
}

#[test]
fn what_a_relist_does_not_find_is_deleted_in_its_namespace_only() {
    let (store, log) = store();
    for name in ["a", "b"] {
        store.apply(entry(name, 1, "o", "x"));
    }
    told(&log);
    store.retain(Some("other"), &HashSet::new());
    assert_eq!(store.len(), 2);
    store.retain(Some("n"), &HashSet::from([Key::new("n", "a")]));
    assert_eq!(told(&log), [("b".to_owned(), true, true, 1)]);
    assert_eq!(store.keys(), [Key::new("n", "a")]);
}

#[test]
fn what_does_not_decode_is_kept_as_broken_and_heals() {
    let junk = json!({
        "metadata": { "name": "a", "namespace": "n", "generation": 2 },
        "spec": { "replicas": "junk" },
        "status": { "claim": "data-1", "observedGeneration": 1 },
    });
    let decoded = Entry::<crate::projections::Deployment>::decode(&junk.to_string()).expect("it has a name");
    let Entry::Broken(broken) = decoded else { panic!("replicas are no number") };
    assert_eq!((broken.meta.generation, broken.error.contains("junk")), (2, true));
    assert_eq!((&broken.status["claim"], broken.contract.observed_generation), (&json!("data-1"), 1));
    let store = Store::<crate::projections::Deployment>::new(1);
    store.apply(Entry::Broken(broken));
    let healed = json!({ "metadata": { "name": "a", "namespace": "n", "generation": 3 }, "spec": { "replicas": 1 } });
    store.apply(Entry::decode(&healed.to_string()).expect("it has a name"));
    assert!(matches!(store.get(&Key::new("n", "a")), Some(Entry::Object(_))));
}
