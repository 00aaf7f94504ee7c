//! MyApp: what its definition says.

use api::my_app::{Metric, MyAppSpec};
use serde_json::{Value, json};

fn schema() -> Value {
    let crd = api::crds().into_iter().find(|crd| crd.spec.names.kind == "MyApp").expect("a definition");
    serde_json::to_value(crd).expect("JSON")["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Calls with every schema within a schema, and its path.
fn each(schema: &Value, path: &str, call: &mut impl FnMut(&str, &Value)) {
    call(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        each(field, &format!("{path}.{name}"), call);
    }
    if schema["items"].is_object() {
        each(&schema["items"], &format!("{path}[]"), call);
    }
}

/// The lines that words take at that width.
fn wrapped(text: &str, width: usize) -> usize {
    let mut column = 0;
    let mut lines = 1;
    for word in text.split_whitespace() {
        if column > 0 && column + 1 + word.len() > width {
            (lines, column) = (lines + 1, 0);
        }
        column += word.len() + usize::from(column > 0);
    }
    lines
}

#[test]
fn every_field_is_described() {
    each(&schema()["properties"]["spec"], "spec", &mut |path, field| {
        let plain = path.ends_with("[]") && field["type"] == "string";
        assert!(plain || field["description"].is_string(), "{path}");
    });
}

#[test]
fn every_list_is_bounded_and_has_a_merge_strategy() {
    each(&schema()["properties"]["spec"], "spec", &mut |path, field| {
        if field["type"] == "array" {
            assert!(field["maxItems"].is_number(), "{path}");
            // Older lists of plain text are merged whole without saying so.
            let whole = field["items"]["type"] == "string";
            assert!(whole || field["x-kubernetes-list-type"].is_string(), "{path}");
        }
    });
}

/// `kubectl explain myapp.spec` shows a field in a line with its name, one with the values of an enum, its description and an
/// empty one, below eleven lines of its own. A screen is taken to have 60 lines.
#[test]
fn an_explanation_of_the_spec_fits_on_two_screens() {
    let spec = schema()["properties"]["spec"].clone();
    let lines = |field: &Value| {
        let description = field["description"].as_str().unwrap_or_default();
        2 + usize::from(field["enum"].is_array()) + wrapped(description, 76)
    };
    let fields: usize = spec["properties"].as_object().expect("fields").values().map(lines).sum();
    assert!(11 + fields <= 120, "{} lines", 11 + fields);
}

/// Parsed, the fields that are taken as they are would have a hundred times the size of their text.
#[test]
fn fields_without_a_schema_are_kept_as_text() {
    let x = vec![json!({ "a": 1 }); 175_000];
    let spec = json!({ "image": "i", "podOverrides": { "spec": { "x": x } },
        "autoscaling": { "max": 3, "metrics": [{ "type": "Pods", "x": x }] } });
    let text = spec.to_string();
    let read: MyAppSpec = serde_json::from_str(&text).expect("a spec");
    assert_eq!(
        read.pod_overrides.as_ref().map(|over| over.spec.text()),
        Some(&*spec["podOverrides"]["spec"].to_string())
    );
    let metric = read.autoscaling.as_ref().and_then(|autoscaling| autoscaling.metrics.first());
    assert_eq!(metric.map(Metric::text), Some(&*spec["autoscaling"]["metrics"][0].to_string()));
    let written: Value = serde_json::from_str(&serde_json::to_string(&read).expect("JSON")).expect("JSON");
    assert!(written == spec, "it is written as it was read");
    let empty: MyAppSpec = serde_json::from_value(json!({ "image": "i", "podOverrides": {} })).expect("a spec");
    assert_eq!(serde_json::to_value(empty).expect("JSON"), json!({ "image": "i", "podOverrides": {} }));
}

/// The operator asks for them by these names.
#[test]
fn names_in_restart_on_are_names_of_objects() {
    let on = &schema()["properties"]["spec"]["properties"]["restartOn"]["items"]["properties"];
    let account = &schema()["properties"]["spec"]["properties"]["serviceAccountName"]["pattern"];
    assert!(account.is_string());
    for reference in ["configMapRef", "secretRef"] {
        assert_eq!(&on[reference]["properties"]["name"]["pattern"], account, "{reference}");
    }
}
