//! What admission plugins refuse and add: creations in namespaces that do not exist or terminate, and the default StorageClass.

use serde_json::{Value, json};

use super::call::VerbCall;
use super::metadata;
use crate::api_server::errors::{forbidden, internal, not_found};
use crate::api_server::request::ApiError;
use crate::api_server::state::StoredState;

/// The annotation of the StorageClass that PVCs get which name none.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// Admits the creation of an object of that name (the plugin `NamespaceLifecycle`).
pub(crate) fn admit(state: &StoredState, call: &VerbCall<'_>, name: &str) -> Result<(), ApiError> {
    if !call.kind.namespaced {
        return Ok(());
    }
    let namespace = call.namespace();
    let namespaces = state.kinds().plural("namespaces").ok_or_else(|| internal("namespaces are not served"))?;
    let Some(found) = state.get(namespaces, "", namespace) else {
        let kind = state.kinds().get(namespaces).ok_or_else(|| internal("namespaces are not served"))?;
        return Err(not_found(kind, namespace));
    };
    if !metadata::is_deleting(found) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut refusal = forbidden(call.kind, name, why);
    refusal.causes.push((
        "NamespaceTerminating",
        "metadata.namespace".to_owned(),
        format!("namespace {namespace} is being terminated"),
    ));
    Err(refusal)
}

/// Adds the default StorageClass to a new PVC that names none (the plugin `DefaultStorageClass`). No one owns the field.
pub(crate) fn complete(state: &StoredState, call: &VerbCall<'_>, object: &mut Value) -> Result<(), ApiError> {
    if call.kind.plural != "persistentvolumeclaims" || !object["spec"]["storageClassName"].is_null() {
        return Ok(());
    }
    let classes = state.kinds().plural("storageclasses").ok_or_else(|| internal("StorageClasses are not served"))?;
    let is_default = |class: &Value| class["metadata"]["annotations"][DEFAULT_CLASS] == "true";
    let default = state.all(classes).find(|(_, class)| is_default(class)).map(|((_, name), _)| name.clone());
    if let (Some(name), Some(spec)) = (default, object.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.insert("storageClassName".to_owned(), json!(name));
    }
    Ok(())
}
