//! Pure: the fields that another CRD prunes from an object.
//!
//! The API server prunes unknown fields from the objects that it reads, and the next write of an object, even to its status,
//! stores it without them. `managedFields` still name them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::mismatch::{CrdMismatch, FieldPath, PathStep};

/// The fields that a client has set in an object of that `metadata`, and that its CRD does not have, except for those of its
/// status.
#[must_use]
pub fn pruned_fields(metadata: &Value, mismatches: &[CrdMismatch]) -> Vec<String> {
    let entries = metadata["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sets = || entries.iter().filter(|entry| entry["subresource"].is_null()).map(|entry| &entry["fieldsV1"]);
    let paths = mismatches.iter().filter_map(desired_path);
    let pruned_fields: BTreeSet<String> =
        paths.filter(|path| sets().any(|set| has(set, path))).map(|path| FieldPath(path).to_string()).collect();
    pruned_fields.into_iter().collect()
}

/// Whether fields of the desired state can be pruned.
#[must_use]
pub fn can_prune(mismatches: &[CrdMismatch]) -> bool {
    mismatches.iter().any(|mismatch| desired_path(mismatch).is_some())
}

fn desired_path(mismatch: &CrdMismatch) -> Option<&[PathStep]> {
    match mismatch {
        CrdMismatch::Field(path) | CrdMismatch::Type { field: path, .. } => {
            path.first().filter(|step| **step != PathStep::Field("status".into())).map(|_| path.as_slice())
        }
        CrdMismatch::Version(_) | CrdMismatch::NotNamespaced | CrdMismatch::Status => None,
    }
}

/// Whether a FieldsV1 names a field on that path. It does not name what is within an atomic list or map.
fn has(set: &Value, path: &[PathStep]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    let Some(fields) = set.as_object() else { return false };
    let below = |begins: &[&str]| {
        fields.iter().any(|(name, below)| begins.iter().any(|begin| name.starts_with(begin)) && has(below, rest))
    };
    match step {
        PathStep::Field(name) => fields.get(&format!("f:{name}")).is_some_and(|below| has(below, rest)),
        PathStep::Values => below(&["f:"]),
        PathStep::Items => below(&["k:", "v:", "i:"]),
    }
}

/// Removes the fields that the CRD does not have: the API server would reject an apply with them.
pub fn retain_known_fields(object: &mut Value, mismatches: &[CrdMismatch]) {
    for mismatch in mismatches {
        if let CrdMismatch::Field(path) | CrdMismatch::Type { field: path, .. } = mismatch {
            remove(object, path);
        }
    }
}

fn remove(value: &mut Value, path: &[PathStep]) {
    match (path, value) {
        ([PathStep::Field(name)], Value::Object(fields)) => drop(fields.remove(&**name)),
        ([PathStep::Values], Value::Object(fields)) => fields.clear(),
        ([PathStep::Items], Value::Array(items)) => items.clear(),
        ([PathStep::Field(name), rest @ ..], Value::Object(fields)) => {
            if let Some(below) = fields.get_mut(&**name) {
                remove(below, rest);
            }
        }
        ([PathStep::Values, rest @ ..], Value::Object(fields)) => {
            fields.values_mut().for_each(|below| remove(below, rest))
        }
        ([PathStep::Items, rest @ ..], Value::Array(items)) => items.iter_mut().for_each(|below| remove(below, rest)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mismatch(path: &[&str]) -> CrdMismatch {
        let step = |name: &&str| match *name {
            "[]" => PathStep::Items,
            "*" => PathStep::Values,
            name => PathStep::Field(name.into()),
        };
        CrdMismatch::Field(path.iter().map(step).collect())
    }

    #[test]
    fn fields_that_a_client_has_set_are_found() {
        let metadata = json!({ "managedFields": [
            { "manager": "kubectl", "fieldsV1": { "f:spec": { ".": {}, "f:files": { ".": {}, "k:{\"mountPath\":\"/x\"}": {
                ".": {}, "f:mountPath": {}, "f:subPath": {} } }, "f:limits": { "f:cpu": {} } } } },
            { "manager": "multi-operator", "subresource": "status", "fieldsV1": { "f:status": { "f:route": {} } } },
        ] });
        let reported =
            |paths: &[&[&str]]| pruned_fields(&metadata, &paths.iter().map(|path| mismatch(path)).collect::<Vec<_>>());
        assert_eq!(
            reported(&[&["spec", "files"], &["spec", "files", "[]", "subPath"]]),
            [".spec.files", ".spec.files[].subPath"]
        );
        assert_eq!(reported(&[&["spec", "limits", "*"]]), [".spec.limits.*"]);
        assert_eq!(reported(&[&["spec"]]), [".spec"]);
        let unset: &[&[&str]] =
            &[&["spec", "route"], &["spec", "files", "[]", "optional"], &["spec", "limits", "cpu", "x"]];
        assert_eq!(reported(unset), Vec::<String>::new());
        assert_eq!(reported(&[&["status", "route"]]), Vec::<String>::new(), "a field of the manager");
        assert_eq!(pruned_fields(&metadata, &[CrdMismatch::Status]), Vec::<String>::new());
        assert!(
            !can_prune(&[CrdMismatch::Status, mismatch(&["status", "route"])])
                && can_prune(&[mismatch(&["spec", "route"])])
        );
    }

    #[test]
    fn without_owners_no_field_is_pruned() {
        assert_eq!(pruned_fields(&json!({}), &[mismatch(&["spec", "files"])]), Vec::<String>::new());
        assert_eq!(
            pruned_fields(&json!({ "managedFields": [{ "manager": "a" }] }), &[mismatch(&["spec"])]),
            Vec::<String>::new()
        );
    }
}
