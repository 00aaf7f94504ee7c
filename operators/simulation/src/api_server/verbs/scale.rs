//! The subresource `scale`: the replicas of an object, whatever its kind calls them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::call::VerbCall;
use super::metadata;
use super::update::{OwnershipAfter, check_uid, store};
use crate::api_server::errors::{bad_request, internal_error, invalid_as, invalid_value, not_served};
use crate::api_server::kinds::ScalePaths;
use crate::api_server::request::{Answer, ApiError};
use crate::api_server::state::StoredState;

/// Reads the scale of an object.
pub(crate) fn get(state: &StoredState, call: &VerbCall<'_>) -> Result<Answer, ApiError> {
    let key = call.key()?;
    let stored = state.stored(call.id(), &key).ok_or_else(|| call.not_found(&key))?;
    let paths = paths(call)?;
    if call.kind.schema.is_some() && stored.value.pointer(&paths.spec).is_none() {
        let field = paths.spec.replace('/', ".");
        return Err(internal_error(&format!("the spec replicas field {field:?} does not exist")));
    }
    Ok(Answer { code: 200, body: Arc::new(view(paths, &stored.value)) })
}

/// Replaces the scale of an object.
pub(crate) fn replace(state: &mut StoredState, call: &VerbCall<'_>, body: &Value) -> Result<Answer, ApiError> {
    let key = call.key()?;
    metadata::check_namespace(call, body)?;
    metadata::check_name(&key.1, body, true)?;
    let live = state.stored(call.id(), &key).ok_or_else(|| call.not_found(&key))?;
    check_uid(call, &key, metadata::text(body, "uid"), metadata::text(&live.value, "uid"))?;
    patch(state, call, |scale| {
        scale.clone_from(body);
        Ok(())
    })
}

/// Changes the scale of an object.
pub(crate) fn patch(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    change: impl FnOnce(&mut Value) -> Result<(), ApiError>,
) -> Result<Answer, ApiError> {
    let (key, paths) = (call.key()?, paths(call)?);
    let before = state.stored(call.id(), &key).ok_or_else(|| call.not_found(&key))?.value.clone();
    let mut scale = view(paths, &before);
    change(&mut scale)?;
    if scale.get("kind").and_then(Value::as_str).is_some_and(|kind| kind != "Scale") {
        return Err(bad_request("the kind of the object is not Scale"));
    }
    let replicas = replicas(&scale, &key.1)?;
    let mut after = (*before).clone();
    set(&mut after, &paths.spec, replicas);
    let version = metadata::text(&scale, "resourceVersion");
    if !version.is_empty() {
        metadata::of(&mut after)?.insert("resourceVersion".to_owned(), json!(version));
    }
    let is_new = call.kind.schema.is_some() && before.pointer(&paths.spec).is_none();
    let ownership = match state.stored(call.id(), &key).filter(|_| is_new) {
        // Replicas that a custom object did not have get no owner.
        Some(live) => OwnershipAfter::Applied(live.managers.clone()),
        None => OwnershipAfter::ByChange,
    };
    let answer = store(state, call, &key, after, ownership)?;
    Ok(Answer { body: Arc::new(view(paths, &answer.body)), ..answer })
}

fn paths<'a>(call: &VerbCall<'a>) -> Result<&'a ScalePaths, ApiError> {
    call.scale.ok_or_else(not_served)
}

/// The replicas that a scale asks for.
fn replicas(scale: &Value, name: &str) -> Result<i64, ApiError> {
    let replicas = match scale.pointer("/spec/replicas") {
        None | Some(Value::Null) => 0,
        Some(replicas) => replicas.as_i64().ok_or_else(|| bad_request("spec.replicas is no integer"))?,
    };
    if replicas >= 0 {
        return Ok(replicas);
    }
    let cause = invalid_value("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
    Err(invalid_as("Scale.autoscaling", name, vec![cause]))
}

/// The scale of an object.
fn view(paths: &ScalePaths, object: &Value) -> Value {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default();
    let selector = match &paths.selector {
        None => selector(object),
        Some(pointer) => object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    let mut scale = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {},
        "spec": {},
        "status": { "replicas": number(&paths.status) },
    });
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    for field in kept {
        if let (Some(value), Some(metadata)) =
            (object.pointer(&format!("/metadata/{field}")), scale.get_mut("metadata"))
        {
            insert(metadata, field, value.clone());
        }
    }
    // The form of the wire leaves out zeros and empty texts.
    if let (replicas @ 1.., Some(spec)) = (number(&paths.spec), scale.get_mut("spec")) {
        insert(spec, "replicas", json!(replicas));
    }
    if let (false, Some(status)) = (selector.is_empty(), scale.get_mut("status")) {
        insert(status, "selector", json!(selector));
    }
    scale
}

/// The selector of labels of an object, as a text.
fn selector(object: &Value) -> String {
    let labels = object.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let labels =
        labels.into_iter().flatten().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let expressions = object.pointer("/spec/selector/matchExpressions").and_then(Value::as_array);
    let expressions = expressions.into_iter().flatten().map(|expression| {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        let values = expression.get("values").and_then(Value::as_array);
        let values: Vec<_> = values.into_iter().flatten().filter_map(Value::as_str).collect();
        match text("operator") {
            "Exists" => text("key").to_owned(),
            "DoesNotExist" => format!("!{}", text("key")),
            operator => format!("{} {} ({})", text("key"), operator.to_lowercase(), values.join(",")),
        }
    });
    labels.chain(expressions).collect::<Vec<_>>().join(",")
}

/// Sets a number at a JSON pointer, with the objects on the way.
fn set(object: &mut Value, pointer: &str, number: i64) {
    let mut at = object;
    let steps: Vec<_> = pointer.split('/').skip(1).collect();
    for step in steps {
        if at.is_null() {
            *at = json!({});
        }
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(step).or_insert(Value::Null);
    }
    *at = json!(number);
}

fn insert(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}
