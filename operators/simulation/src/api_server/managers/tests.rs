mod real;

use serde_json::json;

use super::*;

const NOW: &str = "2026-01-02T03:04:05.678Z";
const LATER: &str = "2026-01-02T03:05:00Z";

fn by<'a>(manager: &'a str, now: &str) -> Writer<'a> {
    Writer { manager, subresource: None, api_version: "apps/v1", now: now.parse().unwrap() }
}

fn deployments() -> FieldTypes {
    FieldTypes::of_built_in("deployments")
}

fn apply(managers: &Managers, live: &Value, applied: &Value, who: &str) -> (Value, Managers) {
    managers.apply(&deployments(), live, applied, &by(who, NOW), false).unwrap()
}

fn owners(managers: &Managers) -> Value {
    let entries = managers.to_value();
    let entry = |entry: &Value| (entry["manager"].as_str().unwrap().to_owned(), entry["fieldsV1"]["f:spec"].clone());
    Value::Object(entries.as_array().unwrap().iter().map(entry).collect())
}

#[test]
fn an_entry_is_written_as_the_api_server_writes_it() {
    let object =
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d", "labels": { "a": "b" } } });
    let (live, managers) = apply(&Managers::default(), &Value::Null, &object, "us");
    assert_eq!(live, object);
    let entry = json!([{
        "manager": "us",
        "operation": "Apply",
        "apiVersion": "apps/v1",
        "time": "2026-01-02T03:04:05Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": { "f:metadata": { "f:labels": { "f:a": {} } } }
    }]);
    assert_eq!(managers.to_value(), entry);

    let status = Writer { subresource: Some("status"), ..by("kubelet", LATER) };
    let managers = managers.update(
        &deployments(),
        &live,
        &json!({ "metadata": { "labels": { "a": "b" } }, "status": { "replicas": 1 } }),
        &status,
    );
    let entry = managers.to_value()[1].clone();
    assert_eq!(entry["subresource"], "status");
    assert_eq!(entry["fieldsV1"], json!({ "f:status": { "f:replicas": {} } }), "the status itself is always there");
}

#[test]
fn a_conflict_is_told_in_the_words_of_the_api_server() {
    let live = json!({ "metadata": { "name": "d" }, "spec": { "replicas": 2, "paused": true } });
    let managers = Managers::default().update(&deployments(), &Value::Null, &live, &by("kubectl-edit", NOW));
    let one = json!({ "spec": { "replicas": 3 } });
    let conflicts = managers.apply(&deployments(), &live, &one, &by("us", NOW), false).unwrap_err();
    assert_eq!(conflicts[0].path, ".spec.replicas");
    assert_eq!(conflicts[0].message(), "conflict with \"kubectl-edit\" using apps/v1");
    assert_eq!(
        conflict_message(&conflicts),
        "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using apps/v1: .spec.replicas"
    );

    let two = json!({ "spec": { "replicas": 3, "paused": false } });
    let conflicts = managers.apply(&deployments(), &live, &two, &by("us", NOW), false).unwrap_err();
    assert_eq!(
        conflict_message(&conflicts),
        "Apply failed with 2 conflicts: conflicts with \"kubectl-edit\" using apps/v1:\n- .spec.paused\n- .spec.replicas"
    );

    let (after, forced) = managers.apply(&deployments(), &live, &two, &by("us", NOW), true).unwrap();
    assert_eq!(after["spec"], json!({ "replicas": 3, "paused": false }));
    assert_eq!(owners(&forced), json!({ "us": { "f:paused": {}, "f:replicas": {} } }), "an entry without fields goes");
}

#[test]
fn equal_values_are_shared_and_stay_until_the_last_owner_drops_them() {
    let object = json!({ "spec": { "replicas": 2, "paused": true } });
    let (live, managers) = apply(&Managers::default(), &Value::Null, &object, "a");
    let (live, managers) = apply(&managers, &live, &json!({ "spec": { "replicas": 2 } }), "b");
    let both = json!({ "a": { "f:paused": {}, "f:replicas": {} }, "b": { "f:replicas": {} } });
    assert_eq!(owners(&managers), both);
    assert_eq!(managers.to_value()[0]["time"], Value::Null, "b has changed nothing yet");

    let (live, managers) = apply(&managers, &live, &json!({ "metadata": { "name": "d" } }), "a");
    assert_eq!(live["spec"], json!({ "replicas": 2 }));
    let (live, managers) = apply(&managers, &live, &json!({ "metadata": { "name": "d" } }), "b");
    assert_eq!(live.get("spec"), None);
    assert!(managers.is_empty());
}

#[test]
fn an_apply_prunes_what_it_owned_only() {
    let container = |image: &str| json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": image }] } } } });
    let (mut live, managers) = apply(&Managers::default(), &Value::Null, &container("1"), "us");
    live["spec"]["template"]["spec"]["containers"][0]["stdin"] = json!(true);
    let (after, _) = apply(&managers, &live, &json!({ "spec": { "paused": true } }), "us");
    assert_eq!(after["spec"], json!({ "paused": true }), "the item goes with what no one owns in it");

    let edited = managers.update(&deployments(), &container("1"), &live, &by("them", NOW));
    assert!(owners(&edited)["them"]["f:template"].is_object());
    let (after, managers) = apply(&edited, &live, &json!({ "spec": { "paused": true } }), "us");
    assert_eq!(after.pointer("/spec/template/spec/containers"), None, "they own a field of it, not the item");
    assert_eq!(owners(&managers), json!({ "us": { "f:paused": {} } }));

    let (after, _) = apply(
        &edited,
        &live,
        &json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c" }] } } } }),
        "us",
    );
    assert_eq!(after["spec"]["template"]["spec"]["containers"], json!([{ "name": "c", "stdin": true }]));
}

