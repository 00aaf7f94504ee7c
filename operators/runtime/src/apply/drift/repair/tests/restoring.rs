//! Restoring patches, and changes of a child in between.

use super::*;

fn patch(live: &Value, body: &Value) -> Value {
    restoring(live, body).unwrap().patch
}

fn seen() -> Value {
    json!({
        "metadata": {
            "uid": "u", "resourceVersion": "7", "ownerReferences": [{ "uid": "o" }], "annotations": { "theirs": "x" },
        },
        "spec": { "replicas": 1, "selector": { "app": "web", "x/y~z": "theirs" }, "args": ["a", "b"] },
    })
}

fn sent() -> Value {
    json!({
        "metadata": { "annotations": { "example.com/ours": "1" } },
        "spec": { "selector": { "app": "web" }, "args": ["a"], "more": { "of": "it", "nothing": null }, "none": null },
    })
}

#[test]
fn each_step_follows_a_test_and_lists_are_replaced() {
    let step = |op: &str, path: &str, value: Value| json!({ "op": op, "path": path, "value": value });
    let expected = json!([
        step("test", "/metadata/uid", json!("u")),
        step("test", "/metadata/ownerReferences", json!([{ "uid": "o" }])),
        step("test", "/metadata/annotations/example.com~1ours", json!(null)),
        step("add", "/metadata/annotations/example.com~1ours", json!("1")),
        step("test", "/spec/args", json!(["a", "b"])),
        step("replace", "/spec/args", json!(["a"])),
        step("test", "/spec/more", json!(null)),
        step("add", "/spec/more", json!({ "of": "it" })),
        step("test", "/spec/selector/x~1y~0z", json!("theirs")),
        json!({ "op": "remove", "path": "/spec/selector/x~1y~0z" }),
    ]);
    let restore = restoring(&seen(), &sent()).unwrap();
    assert_eq!((restore.patch, restore.version), (expected, json!("7")));
    let restored = patched::patched(&seen(), &patch(&seen(), &sent())).unwrap();
    assert_eq!(restoring(&restored, &sent()), None, "nothing is left to do");
    assert_eq!(restored["spec"]["replicas"], 1);
    assert_eq!(restored["metadata"]["annotations"]["theirs"], "x");
}

#[test]
fn changes_elsewhere_stay_and_changes_of_the_same_fields_are_left_to_an_apply() {
    let after = |path: &str, name: &str, value: Value| {
        let mut live = seen();
        live.pointer_mut(path).unwrap()[name] = value;
        patched::patched(&live, &patch(&seen(), &sent()))
    };
    let foreign = after("/metadata", "resourceVersion", json!("8")).expect("a later version does not matter");
    assert_eq!(foreign["metadata"]["resourceVersion"], "8");
    assert_eq!(after("/spec", "replicas", json!(3)).expect("it is not ours")["spec"]["replicas"], 3);
    for (path, name, value) in [
        ("/spec", "args", json!(["a", "b", "c"])),
        ("/spec", "more", json!({ "theirs": 1 })),
        ("/spec/selector", "x/y~z", json!("another")),
        ("/metadata/annotations", "example.com/ours", json!("2")),
        ("/metadata", "uid", json!("v")),
        ("/metadata", "ownerReferences", json!([])),
    ] {
        assert_eq!(after(path, name, value), None, "{path} {name}");
    }
}
