//! MyApp: what its definition says.

use serde_json::Value;

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
fn every_list_is_bounded_and_says_how_it_merges() {
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