#[test]
fn an_apply_that_changes_nothing_returns_the_same() {
    let object = json!({ "metadata": { "name": "d" }, "spec": { "replicas": 2 } });
    let (mut live, managers) = apply(&Managers::default(), &Value::Null, &object, "us");
    live["metadata"]["managedFields"] = managers.to_value();
    live["status"] = json!({ "replicas": 2 });
    let (after, same) = managers.apply(&deployments(), &live, &object, &by("us", LATER), false).unwrap();
    assert_eq!(same, managers, "the time too");
    live["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(after, live);
}

#[test]
fn applied_items_keep_their_order_and_so_do_live_ones() {
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        containers.iter().map(|container| container["name"].as_str().unwrap().to_owned()).collect()
    };
    let object = |names: &[&str]| {
        let containers: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        json!({ "spec": { "template": { "spec": { "containers": containers } } } })
    };
    let merged = |live: &[&str], applied: &[&str]| {
        let none = Managers::default();
        names(&none.apply(&deployments(), &object(live), &object(applied), &by("us", NOW), true).unwrap().0)
    };
    assert_eq!(merged(&["a", "b", "c"], &["c", "b", "a"]), ["c", "b", "a"]);
    assert_eq!(merged(&["x", "a", "y", "b"], &["b", "a"]), ["x", "y", "b", "a"]);
    assert_eq!(merged(&["a", "x", "b"], &["a", "n", "b"]), ["a", "x", "n", "b"]);
}

#[test]
fn an_update_takes_what_it_changes_and_drops_what_it_removes() {
    let before = json!({ "spec": { "replicas": 2, "paused": true, "minReadySeconds": 1 } });
    let managers = Managers::default().update(&deployments(), &Value::Null, &before, &by("a", NOW));
    let after = json!({ "spec": { "replicas": 3, "minReadySeconds": 1 } });
    let managers = managers.update(&deployments(), &before, &after, &by("b", LATER));
    assert_eq!(owners(&managers), json!({ "a": { "f:minReadySeconds": {} }, "b": { "f:replicas": {} } }));
    assert_eq!(managers.update(&deployments(), &after, &after, &by("c", LATER)), managers);
}

#[test]
fn an_update_may_replace_the_owners() {
    let live = json!({ "metadata": { "name": "d" }, "spec": { "replicas": 2 } });
    let managers = Managers::default().update(&deployments(), &Value::Null, &live, &by("a", NOW));
    let with =
        |managed: Value| json!({ "metadata": { "name": "d", "managedFields": managed }, "spec": { "replicas": 2 } });
    let update = |managed: Value| managers.update(&deployments(), &live, &with(managed), &by("b", LATER));

    assert_eq!(update(managers.to_value()), managers);
    assert_eq!(update(Value::Null), managers);
    assert_eq!(update(json!([{ "manager": "x" }])), managers, "malformed");
    assert!(update(json!([])).is_empty() && update(json!([{}])).is_empty());

    let mut moved = managers.to_value();
    moved[0]["manager"] = json!("x");
    moved[0]["operation"] = json!("Apply");
    let moved = update(moved);
    assert_eq!(owners(&moved), json!({ "x": { "f:replicas": {} } }));
    assert_eq!(moved.to_value()[0]["operation"], "Apply");

    let status = Writer { subresource: Some("status"), ..by("b", LATER) };
    assert_eq!(managers.update(&deployments(), &live, &with(json!([])), &status), managers);
}

#[test]
fn fields_without_owner_go_to_an_entry_of_their_own_at_the_first_apply() {
    let live = json!({ "metadata": { "name": "d", "uid": "u" }, "spec": { "replicas": 2 } });
    let untracked = Managers::default();
    assert!(untracked.update(&deployments(), &live, &json!({ "spec": { "replicas": 3 } }), &by("a", NOW)).is_empty());
    let (_, managers) = apply(&untracked, &live, &json!({ "spec": { "paused": true } }), "us");
    assert_eq!(owners(&managers), json!({ "before-first-apply": { "f:replicas": {} }, "us": { "f:paused": {} } }));
}

#[test]
fn the_oldest_updates_are_merged() {
    let mut live = json!({ "metadata": { "name": "d" } });
    let mut managers = Managers::default();
    for index in 0..12 {
        let mut after = live.clone();
        after["metadata"]["labels"][format!("l{index:02}")] = json!("x");
        let now = format!("2026-01-02T03:04:{index:02}Z");
        let before = if index == 0 { Value::Null } else { live };
        managers = managers.update(&deployments(), &before, &after, &by(&format!("m{index:02}"), &now));
        live = after;
    }
    let entries = managers.to_value();
    let entries = entries.as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], "ancient-changes");
    assert_eq!(entries[0]["time"], "2026-01-02T03:04:02Z");
    let labels = &entries[0]["fieldsV1"]["f:metadata"]["f:labels"];
    assert_eq!(*labels, json!({ ".": {}, "f:l00": {}, "f:l01": {}, "f:l02": {} }));
}

#[test]
fn an_object_with_an_item_twice_cannot_be_applied() {
    let object = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c" }, { "name": "c" }] } } } });
    assert_eq!(
        Managers::cannot_be_applied(&deployments(), &object).unwrap(),
        r#".spec.template.spec.containers: duplicate entries for key [name="c"]"#
    );
    assert_eq!(Managers::cannot_be_applied(&deployments(), &json!({ "spec": { "replicas": 1 } })), None);
}
