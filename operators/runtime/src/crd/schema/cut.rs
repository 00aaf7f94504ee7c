//! Pure: what another CRD cuts out of an object, and has cut out of one.
//!
//! Whatever a CRD has no field for, the API server leaves out of the objects that it reads, and the next write of an object, be it
//! to its status, stores it without. `managedFields` still name it, whatever is written.

use std::collections::BTreeSet;

use serde_json::Value;

use super::lack::{Lack, Path, Step};

/// The fields that somebody has set in an object of that `metadata`, and that its CRD lacks. Those of its status are no wish of
/// anybody's.
#[must_use]
pub fn cut(metadata: &Value, lacks: &[Lack]) -> Vec<String> {
    let entries = metadata["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sets = || entries.iter().filter(|entry| entry["subresource"].is_null()).map(|entry| &entry["fieldsV1"]);
    let paths = lacks.iter().filter_map(wished);
    let cut: BTreeSet<String> =
        paths.filter(|path| sets().any(|set| has(set, path))).map(|path| Path(path).to_string()).collect();
    cut.into_iter().collect()
}

/// Whether something can be cut out of what is asked for.
#[must_use]
pub fn cuts(lacks: &[Lack]) -> bool {
    lacks.iter().any(|lack| wished(lack).is_some())
}

fn wished(lack: &Lack) -> Option<&[Step]> {
    match lack {
        Lack::Field(path) | Lack::Type { field: path, .. } => {
            path.first().filter(|step| **step != Step::Field("status".into())).map(|_| path.as_slice())
        }
        Lack::Version(_) | Lack::Namespaces | Lack::Status => None,
    }
}

/// Whether a set of fields, as FieldsV1, names one on that path. What is in a list or map that has one owner as a whole, it does
/// not tell.
fn has(set: &Value, path: &[Step]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    let Some(fields) = set.as_object() else { return false };
    let below = |begins: &[&str]| {
        fields.iter().any(|(name, below)| begins.iter().any(|begin| name.starts_with(begin)) && has(below, rest))
    };
    match step {
        Step::Field(name) => fields.get(&format!("f:{name}")).is_some_and(|below| has(below, rest)),
        Step::Values => below(&["f:"]),
        Step::Items => below(&["k:", "v:", "i:"]),
    }
}

/// What of an object such a CRD can hold: takes away the rest, which an apply would be refused for.
pub fn hold(object: &mut Value, lacks: &[Lack]) {
    for lack in lacks {
        if let Lack::Field(path) | Lack::Type { field: path, .. } = lack {
            remove(object, path);
        }
    }
}

fn remove(value: &mut Value, path: &[Step]) {
    match (path, value) {
        ([Step::Field(name)], Value::Object(fields)) => drop(fields.remove(&**name)),
        ([Step::Values], Value::Object(fields)) => fields.clear(),
        ([Step::Items], Value::Array(items)) => items.clear(),
        ([Step::Field(name), rest @ ..], Value::Object(fields)) => {
            if let Some(below) = fields.get_mut(&**name) {
                remove(below, rest);
            }
        }
        ([Step::Values, rest @ ..], Value::Object(fields)) => fields.values_mut().for_each(|below| remove(below, rest)),
        ([Step::Items, rest @ ..], Value::Array(items)) => items.iter_mut().for_each(|below| remove(below, rest)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lack(path: &[&str]) -> Lack {
        let step = |name: &&str| match *name {
            "[]" => Step::Items,
            "*" => Step::Values,
            name => Step::Field(name.into()),
        };
        Lack::Field(path.iter().map(step).collect())
    }

    #[test]
    fn what_somebody_has_set_is_told() {
        let metadata = json!({ "managedFields": [
            { "manager": "kubectl", "fieldsV1": { "f:spec": { ".": {}, "f:files": { ".": {}, "k:{\"mountPath\":\"/x\"}": {
                ".": {}, "f:mountPath": {}, "f:subPath": {} } }, "f:limits": { "f:cpu": {} } } } },
            { "manager": "multi-operator", "subresource": "status", "fieldsV1": { "f:status": { "f:route": {} } } },
        ] });
        let told = |paths: &[&[&str]]| cut(&metadata, &paths.iter().map(|path| lack(path)).collect::<Vec<_>>());
        assert_eq!(
            told(&[&["spec", "files"], &["spec", "files", "[]", "subPath"]]),
            [".spec.files", ".spec.files[].subPath"]
        );
        assert_eq!(told(&[&["spec", "limits", "*"]]), [".spec.limits.*"]);
        assert_eq!(told(&[&["spec"]]), [".spec"]);
        let nobody: &[&[&str]] =
            &[&["spec", "route"], &["spec", "files", "[]", "optional"], &["spec", "limits", "cpu", "x"]];
        assert_eq!(told(nobody), Vec::<String>::new());
        assert_eq!(told(&[&["status", "route"]]), Vec::<String>::new(), "what the manager has written");
        assert_eq!(cut(&metadata, &[Lack::Status]), Vec::<String>::new());
        assert!(!cuts(&[Lack::Status, lack(&["status", "route"])]) && cuts(&[lack(&["spec", "route"])]));
    }

    #[test]
    fn an_object_that_nobody_is_known_to_have_written_has_lost_nothing() {
        assert_eq!(cut(&json!({}), &[lack(&["spec", "files"])]), Vec::<String>::new());
        assert_eq!(cut(&json!({ "managedFields": [{ "manager": "a" }] }), &[lack(&["spec"])]), Vec::<String>::new());
    }
}
