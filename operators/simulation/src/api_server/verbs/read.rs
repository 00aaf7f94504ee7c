//! Reads of objects and of collections.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::call::VerbCall;
use crate::api_server::errors::{bad_request, expired};
use crate::api_server::request::{Answer, ApiError, ListOptions};
use crate::api_server::selector::CollectionSelector;
use crate::api_server::state::{ObjectKey, StoredState};

/// Why a page of a list cannot be continued.
const TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                       without the continue parameter.";

/// Reads an object.
pub(crate) fn get(state: &StoredState, call: &VerbCall<'_>) -> Result<Answer, ApiError> {
    let key = call.key()?;
    let stored = state.stored(call.id(), &key).ok_or_else(|| call.not_found(&key))?;
    Ok(Answer { code: 200, body: stored.value.clone() })
}

/// Reads a page of a collection. All pages of a list show the version at which the first was read.
pub(crate) fn list(state: &StoredState, call: &VerbCall<'_>, options: &ListOptions) -> Result<Answer, ApiError> {
    if call.request.name.is_some() {
        return Err(bad_request("a list has no name; select it by a field"));
    }
    let selector = CollectionSelector::parse(options)?;
    let page = options.after.as_deref().map(PageEnd::parse).transpose()?;
    let version = page.as_ref().map_or(state.version(), |page| page.version);
    let mut objects = objects_at(state, call, version)?;
    if let Some(PageEnd { last, .. }) = page {
        objects = objects.split_off(&last);
        objects.remove(&last);
    }
    let end = objects.last_key_value().map(|(key, _)| key.clone());
    objects.retain(|_, object| selector.matches(object));
    let limit = options.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let remaining = objects.len().saturating_sub(limit);
    let last = objects.keys().nth(limit.saturating_sub(1)).cloned();
    // A page that is full is the last one only if no object follows, be it selected or not.
    let is_continued = last < end && !selector.names_one();
    let mut metadata = json!({ "resourceVersion": version.to_string() });
    if let (true, Some(last), Some(fields)) = (is_continued, last, metadata.as_object_mut()) {
        fields.insert("continue".to_owned(), json!(PageEnd { version, last }.token()));
        if selector.is_empty() {
            fields.insert("remainingItemCount".to_owned(), json!(remaining));
        }
    }
    let items: Vec<_> = objects.values().take(limit).map(|object| item(call, object)).collect();
    // Such a list has no items at all, in Go.
    let items = if items.is_empty() && call.request.metadata_only { Value::Null } else { Value::Array(items) };
    let (api_version, kind) = if call.request.metadata_only {
        ("meta.k8s.io/v1", "PartialObjectMetadataList".to_owned())
    } else {
        (call.api_version(), format!("{}List", call.kind.kind))
    };
    let mut body = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
    if let Some(fields) = body.as_object_mut() {
        // The macro would copy them.
        fields.insert("items".to_owned(), items);
    }
    Ok(Answer { code: 200, body: Arc::new(body) })
}

/// An object in a list. Lists of built-in kinds do not repeat the kind.
fn item(call: &VerbCall<'_>, object: &Value) -> Value {
    if call.request.metadata_only {
        return metadata_only(object);
    }
    match object.as_object().filter(|_| call.kind.schema.is_none()) {
        Some(fields) => {
            let kept = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind"));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        None => object.clone(),
    }
}

/// The objects of the collection as they were at a version.
fn objects_at(
    state: &StoredState,
    call: &VerbCall<'_>,
    version: u64,
) -> Result<BTreeMap<ObjectKey, Arc<Value>>, ApiError> {
    let is_meant = |key: &ObjectKey| call.request.namespace.as_ref().is_none_or(|namespace| *namespace == key.0);
    let all = state.all(call.id()).filter(|(key, _)| is_meant(key));
    let mut objects: BTreeMap<_, _> = all.map(|(key, object)| (key.clone(), object.clone())).collect();
    let newer = state.changes(version).map_err(|_| expired(TOO_OLD))?;
    for change in newer.iter().rev().filter(|change| change.kind == call.id() && is_meant(&change.key)) {
        match &change.before {
            Some(before) => objects.insert(change.key.clone(), before.clone()),
            None => objects.remove(&change.key),
        };
    }
    Ok(objects)
}

/// Where a page of a list ended.
#[derive(Debug, PartialEq, Eq)]
struct PageEnd {
    version: u64,
    last: ObjectKey,
}

impl PageEnd {
    fn token(&self) -> String {
        format!("{}:{}/{}", self.version, self.last.0, self.last.1)
    }

    fn parse(token: &str) -> Result<Self, ApiError> {
        let parts =
            token.split_once(':').and_then(|(version, key)| Some((version.parse().ok()?, key.split_once('/')?)));
        let (version, (namespace, name)) =
            parts.ok_or_else(|| bad_request(format!("continue key is not valid: {token}")))?;
        Ok(Self { version, last: (namespace.to_owned(), name.to_owned()) })
    }
}

/// A body is an object, no list or status.
pub(crate) fn is_object(body: &Value) -> bool {
    body.get("kind").and_then(Value::as_str) != Some("Status") && body.get("items").is_none()
}

/// An object as clients get it that asked for metadata only.
#[must_use]
pub fn metadata_only(object: &Value) -> Value {
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}
