//! The six tests of scorecard, and stricter ones: scorecard checks only the fields of examples, these rules check every field.

use std::collections::BTreeSet;

use serde_json::Value;

use super::contents::{BundleContents, group_of};
use super::finding::Finding;
use crate::bundle::{PARTS, properties, text};

/// The names of the tests. The operator-framework's validators and the rules of the format cover olm-bundle-validation.
pub(crate) const TESTS: [&str; 6] = [
    "basic-check-spec",
    "olm-bundle-validation",
    "olm-crds-have-validation",
    "olm-crds-have-resources",
    "olm-spec-descriptors",
    "olm-status-descriptors",
];

pub(crate) fn findings(bundle: &BundleContents) -> Vec<Finding> {
    let examples = match bundle.examples() {
        Ok(examples) => examples,
        Err(why) => return vec![error("basic-check-spec", why)],
    };
    let mut found: Vec<Finding> = examples.iter().flat_map(|example| of_example(bundle, example)).collect();
    for owned in bundle.owned() {
        found.extend(of_owned(bundle, owned, &examples));
    }
    found
}

fn error(test: &str, message: impl Into<String>) -> Finding {
    Finding::error(&format!("scorecard/{test}"), message)
}

/// An example's group, version and kind.
fn gvk(example: &Value) -> (&str, &str, &str) {
    let (group, version) = text(example, "/apiVersion").split_once('/').unwrap_or_default();
    (group, version, text(example, "/kind"))
}

fn speaks_of(owned: &Value, (group, version, kind): (&str, &str, &str)) -> bool {
    group_of(owned) == group && text(owned, "/version") == version && text(owned, "/kind") == kind
}

/// An example is of an owned kind, has a spec, and only fields of its schema.
fn of_example(bundle: &BundleContents, example: &Value) -> Vec<Finding> {
    let (group, version, kind) = gvk(example);
    let mut found = Vec::new();
    if !bundle.owned().iter().any(|owned| speaks_of(owned, (group, version, kind))) {
        found.push(error("olm-status-descriptors", format!("the example of {kind} {version} is of no owned kind")));
    }
    if !example["spec"].is_object() {
        let message = format!("the example of {kind} has no spec, for which scorecard fails it");
        found.push(Finding::warning("scorecard/olm-spec-descriptors", message));
    }
    let Some(schema) = bundle.schema(group, kind, version) else {
        found.push(error("olm-crds-have-validation", format!("{kind} {version} has no schema")));
        return found;
    };
    for (field, value) in example.as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata"].contains(&field.as_str()) {
            unknown(&schema["properties"][field], value, field, &mut found, kind);
        }
    }
    found
}

/// Reports fields of an example that its schema lacks, at any depth.
fn unknown(schema: &Value, value: &Value, path: &str, found: &mut Vec<Finding>, kind: &str) {
    if schema.is_null() {
        let message = format!("the example of {kind} has {path}, which its schema does not know");
        return found.push(error("olm-crds-have-validation", message));
    }
    match value {
        Value::Object(fields) if schema.get("properties").is_some() => {
            for (name, value) in fields {
                unknown(&schema["properties"][name], value, &format!("{path}.{name}"), found, kind);
            }
        }
        Value::Array(items) if schema.get("items").is_some() => {
            for item in items {
                unknown(&schema["items"], item, &format!("{path}[0]"), found, kind);
            }
        }
        _ => {}
    }
}

/// An owned kind has an example, resources, a descriptor for each property that is not too deep, and no other descriptors.
fn of_owned(bundle: &BundleContents, owned: &Value, examples: &[Value]) -> Vec<Finding> {
    let (kind, version) = (text(owned, "/kind"), text(owned, "/version"));
    let mut found = Vec::new();
    if !examples.iter().any(|example| speaks_of(owned, gvk(example))) {
        found.push(error("basic-check-spec", format!("{kind} {version} has no example")));
    }
    if owned["resources"].as_array().is_none_or(Vec::is_empty) {
        found.push(error("olm-crds-have-resources", format!("{kind} {version} has no resources")));
    }
    let Some(schema) = bundle.schema(group_of(owned), kind, version) else {
        found.push(error("olm-crds-have-validation", format!("{kind} {version} has no schema")));
        return found;
    };
    for (part, field) in PARTS {
        found.extend(of_part(owned, schema, part, field));
    }
    let top = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
    for name in top.filter(|name| !["apiVersion", "kind", "metadata", "spec", "status"].contains(&name.as_str())) {
        let message = format!("{kind}.{name} is outside spec and status, and only those have descriptors");
        found.push(Finding::warning("scorecard/olm-spec-descriptors", message));
    }
    found
}

fn of_part(owned: &Value, schema: &Value, part: &str, field: &str) -> Vec<Finding> {
    let test = format!("olm-{part}-descriptors");
    let kind = text(owned, "/kind");
    let described = owned.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let paths: BTreeSet<&str> = described.iter().map(|descriptor| text(descriptor, "/path")).collect();
    let mut found = Vec::new();
    if paths.len() != described.len() {
        found.push(error(&test, format!("{kind}: two {field} have one path")));
    }
    let part_schema = &schema["properties"][part];
    for property in properties(part_schema) {
        let at = format!("{kind}.{part}.{}", property.path);
        match property.description() {
            // The property is one of Kubernetes itself, or its description was forgotten.
            None => {
                found.push(Finding::warning(
                    &format!("scorecard/{test}"),
                    format!("{at} has no description in its schema"),
                ));
            }
            Some(_) if !property.is_deep(part) && !paths.contains(property.path.as_str()) => {
                found.push(error(&test, format!("{at} has no descriptor")));
            }
            Some(_) => {}
        }
    }
    for descriptor in described {
        let path = text(descriptor, "/path");
        if resolve(part_schema, path).is_none() {
            found.push(error(&test, format!("{kind}.{part}.{path} has a descriptor, and is not there")));
        }
        let said = ["/displayName", "/description", "/x-descriptors/0"];
        if said.iter().any(|pointer| text(descriptor, pointer).is_empty()) {
            found.push(error(
                &test,
                format!("{kind}.{part}.{path}: displayName, description or x-descriptors is empty"),
            ));
        }
    }
    found
}

/// The schema of a path.
fn resolve<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(schema, |schema, name| {
        let (name, item) = name.strip_suffix("[0]").map_or((name, false), |name| (name, true));
        let field = schema.get("properties")?.get(name)?;
        if item { field.get("items") } else { Some(field) }
    })
}
