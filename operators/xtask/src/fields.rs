//! The fields of the CRDs, without the rest of their schemas: a manager compares them with the CRDs in the cluster.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::generated::Generated;

/// The parts of a schema that distinguish fields.
const KEPT: [&str; 4] = ["type", "items", "additionalProperties", "x-kubernetes-preserve-unknown-fields"];
/// The fields that every object has, with any CRD.
const COMMON: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The file, with one line for each kind and version.
pub(crate) fn file() -> Generated {
    let lines = api::crds().into_iter().flat_map(|crd| {
        let spec = crd.spec;
        spec.versions.into_iter().map(move |version| {
            let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
            let mut schema = fields(&serde_json::to_value(schema).expect("schemas are JSON"));
            if let Some(properties) = schema["properties"].as_object_mut() {
                properties.retain(|name, _| !COMMON.contains(&&**name));
            }
            let line =
                json!({ "group": spec.group, "version": version.name, "kind": spec.names.kind, "schema": schema });
            format!("{line}\n")
        })
    });
    (PathBuf::from("operators/api/src/fields.jsonl"), lines.collect())
}

fn fields(schema: &Value) -> Value {
    let mut kept = Map::new();
    for name in KEPT {
        match &schema[name] {
            Value::Null => {}
            below @ Value::Object(_) => drop(kept.insert(name.to_owned(), fields(below))),
            plain => drop(kept.insert(name.to_owned(), plain.clone())),
        }
    }
    if let Some(properties) = schema["properties"].as_object() {
        let properties = properties.iter().map(|(name, below)| (name.clone(), fields(below)));
        kept.insert("properties".to_owned(), Value::Object(properties.collect()));
    }
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_kept_without_the_constraints_on_their_values() {
        let schema = json!({ "type": "object", "description": "d", "required": ["type"], "properties": {
            "type": { "type": "string", "enum": ["a"] },
            "list": { "type": "array", "items": { "type": "integer", "minimum": 1 } } } });
        let kept = json!({ "type": "object", "properties": {
            "type": { "type": "string" }, "list": { "type": "array", "items": { "type": "integer" } } } });
        assert_eq!(fields(&schema), kept);
    }
}
