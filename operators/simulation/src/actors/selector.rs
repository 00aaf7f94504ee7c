//! The label selectors of workloads.

use serde_json::Value;

use super::object::{items, text};

/// Whether the labels of an object match a label selector. A missing selector matches nothing, an empty one everything.
pub fn matches(selector: &Value, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    let equal =
        selector["matchLabels"].as_object().into_iter().flatten().all(|(key, value)| labels[key.as_str()] == *value);
    let expressions = items(&selector["matchExpressions"]).iter().all(|one| expression(one, labels));
    selector.is_object() && equal && expressions
}

fn expression(expression: &Value, labels: &Value) -> bool {
    let value = &labels[text(&expression["key"])];
    let is_listed = value.is_string() && items(&expression["values"]).contains(value);
    match text(&expression["operator"]) {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_string(),
        "DoesNotExist" => !value.is_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_and_expressions_must_all_match() {
        let object = json!({ "metadata": { "labels": { "app": "a", "tier": "web" } } });
        let is = |selector: Value| matches(&selector, &object);
        assert!(is(json!({ "matchLabels": { "app": "a" } })));
        assert!(!is(json!({ "matchLabels": { "app": "a", "tier": "db" } })));
        assert!(!is(json!({ "matchLabels": { "absent": "a" } })));
        let expression = |operator: &str, values: Value| {
            is(json!({ "matchExpressions": [{ "key": "tier", "operator": operator, "values": values }] }))
        };
        assert!(expression("In", json!(["web", "x"])));
        assert!(!expression("In", json!(["x"])));
        assert!(!expression("NotIn", json!(["web"])));
        assert!(expression("NotIn", json!(["x"])));
        assert!(expression("Exists", Value::Null));
        assert!(!expression("DoesNotExist", Value::Null));
        assert!(is(json!({})));
        assert!(!is(Value::Null));
    }
}
