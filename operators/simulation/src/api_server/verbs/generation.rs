//! The generation of an object, which counts the changes of what is desired.

use serde_json::Value;

use crate::api_server::kinds::Kind;

/// The built-in kinds that count generations. (kubernetes: `pkg/registry/*/*/strategy.go`)
const COUNTED: [&str; 8] = [
    "deployments",
    "endpointslices",
    "ingresses",
    "jobs",
    "poddisruptionbudgets",
    "pods",
    "replicasets",
    "statefulsets",
];

/// Objects of that kind have a generation.
pub(crate) fn is_counted(kind: &Kind) -> bool {
    kind.schema.is_some() || COUNTED.contains(&&*kind.plural)
}

/// What is desired differs between two states of an object.
pub(crate) fn differs(kind: &Kind, before: &Value, after: &Value) -> bool {
    let at = |pointer| before.pointer(pointer) != after.pointer(pointer);
    match &*kind.plural {
        _ if kind.schema.is_some() => desired(kind, before).ne(desired(kind, after)),
        "endpointslices" => desired(kind, before).ne(desired(kind, after)),
        "deployments" => at("/spec") || at("/metadata/annotations"),
        _ => at("/spec"),
    }
}

/// The fields besides the metadata and, if that is a subresource, the status.
fn desired<'a>(kind: &Kind, object: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    let status = kind.status;
    object
        .as_object()
        .into_iter()
        .flatten()
        .filter(move |(field, _)| *field != "metadata" && !(status && *field == "status"))
}
