//! Server-side applies.

use serde_json::{Value, json};

use super::call::VerbCall;
use super::undeclared::undeclared;
use super::update::{OwnershipAfter, store};
use super::{admission, create, metadata};
use crate::api_server::errors::{bad_request, conflict, internal, unmodelled};
use crate::api_server::managers::{Conflict, Managers, conflict_message};
use crate::api_server::preparation;
use crate::api_server::request::{Answer, ApiError, Subresource};
use crate::api_server::state::{ObjectKey, StoredObject, StoredState};

/// Applies fields to an object, which is created if it does not exist.
pub(crate) fn apply(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    body: &Value,
    force: bool,
) -> Result<Answer, ApiError> {
    let key = call.key()?;
    let mut body = body.clone();
    metadata::check_type(call, &mut body, true)?;
    metadata::check_namespace(call, &body)?;
    metadata::check_name(&key.1, &body, false)?;
    if body.pointer("/metadata/managedFields").is_some_and(|managers| !managers.is_null()) {
        return Err(bad_request("metadata.managedFields must be nil"));
    }
    check_fields(call, &key, &body)?;
    match state.stored(call.id(), &key).cloned() {
        Some(live) => change(state, call, &key, &live, &body, force),
        None if call.is_about_status() => Err(call.not_found(&key)),
        None => create_applied(state, call, key, &body, force),
    }
}

/// Applies to an object that exists.
fn change(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    key: &ObjectKey,
    live: &StoredObject,
    body: &Value,
    force: bool,
) -> Result<Answer, ApiError> {
    let part = Some(Subresource::Status).filter(|_| call.is_about_status());
    let applied = preparation::ownable(call.kind, body, part);
    let managers = if live.managers.is_empty() {
        Managers::before_apply(&call.kind.types, &preparation::ownable(call.kind, &live.value, part), &call.writer())
    } else {
        live.managers.clone()
    };
    let (mut after, managers) = managers
        .apply(&call.kind.types, &live.value, &applied, &call.writer(), force)
        .map_err(|conflicts| refused(&conflicts))?;
    // Both are preconditions, also where the applied fields do not have them.
    for field in ["uid", "resourceVersion"] {
        let expected = metadata::text(body, field);
        if !expected.is_empty() {
            metadata::of(&mut after)?.insert(field.to_owned(), json!(expected));
        }
    }
    store(state, call, key, after, OwnershipAfter::Applied(managers))
}

/// Creates the object.
fn create_applied(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    key: ObjectKey,
    body: &Value,
    force: bool,
) -> Result<Answer, ApiError> {
    let uid = metadata::text(body, "uid");
    if !uid.is_empty() {
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(conflict(&call.kind.resource(), &key.1, why));
    }
    if !metadata::text(body, "resourceVersion").is_empty() {
        return Err(unmodelled("an apply with a version to an object that does not exist"));
    }
    let applied = preparation::ownable(call.kind, body, None);
    let (mut object, managers) = Managers::default()
        .apply(&call.kind.types, &Value::Null, &applied, &call.writer(), force)
        .map_err(|conflicts| refused(&conflicts))?;
    create::begin(state, call, &mut object, &key.1)?;
    preparation::decode(call.kind, &mut object, false)?;
    admission::admit(state, call, &key.1)?;
    create::finish(state, call, key, object, managers)
}

/// Checks that the fields are those of an object of the kind.
fn check_fields(call: &VerbCall<'_>, (_, name): &ObjectKey, body: &Value) -> Result<(), ApiError> {
    let unknown = call.kind.schema.as_ref().map(|schema| undeclared(schema, body)).unwrap_or_default();
    let unknown: Vec<_> = unknown.iter().map(|path| format!("{path}: field not declared in schema")).collect();
    let why = match unknown.as_slice() {
        [] => Managers::cannot_be_applied(&call.kind.types, body),
        [one] => Some(one.clone()),
        several => Some(format!("errors:\n  {}", several.join("\n  "))),
    };
    let Some(why) = why else { return Ok(()) };
    // The body need not have a namespace.
    let namespace = metadata::text(body, "namespace");
    let kind = format!("{}/{}, Kind={}", call.kind.group, call.kind.version, call.kind.kind);
    Err(internal(format!("failed to create typed patch object ({namespace}/{name}; {kind}): {why}")))
}

/// The refusal of an apply that would take fields from their owners.
fn refused(conflicts: &[Conflict]) -> ApiError {
    let causes = conflicts.iter().map(|one| ("FieldManagerConflict", one.path.clone(), one.message())).collect();
    ApiError { code: 409, reason: "Conflict", message: conflict_message(conflicts), causes }
}
