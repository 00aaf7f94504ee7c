//! Patches that are no applies.

use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

use super::call::VerbCall;
use super::metadata;
use super::update::{OwnershipAfter, store};
use crate::api_server::errors::{bad_request, patch_failed};
use crate::api_server::request::{Answer, ApiError};
use crate::api_server::state::StoredState;

/// Changes an object.
pub(crate) fn patch(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    change: impl FnOnce(&mut Value) -> Result<(), ApiError>,
) -> Result<Answer, ApiError> {
    let key = call.key()?;
    let before = state.stored(call.id(), &key).ok_or_else(|| call.not_found(&key))?;
    let mut after = (*before.value).clone();
    change(&mut after)?;
    metadata::check_type(call, &mut after, false)?;
    store(state, call, &key, after, OwnershipAfter::ByChange)
}

/// Changes an object by a merge patch.
pub(crate) fn merge(object: &mut Value, patch: &Value) -> Result<(), ApiError> {
    if !patch.is_object() {
        return Err(bad_request("the merge patch is no object"));
    }
    json_patch::merge(object, patch);
    Ok(())
}

/// Changes an object by a JSON patch.
pub(crate) fn steps(object: &mut Value, patch: &Value) -> Result<(), ApiError> {
    let Patch(steps) = serde_json::from_value(patch.clone())
        .map_err(|error| bad_request(format!("error decoding the JSON patch: {error}")))?;
    for step in &steps {
        if !is_test_of_absence(object, step) {
            let step = as_addition(object, step).unwrap_or_else(|| step.clone());
            json_patch::patch(object, &[step]).map_err(|_| patch_failed())?;
        }
    }
    Ok(())
}

/// The addition that the replacement of a field is that its object does not have. (evanphx/json-patch v4: `Patch.replace`)
fn as_addition(object: &Value, step: &PatchOperation) -> Option<PatchOperation> {
    let PatchOperation::Replace(replace) = step else { return None };
    let (parent, _) = replace.path.as_str().rsplit_once('/')?;
    object.pointer(parent).filter(|parent| parent.is_object())?;
    Some(PatchOperation::Add(AddOperation { path: replace.path.clone(), value: replace.value.clone() }))
}

/// The step tests for `null` a field that does not exist, in an object or list that does: to the API server it is `null`.
/// (evanphx/json-patch: `Patch.test`)
fn is_test_of_absence(object: &Value, step: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = step else { return false };
    let path = test.path.as_str();
    test.value.is_null()
        && object.pointer(path).is_none()
        && path.rsplit_once('/').is_some_and(|(parent, _)| object.pointer(parent).is_some())
}
