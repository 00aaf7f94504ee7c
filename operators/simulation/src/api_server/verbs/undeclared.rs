//! The fields of an apply that the schema of a custom kind does not declare. Schemas of built-in kinds are not modelled: an
//! unknown field there is stored.

use serde_json::{Map, Value};

/// The paths of the fields that are not declared, such as `.spec.siez`.
pub(crate) fn undeclared(schema: &Value, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (field, value) in object.as_object().into_iter().flatten() {
        if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata") {
            find_in_field(schema, "", (field, value), &mut found);
        }
    }
    found
}

fn find(schema: &Value, path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if is_struct(schema) => find_in_fields(schema, path, fields, found),
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (i, item) in items.iter().enumerate() {
                find(schema, &format!("{path}[{i}]"), item, found);
            }
        }
        _ => {}
    }
}

/// Objects of that schema have declared fields only, or keys with values of a schema.
fn is_struct(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

fn find_in_fields(schema: &Value, path: &str, fields: &Map<String, Value>, found: &mut Vec<String>) {
    for field in fields {
        find_in_field(schema, path, field, found);
    }
}

fn find_in_field(schema: &Value, path: &str, (field, value): (&String, &Value), found: &mut Vec<String>) {
    let path = format!("{path}.{field}");
    let declared = schema.get("properties").and_then(|properties| properties.get(field));
    match (declared, schema.get("additionalProperties")) {
        (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => find(schema, &path, value, found),
        (None, Some(Value::Bool(true))) => {}
        (None, _) if is_true(schema, "x-kubernetes-preserve-unknown-fields") => {}
        // An embedded object has the fields that each object has.
        (None, _)
            if is_true(schema, "x-kubernetes-embedded-resource")
                && matches!(field.as_str(), "apiVersion" | "kind" | "metadata") => {}
        (None, _) => found.push(path),
    }
}

fn is_true(schema: &Value, marker: &str) -> bool {
    schema.get(marker).and_then(Value::as_bool).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_declared_fields_pass() {
        let schema = json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "size": { "type": "integer" },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "parts": { "type": "array", "items": { "type": "object", "properties": { "a": { "type": "string" } } } },
                "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                "port": { "x-kubernetes-int-or-string": true },
            } },
        } });
        let known = json!({ "kind": "X", "metadata": { "name": "a", "new": 1 }, "spec": {
            "size": 1, "labels": { "a": "b" }, "parts": [{ "a": "b" }], "any": { "a": { "b": 1 } }, "port": 1,
        } });
        assert_eq!(undeclared(&schema, &known), Vec::<String>::new());
        let unknown = json!({ "extra": 1, "spec": { "sizes": 1, "parts": [{ "a": "b" }, { "b": "c" }] } });
        assert_eq!(undeclared(&schema, &unknown), [".extra", ".spec.parts[1].b", ".spec.sizes"]);
    }
}
