//! Creations.

use serde_json::Value;

use super::call::VerbCall;
use super::{admission, generation, metadata, namespaces, replicas};
use crate::api_server::errors::{internal, invalid, required, unmodelled};
use crate::api_server::kinds::Kind;
use crate::api_server::managers::Managers;
use crate::api_server::preparation;
use crate::api_server::request::{Answer, ApiError};
use crate::api_server::state::{ObjectKey, StoredState};

/// The longest part of a generated name before its random end.
const LONGEST_BASE: usize = 58;

/// Creates an object.
pub(crate) fn create(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    body: &Value,
    strict: bool,
) -> Result<Answer, ApiError> {
    if call.request.name.is_some() {
        return Err(unmodelled("a creation at the path of an object"));
    }
    let mut object = body.clone();
    metadata::check_type(call, &mut object, false)?;
    metadata::check_namespace(call, &object)?;
    if metadata::lists_managers(&object) {
        return Err(unmodelled("a creation with managedFields"));
    }
    if !metadata::text(&object, "resourceVersion").is_empty() {
        return Err(internal("resourceVersion should not be set on objects to be created"));
    }
    let key = (call.namespace().to_owned(), name(state, call, &object)?);
    create_as(state, call, key, object, strict)
}

/// Creates an object of that name.
pub(crate) fn create_as(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    key: ObjectKey,
    mut object: Value,
    strict: bool,
) -> Result<Answer, ApiError> {
    begin(state, call, &mut object, &key.1)?;
    preparation::decode(call.kind, &mut object, strict)?;
    admission::admit(state, call, &key.1)?;
    let owned = preparation::ownable(call.kind, &object, None);
    let managers = Managers::default().update_of(&call.kind.types, Value::Null, owned, &object, &call.writer());
    finish(state, call, key, object, managers)
}

/// Gives a new object what it has before it is decoded.
pub(crate) fn begin(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    object: &mut Value,
    name: &str,
) -> Result<(), ApiError> {
    metadata::initialize(state, call, object, name)?;
    if namespaces::are_meant(call) { namespaces::label(object, name) } else { Ok(()) }
}

/// Stores a new object that has been decoded.
pub(crate) fn finish(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    key: ObjectKey,
    mut object: Value,
    managers: Managers,
) -> Result<Answer, ApiError> {
    admission::complete(state, call, &mut object)?;
    let prepared = preparation::prepare_creation(call.kind, &mut object);
    replicas::validate(call, &object, prepared)?;
    if namespaces::are_meant(call) {
        namespaces::complete(&mut object);
    }
    metadata::check_absent(state, call, &key)?;
    if generation::is_counted(call.kind) {
        metadata::of(&mut object)?.insert("generation".to_owned(), Value::from(1));
    }
    metadata::render(&mut object, &managers)?;
    let is_default = has_default_status(call.kind, &object);
    let stored = state.put(&call.request.user, call.id(), &key, object, managers);
    if is_default {
        state.note_default_status(call.id(), &key);
    }
    Ok(Answer { code: 201, body: stored })
}

/// A new object of the kind is stored without a status, and gets one by default when it is read.
fn has_default_status(kind: &Kind, object: &Value) -> bool {
    let has_defaults = kind.schema.is_some() || kind.plural == "persistentvolumeclaims";
    has_defaults && kind.status && object.get("status").is_some()
}

/// The name of a new object, which the API server generates if it is to.
fn name(state: &mut StoredState, call: &VerbCall<'_>, object: &Value) -> Result<String, ApiError> {
    let (name, base) = (metadata::text(object, "name"), metadata::text(object, "generateName"));
    if !name.is_empty() {
        return Ok(name.to_owned());
    }
    if base.is_empty() {
        let cause = required("metadata.name", "name or generateName is required");
        return Err(invalid(call.kind, "", vec![cause]));
    }
    let base: String = base.chars().take(LONGEST_BASE).collect();
    loop {
        let name = format!("{base}{}", state.new_suffix());
        if state.get(call.id(), call.namespace(), &name).is_none() {
            return Ok(name);
        }
    }
}
