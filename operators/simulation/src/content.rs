//! What two runs of the same content have in common: objects without what every run, and every order of events, gives them again.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api_server::state::StoredState;
use crate::objects::NAMESPACE;
use crate::scenario::Scenario;

/// Fields that differ between any two runs, at any depth.
const VOLATILE: [&str; 14] = [
    "collisionCount",
    "creationTimestamp",
    "generation",
    "lastAppliedUid",
    "lastTransitionTime",
    "lastUpdateTime",
    "managedFields",
    "observedGeneration",
    "resourceVersion",
    "startTime",
    "uid",
    "deployment.kubernetes.io/revision",
    "clusterIP",
    "clusterIPs",
];

/// The objects of a scenario, by plural and name.
#[must_use]
pub fn of(state: &StoredState, scenario: &Scenario) -> BTreeMap<String, Value> {
    let mut content = BTreeMap::new();
    for plural in scenario.roots.iter().chain(scenario.children) {
        let Some(kind) = state.kinds().plural(plural) else { continue };
        for ((_, name), object) in state.all(kind).filter(|((namespace, _), _)| namespace == NAMESPACE) {
            let mut object = Value::clone(object);
            strip(&mut object, scenario.volatile);
            if !scenario.roots.contains(plural) {
                // Who plays another controller words its status by what it has been through.
                object["status"]["conditions"].take();
            }
            content.insert(format!("{plural}/{name}"), object);
        }
    }
    content
}

fn strip(value: &mut Value, volatile: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !VOLATILE.contains(&name.as_str()) && !volatile.contains(&name.as_str()));
            fields.values_mut().for_each(|field| strip(field, volatile));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, volatile)),
        _ => {}
    }
}

/// What differs, one line an object that only one has, or a field.
#[must_use]
pub fn differences(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, object) in one {
        match other.get(name) {
            None => found.push(format!("{name} exists, and does not in the run without faults")),
            Some(expected) => compare(name, object, expected, &mut found),
        }
    }
    for name in other.keys().filter(|name| !one.contains_key(*name)) {
        found.push(format!("{name} does not exist, and does in the run without faults"));
    }
    found
}

fn compare(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) => {
            for name in fields.keys().chain(others.keys().filter(|name| !fields.contains_key(*name))) {
                let of = |all: &serde_json::Map<String, Value>| all.get(name).cloned().unwrap_or_default();
                compare(&format!("{path}.{name}"), &of(fields), &of(others), found);
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (index, (item, other)) in items.iter().zip(others).enumerate() {
                compare(&format!("{path}[{index}]"), item, other, found);
            }
        }
        _ if one != other => found.push(format!("{path} is {one}, and {other} in the run without faults")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_name_objects_and_fields() {
        let all = |value: Value| -> BTreeMap<String, Value> { serde_json::from_value(value).unwrap() };
        let one = all(json!({ "a": { "spec": { "x": 1, "l": [1, 2] } }, "b": {} }));
        let other = all(json!({ "a": { "spec": { "x": 2, "l": [1, 3], "y": true } }, "c": {} }));
        let found = differences(&one, &other);
        let starts = ["a.spec.l[1] is 2", "a.spec.x is 1", "a.spec.y is null", "b exists", "c does not exist"];
        assert_eq!(found.len(), starts.len(), "{found:?}");
        for (found, start) in found.iter().zip(starts) {
            assert!(found.starts_with(start), "{found}");
        }
        assert_eq!(differences(&one, &one), Vec::<String>::new());
    }

    #[test]
    fn what_every_run_gives_anew_is_left_out() {
        let mut object =
            json!({ "metadata": { "uid": "u", "name": "n", "ownerReferences": [{ "uid": "o", "name": "p" }] } });
        strip(&mut object, &[]);
        assert_eq!(object, json!({ "metadata": { "name": "n", "ownerReferences": [{ "name": "p" }] } }));
        strip(&mut object, &["ownerReferences"]);
        assert_eq!(object, json!({ "metadata": { "name": "n" } }));
    }
}
