//! What admission plugins refuse: creations in namespaces that do not exist or terminate.

use super::call::VerbCall;
use super::metadata;
use crate::api_server::errors::{forbidden, internal, not_found};
use crate::api_server::request::ApiError;
use crate::api_server::state::StoredState;

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
