//! The lines of a watch.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::selection::Selection;
use crate::api_server::answer::status;
use crate::api_server::errors;
use crate::api_server::kinds::KindId;
use crate::api_server::state::{Event, StoredChange, StoredState};
use crate::api_server::verbs;

/// The event of a change, if the watch selects the object before or after it.
pub(super) fn event(change: &StoredChange, selection: &Selection, metadata_only: bool) -> Option<Bytes> {
    if !selection.has_key(&change.key) {
        return None;
    }
    let matches = |object: &Arc<Value>| selection.matches(object);
    let is = matches(&change.after);
    let was = change.before.as_ref().map(matches);
    let name = match (&change.event, was, is) {
        (Event::Deleted, None, true) | (Event::Deleted, Some(true), _) => "DELETED",
        (Event::Added | Event::Modified, None | Some(false), true) => "ADDED",
        (Event::Added | Event::Modified, Some(true), true) => "MODIFIED",
        // The object is the last one that matched, with the version of the change.
        (Event::Added | Event::Modified, Some(true), false) => {
            let mut last = change.before.as_deref().cloned()?;
            last["metadata"]["resourceVersion"] = json!(change.version.to_string());
            return Some(line("DELETED", &reduced(&last, metadata_only)));
        }
        _ => return None,
    };
    Some(if metadata_only { line(name, &reduced(&change.after, true)) } else { line_of(name, change.text()) })
}

/// The present objects as added, for a watch without a version.
pub(super) fn present(
    state: &StoredState,
    kind: KindId,
    selection: &Selection,
    metadata_only: bool,
) -> VecDeque<Bytes> {
    let selected = state.all(kind).filter(|(key, object)| selection.has_key(key) && selection.matches(object));
    selected.map(|(_, object)| line("ADDED", &reduced(object, metadata_only))).collect()
}

/// A bookmark: there are no more events up to that version.
pub(super) fn bookmark(state: &StoredState, kind: KindId, metadata_only: bool, version: u64) -> Option<Bytes> {
    let kind = state.kinds().get(kind)?;
    let metadata = json!({ "resourceVersion": version.to_string(), "creationTimestamp": null });
    let object = json!({ "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata });
    Some(line("BOOKMARK", &reduced(&object, metadata_only)))
}

/// The error of a watch since a version whose successors are forgotten. As the real API server does, a new watch gets it in a
/// stream as well. (kubernetes: apiserver/pkg/storage/cacher)
pub(super) fn expired(since: u64, version: u64) -> Bytes {
    let message = format!("too old resource version: {since} ({version})");
    line("ERROR", &status(&errors::expired(message), None))
}

fn reduced(object: &Value, metadata_only: bool) -> Cow<'_, Value> {
    if metadata_only { Cow::Owned(verbs::metadata_only(object)) } else { Cow::Borrowed(object) }
}

/// The type is first, as the real API server writes it: kube then decodes the object without a copy, and could not in another order.
fn line(name: &str, object: &Value) -> Bytes {
    line_of(name, object.to_string().as_bytes())
}

fn line_of(name: &str, object: &[u8]) -> Bytes {
    let start = format!("{{\"type\":\"{name}\",\"object\":");
    Bytes::from([start.as_bytes(), object, b"}\n"].concat())
}
