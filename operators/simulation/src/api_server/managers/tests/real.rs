//! What the real library does: each line of `real.jsonl` is a sequence of random writes to one object, with the objects and
//! owners that the package `managedfields` of apimachinery 0.36.3 made of them (structured-merge-diff 6.3.3). Of built-in
//! kinds, the objects went through their Go structs. `widget.json` is the schema of the custom kind.

use serde_json::json;

use super::*;

const SEQUENCES: &str = include_str!("real.jsonl");
const WIDGET: &str = include_str!("widget.json");

fn types(plural: &str) -> FieldTypes {
    match plural {
        "widgets" => FieldTypes::of_custom(&serde_json::from_str(WIDGET).unwrap()),
        plural => FieldTypes::of_built_in(plural),
    }
}

/// Without what a Go struct always writes. Only the API server's defaults replace the 0.
fn content(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(name, value)| (name.clone(), content(value)));
            let written = |(name, value): &(String, Value)| {
                !value.is_null() && *value != json!({}) && !(name == "targetPort" && *value == json!(0))
            };
            Value::Object(fields.filter(written).collect())
        }
        Value::Array(items) => items.iter().map(content).collect(),
        scalar => scalar.clone(),
    }
}

/// The entries as the sequences have them: the times are only there or not.
fn rendered(managers: &Managers) -> Value {
    let entries = managers.to_value();
    let mut entries: Vec<Value> = entries.as_array().unwrap().iter().map(entry).collect();
    entries.sort_by_key(|entry| {
        ["manager", "operation", "subresource"].map(|field| entry[field].as_str().unwrap_or_default().to_owned())
    });
    Value::Array(entries)
}

fn entry(entry: &Value) -> Value {
    let mut rendered = json!({
        "manager": entry["manager"],
        "operation": entry["operation"],
        "fields": entry["fieldsV1"],
        "timed": entry.get("time").is_some()
    });
    if let Some(subresource) = entry.get("subresource") {
        rendered["subresource"] = subresource.clone();
    }
    rendered
}

fn run(sequence: &Value) {
    let types = types(sequence["kind"].as_str().unwrap());
    let (mut live, mut managers) = (Value::Null, Managers::default());
    for (index, step) in sequence["steps"].as_array().unwrap().iter().enumerate() {
        let about = format!("{} {} step {index}", sequence["kind"], sequence["seed"]);
        let object = &step["object"];
        let by = Writer {
            manager: step["by"].as_str().unwrap(),
            subresource: step["subresource"].as_str(),
            api_version: object["apiVersion"].as_str().unwrap(),
            now: Timestamp::from_second(1_000_000_000).unwrap(),
        };
        if step["verb"] == "update" {
            managers = managers.update(&types, &live, object, &by);
            live = object.clone();
        } else {
            match managers.apply(&types, &live, object, &by, step["verb"] == "force") {
                Err(conflicts) => {
                    assert_eq!(json!(conflict_message(&conflicts)), step["conflict"], "{about}");
                    continue;
                }
                Ok((after, owners)) => {
                    assert_eq!(step.get("conflict"), None, "{about}");
                    assert_eq!(content(&after), content(&step["result"]), "{about}");
                    managers = owners;
                    live = step["result"].clone();
                }
            }
        }
        assert_eq!(rendered(&managers), step["owners"], "{about}");
    }
}

#[test]
fn owners_and_objects_are_those_of_the_real_library() {
    let sequences: Vec<Value> = SEQUENCES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(sequences.len() >= 10);
    sequences.iter().for_each(run);
}
