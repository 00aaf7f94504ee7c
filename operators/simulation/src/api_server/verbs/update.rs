//! Updates, and the end of each verb that changes an object.

use std::sync::Arc;

use serde_json::Value;

use super::call::VerbCall;
use super::{create, generation, metadata, namespaces, replicas};
use crate::api_server::errors::{conflict, unmodelled};
use crate::api_server::managers::Managers;
use crate::api_server::preparation;
use crate::api_server::request::{Answer, ApiError, Subresource};
use crate::api_server::state::{ObjectKey, StoredObject, StoredState};

/// The kinds that an update creates. (kubernetes: `AllowCreateOnUpdate` of the strategies)
const CREATED_BY_UPDATES: [&str; 3] = ["events", "leases", "services"];

/// Who owns the fields after a write.
pub(crate) enum OwnershipAfter {
    /// The writer owns what it changed.
    ByChange,
    /// These, after an apply.
    Applied(Managers),
}

/// Replaces an object.
pub(crate) fn replace(state: &mut StoredState, call: &VerbCall<'_>, body: &Value) -> Result<Answer, ApiError> {
    let key = call.key()?;
    let mut after = body.clone();
    metadata::check_type(call, &mut after, false)?;
    metadata::check_namespace(call, &after)?;
    metadata::check_name(&key.1, &after, true)?;
    let Some(live) = state.stored(call.id(), &key) else {
        return create_by_update(state, call, key, after);
    };
    check_uid(call, &key, metadata::text(&after, "uid"), metadata::text(&live.value, "uid"))?;
    store(state, call, &key, after, OwnershipAfter::ByChange)
}

/// Creates the object that an update is about, if the kind allows it.
fn create_by_update(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    key: ObjectKey,
    object: Value,
) -> Result<Answer, ApiError> {
    if !CREATED_BY_UPDATES.contains(&&*call.kind.plural) {
        return Err(call.not_found(&key));
    }
    check_uid(call, &key, metadata::text(&object, "uid"), "")?;
    if call.request.subresource.is_some() {
        return Err(unmodelled("a creation by an update of a subresource"));
    }
    create::create_as(state, call, key, object, false)
}

/// Checks the precondition that the uid in the body of an update is.
pub(crate) fn check_uid(call: &VerbCall<'_>, key: &ObjectKey, expected: &str, live: &str) -> Result<(), ApiError> {
    if expected.is_empty() || expected == live {
        return Ok(());
    }
    let (namespace, name) = key;
    let place = match &*call.kind.plural {
        plural if call.kind.schema.is_some() => format!("{}/{plural}", call.kind.group),
        "services" => "services/specs".to_owned(),
        "ingresses" => "ingress".to_owned(),
        plural => plural.to_owned(),
    };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{place}/{namespace}/{name}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {expected}, UID in object meta: {live}"
    );
    Err(conflict(&call.kind.resource(), name, why))
}

/// Stores the new state of an object, if it differs.
pub(crate) fn store(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    key: &ObjectKey,
    mut after: Value,
    ownership: OwnershipAfter,
) -> Result<Answer, ApiError> {
    let stored = state.stored(call.id(), key).cloned().ok_or_else(|| call.not_found(key))?;
    let before = &*stored.value;
    metadata::check_version(call, before, &mut after)?;
    metadata::carry_over(before, &mut after)?;
    metadata::drop_same_managers(before, &mut after)?;
    preparation::check_emptied(call.kind, before, &after)?;
    preparation::decode(call.kind, &mut after, false)?;
    let part = Some(Subresource::Status).filter(|_| call.is_about_status());
    let managers = match ownership {
        OwnershipAfter::Applied(managers) => managers,
        OwnershipAfter::ByChange => {
            let owned = |object: &Value| preparation::ownable(call.kind, object, part);
            stored.managers.update_of(&call.kind.types, owned(before), owned(&after), &after, &call.writer())
        }
    };
    let finalizes = part.is_none() && namespaces::finalizes(call, before, &after);
    let prepared = preparation::prepare_update(call.kind, before, &mut after, part);
    let prepared = replicas::validate(call, &after, prepared);
    namespaces::set_finalizers(call, before, &mut after, finalizes);
    metadata::check_update(call, before, &after, prepared)?;
    count(call, before, &mut after)?;
    save(state, call, key, &stored, after, managers)
}

/// Removes a deleted object that nothing holds any more, or stores its new state if it differs.
fn save(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    key: &ObjectKey,
    before: &StoredObject,
    mut after: Value,
    managers: Managers,
) -> Result<Answer, ApiError> {
    if is_released(call, &before.value, &after) {
        metadata::render(&mut after, &managers)?;
        state.remove(&call.request.user, call.id(), key);
        return Ok(Answer { code: 200, body: Arc::new(after) });
    }
    let is_same = metadata::is_same_but_managers(&after, &before.value)
        && managers.is_same_but_times(&before.managers)
        && !before.has_default_status;
    if is_same {
        return Ok(Answer { code: 200, body: before.value.clone() });
    }
    metadata::render_after(&mut after, &managers, before)?;
    let stored = state.put(&call.request.user, call.id(), key, after, managers);
    Ok(Answer { code: 200, body: stored })
}

/// Counts a change of what is desired.
fn count(call: &VerbCall<'_>, before: &Value, after: &mut Value) -> Result<(), ApiError> {
    if call.is_about_status() || !generation::is_counted(call.kind) || !generation::differs(call.kind, before, after) {
        return Ok(());
    }
    let generation = metadata::number(before, "generation").unwrap_or_default() + 1;
    metadata::of(after)?.insert("generation".to_owned(), Value::from(generation));
    Ok(())
}

/// The last finalizer of a deleted object is gone. The grace of a pod has to be over as well.
fn is_released(call: &VerbCall<'_>, before: &Value, after: &Value) -> bool {
    metadata::is_deleting(before)
        && !metadata::has_finalizers(after)
        && metadata::number(before, "deletionGracePeriodSeconds").unwrap_or_default() == 0
        && (!namespaces::are_meant(call) || namespaces::is_final(after))
}
