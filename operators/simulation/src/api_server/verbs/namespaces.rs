//! Namespaces: they end in two steps. A deletion makes one terminate; once it is empty, the namespace controller finalizes it,
//! and it is removed.
//!
//! Requests here have no subresource `finalize`. Instead, the namespace controller sends an update without `spec.finalizers`, or
//! deletes an empty namespace that terminates.

use serde_json::{Value, json};

use super::call::VerbCall;
use super::metadata;
use crate::api_server::request::{ApiError, DeleteOptions};
use crate::api_server::state::StoredState;

/// The users that may finalize a namespace.
const CONTROLLERS: [&str; 2] = ["kube-controller-manager", "namespace-controller"];

/// The request is about namespaces.
pub(crate) fn are_meant(call: &VerbCall<'_>) -> bool {
    call.kind.group.is_empty() && call.kind.plural == "namespaces"
}

/// Adds the label that each namespace has, before anything else is done to a new one.
pub(crate) fn label(object: &mut Value, name: &str) -> Result<(), ApiError> {
    let labels = metadata::of(object)?.entry("labels").or_insert_with(|| json!({}));
    if let Some(labels) = labels.as_object_mut() {
        labels.entry("kubernetes.io/metadata.name").or_insert_with(|| json!(name));
    }
    Ok(())
}

/// Completes a new namespace, after its preparation.
pub(crate) fn complete(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("spec".to_owned(), json!({ "finalizers": ["kubernetes"] }));
    }
}

/// An update says that the namespace is empty.
pub(crate) fn finalizes(call: &VerbCall<'_>, before: &Value, after: &Value) -> bool {
    are_meant(call) && metadata::is_deleting(before) && CONTROLLERS.contains(&&*call.request.user) && is_final(after)
}

/// Removes the finalizers of the spec, or keeps them: no other update changes them.
pub(crate) fn set_finalizers(call: &VerbCall<'_>, before: &Value, after: &mut Value, finalizes: bool) {
    let Some(fields) = after.as_object_mut().filter(|_| are_meant(call)) else { return };
    match before.get("spec").filter(|_| !finalizes) {
        Some(spec) => fields.insert("spec".to_owned(), spec.clone()),
        None => fields.remove("spec"),
    };
}

/// Nothing but the finalizers of the metadata holds a namespace that terminates.
pub(crate) fn is_final(object: &Value) -> bool {
    finalizers(object).is_none_or(Vec::is_empty)
}

/// Makes a namespace terminate. Returns false if it is to be removed instead.
pub(crate) fn terminate(
    state: &StoredState,
    call: &VerbCall<'_>,
    object: &mut Value,
    options: &DeleteOptions,
) -> Result<bool, ApiError> {
    if metadata::is_deleting(object) {
        let controlled = CONTROLLERS.contains(&&*call.request.user);
        let removable = is_final(object) || controlled && is_empty(state, metadata::text(object, "name"));
        return Ok(!removable || metadata::has_finalizers(object));
    }
    metadata::set_collection_finalizers(object, options.propagation)?;
    metadata::of(object)?.insert("deletionTimestamp".to_owned(), json!(call.second().to_string()));
    if let Some(fields) = object.as_object_mut() {
        let status = fields.entry("status").or_insert_with(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            status.insert("phase".to_owned(), json!("Terminating"));
        }
    }
    Ok(true)
}

/// No object is in that namespace.
fn is_empty(state: &StoredState, name: &str) -> bool {
    let namespaced = state.kinds().iter().filter(|(_, kind)| kind.namespaced);
    !namespaced.flat_map(|(id, _)| state.all(id)).any(|(key, _)| key.0 == name)
}

fn finalizers(object: &Value) -> Option<&Vec<Value>> {
    object.pointer("/spec/finalizers")?.as_array()
}
