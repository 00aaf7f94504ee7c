//! The store, without a cluster.

use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::projections::ConfigMap;

type Notifications = Arc<Mutex<Vec<(String, bool, bool, usize)>>>;

/// A store, and the changes that its handler received: name, deleted, relevant, number of owners.
fn store() -> (Store<ConfigMap>, Notifications) {
    let (store, reported) = (Store::new(1), Notifications::default());
    let notifications = reported.clone();
    store.subscribe(Box::new(move |change| {
        let owners = change.owners.iter().flatten().count();
        let entry = (change.key.name.to_string(), change.deleted, change.relevant, owners);
        notifications.lock().expect("not poisoned").push(entry);
    }));
    (store, reported)
}

fn entry(name: &str, version: u64, owner: &str, data: &str) -> CacheEntry<ConfigMap> {
    let owned = json!({ "f:data": { "f:a": {} } });
    let json = json!({
        "metadata": {
            "name": name, "namespace": "n", "uid": format!("{name}-uid"), "resourceVersion": version.to_string(),
            "ownerReferences": [{ "apiVersion": "example.com/v1", "kind": "Sample", "name": owner, "uid": "u", "controller": true }],
            "managedFields": [{ "manager": "multi-operator-sample", "operation": "Apply", "fieldsV1": owned }],
        },
        "data": { "a": data },
    });
    CacheEntry::decode(&json.to_string()).expect("it has a name")
}

fn owner(name: &str) -> Owner {
    Owner { kind: "Sample.example.com".into(), name: name.into() }
}

fn reported(reported: &Notifications) -> Vec<(String, bool, bool, usize)> {
    std::mem::take(&mut reported.lock().expect("not poisoned"))
}

#[test]
fn reports_changes_deletions_and_events_without_a_change() {
    let (store, log) = store();
    store.apply(entry("a", 1, "o", "x"));
    store.apply(entry("a", 2, "o", "x"));
    store.apply(entry("a", 3, "o", "y"));
    store.delete(&Key::new("n", "a"));
    let a = || "a".to_owned();
    assert_eq!(
        reported(&log),
        [(a(), false, true, 1), (a(), false, false, 1), (a(), false, true, 1), (a(), true, true, 1)]
    );
}

#[test]
fn a_change_of_owner_reports_both() {
    let (store, log) = store();
    store.apply(entry("a", 1, "old", "x"));
    store.apply(entry("a", 2, "new", "x"));
    assert_eq!(reported(&log)[1], ("a".to_owned(), false, true, 2));
    let namespace: Arc<str> = "n".into();
    assert!(store.owned(&namespace, &owner("old")).is_empty());
    assert_eq!(store.owned(&namespace, &owner("new")).len(), 1);
}

#[test]
fn a_new_list_deletes_in_its_namespace_only() {
    let (store, log) = store();
    for name in ["a", "b"] {
        store.apply(entry(name, 1, "o", "x"));
    }
    reported(&log);
    store.retain(Some("other"), &HashSet::new());
    assert_eq!(store.len(), 2);
    store.retain(Some("n"), &HashSet::from([Key::new("n", "a")]));
    assert_eq!(reported(&log), [("b".to_owned(), true, true, 1)]);
    assert_eq!(store.keys(), [Key::new("n", "a")]);
}

#[test]
fn an_undecodable_object_is_kept_until_it_decodes() {
    let junk = json!({
        "metadata": { "name": "a", "namespace": "n", "generation": 2 },
        "spec": { "replicas": "junk" },
        "status": { "claim": "data-1", "observedGeneration": 1 },
    });
    let decoded = CacheEntry::<crate::projections::Deployment>::decode(&junk.to_string()).expect("it has a name");
    let CacheEntry::Undecodable(entry) = decoded else { panic!("replicas are no number") };
    assert_eq!((entry.meta.generation, entry.error.contains("junk")), (2, true));
    assert_eq!((&entry.status["claim"], entry.contract.observed_generation), (&json!("data-1"), 1));
    let store = Store::<crate::projections::Deployment>::new(1);
    store.apply(CacheEntry::Undecodable(entry));
    let repaired = json!({ "metadata": { "name": "a", "namespace": "n", "generation": 3 }, "spec": { "replicas": 1 } });
    store.apply(CacheEntry::decode(&repaired.to_string()).expect("it has a name"));
    assert!(matches!(store.get(&Key::new("n", "a")), Some(CacheEntry::Object(_))));
}
