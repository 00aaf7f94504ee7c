use std::collections::BTreeSet;

use super::*;

const SEEDS: u64 = 2000;

fn all() -> impl Iterator<Item = Vec<Call>> {
    (0..SEEDS).map(|seed| draw(seed, "lane"))
}

#[test]
fn a_seed_determines_the_sequence() {
    assert_eq!(draw(7, "lane"), draw(7, "lane"));
    assert_ne!(draw(7, "lane"), draw(8, "lane"));
    assert_ne!(draw(7, "lane"), draw(7, "other"));
}

#[test]
fn a_sequence_is_about_one_or_two_objects_of_one_kind() {
    let mut kinds = BTreeSet::new();
    for calls in all() {
        assert!((1..=12).contains(&calls.len()), "{calls:?}");
        let objects: BTreeSet<_> = calls.iter().filter_map(|call| call.object.clone()).collect();
        assert!(objects.len() <= 2, "{objects:?}");
        let collection =
            objects.iter().next().and_then(|object| object.rsplit_once('/')).map(|(path, _)| path.to_owned());
        if let Some(collection) = collection {
            assert!(calls.iter().all(|call| call.path.starts_with(&collection)), "{calls:?}");
            kinds.insert(collection);
        }
    }
    assert_eq!(kinds.len(), SUBJECTS.len());
}

#[test]
fn each_sort_of_call_is_drawn() {
    let calls: Vec<_> = all().flatten().collect();
    let drawn = |holds: &dyn Fn(&Call) -> bool| calls.iter().any(holds);
    let bodies = |part: &str| calls.iter().any(|call| call.body.to_string().contains(part));
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        assert!(drawn(&|call| call.method == method), "{method}");
    }
    for format in [MERGE, JSON_PATCH, APPLY] {
        assert!(drawn(&|call| call.content_type == Some(format)), "{format}");
    }
    for accept in [OBJECT_METADATA, LIST_METADATA] {
        assert!(drawn(&|call| call.accept == accept), "{accept}");
    }
    for part in
        ["force=true", "force=false", "/status?", "/scale", "limit=1&continue=", "labelSelector=", "fieldSelector="]
    {
        assert!(drawn(&|call| call.path.contains(part)), "{part}");
    }
    for part in [UID, VERSION, NO_UID, "Foreground", "Orphan", "finalizers", "nobodyKnows", r#""op":"test""#] {
        assert!(bodies(part), "{part}");
    }
}

#[test]
fn nothing_follows_what_a_controller_ends() {
    for calls in all() {
        let last = calls.len().saturating_sub(1);
        for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.method == "DELETE") {
            let policy = call.body["propagationPolicy"].as_str().unwrap_or_default();
            let is_ended = ["Foreground", "Orphan"].contains(&policy) || call.path.contains("persistentvolumeclaims");
            assert!(!is_ended || index == last, "{calls:?}");
        }
    }
}

#[test]
fn no_workload_gets_replicas() {
    for call in all().flatten().filter(|call| call.path.contains("/apis/apps/")) {
        let body = call.body.to_string();
        assert!(!body.contains("/spec/replicas") && !body.contains("/spec/paused"), "{call}");
        let replicas = &call.body["spec"]["replicas"];
        let is_whole = call.method == "POST" || call.content_type == Some(APPLY);
        // A refused object may lack its spec's other fields, but not this one.
        assert!(if is_whole { replicas == 0 } else { replicas.is_null() }, "{call}");
        assert!(call.edits.iter().all(|object| object["spec"]["replicas"] == 0), "{call}");
    }
}

#[test]
fn fields_are_set_removed_and_merged() {
    let mut object = json!({ "spec": { "list": [{ "a": 1 }], "b": 2 } });
    fields::set(&mut object, "/spec/list/0/a", json!(3));
    fields::set(&mut object, "/spec/b", Value::Null);
    fields::set(&mut object, "/metadata/labels/x", json!("y"));
    fields::set(&mut object, "/absent/x", Value::Null);
    assert_eq!(object, json!({ "metadata": { "labels": { "x": "y" } }, "spec": { "list": [{ "a": 3 }] } }));
    let patch = fields::patch(vec![("/metadata/labels/x", Value::Null), ("/metadata/labels/y", json!("z"))]);
    assert_eq!(patch, json!({ "metadata": { "labels": { "x": null, "y": "z" } } }));
}
