//! Deletions: what is held by a finalizer, and a pod that runs, is only marked; the last finalizer to go, and the kubelet, remove
//! it. (kubernetes: `rest.BeforeDelete` and `Store.Delete` of k8s.io/apiserver)

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::errors::conflict;
use super::kinds::Kind;
use super::request::{Answer, ApiError, DeleteOptions};
use super::state::{ObjectKey, StoredState};
use super::verbs::call::{VerbCall, whole_second};
use super::verbs::{metadata, namespaces};

#[cfg(test)]
mod tests;

/// The kinds whose deletion is answered with the object. (kubernetes: `ReturnDeletedObject` of the stores)
const RETURNED: [&str; 5] = ["persistentvolumeclaims", "persistentvolumes", "pods", "serviceaccounts", "services"];

/// How a deletion gives the object time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grace {
    /// The kind has no grace, or it is over.
    None,
    /// The object has got it before; nothing changes.
    Pending,
    /// So many seconds from now on.
    Seconds(i64),
}

/// Deletes an object.
pub(crate) fn delete(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    options: &DeleteOptions,
) -> Result<Answer, ApiError> {
    let key = call.key()?;
    let before = state.stored(call.id(), &key).cloned().ok_or_else(|| call.not_found(&key))?;
    check_preconditions(call.kind, &key.1, &before.value, options)?;
    let mut object = (*before.value).clone();
    let stays = if namespaces::are_meant(call) {
        namespaces::terminate(state, call, &mut object, options)?
    } else {
        mark(call, &mut object, options)?
    };
    let graceful = call.kind.plural == "pods";
    let object = if object != *before.value && (stays || graceful) {
        state.put(&call.request.user, call.id(), &key, object, before.managers)
    } else {
        Arc::new(object)
    };
    if stays {
        return Ok(Answer { code: 200, body: object });
    }
    let last = state.remove(&call.request.user, call.id(), &key);
    Ok(Answer { code: 200, body: removed(call.kind, &key, last.unwrap_or(object)) })
}

/// Checks that the object is the one that is to be deleted.
fn check_preconditions(kind: &Kind, name: &str, object: &Value, options: &DeleteOptions) -> Result<(), ApiError> {
    let present = metadata::text(object, "uid");
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != present) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({present}). The object might have been \
             deleted and then recreated"
        );
        return Err(conflict(&kind.qualified(), name, why));
    }
    let present = metadata::text(object, "resourceVersion");
    if let Some(version) = options.version.as_deref().filter(|version| *version != present) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({present}). \
             The object might have been modified"
        );
        return Err(conflict(&kind.qualified(), name, why));
    }
    Ok(())
}

/// Marks an object as deleted. Returns false if nothing holds it, so it is to be removed.
fn mark(call: &VerbCall<'_>, object: &mut Value, options: &DeleteOptions) -> Result<bool, ApiError> {
    let grace = if call.kind.plural == "pods" { give_grace(object, options.grace, call.now)? } else { Grace::None };
    if grace == Grace::Pending {
        return Ok(true);
    }
    metadata::set_collection_finalizers(object, options.propagation)?;
    let held = metadata::has_finalizers(object);
    match grace {
        Grace::None if held => hold(object, call.now)?,
        Grace::None | Grace::Pending => {}
        Grace::Seconds(seconds) => return Ok(held || seconds > 0),
    }
    Ok(held)
}

/// Marks an object that a finalizer holds.
fn hold(object: &mut Value, now: Timestamp) -> Result<(), ApiError> {
    if metadata::number(object, "deletionGracePeriodSeconds").is_none() {
        count(object)?;
    }
    let is_marked = metadata::is_deleting(object);
    let fields = metadata::of(object)?;
    if !is_marked {
        fields.insert("deletionTimestamp".to_owned(), json!(whole_second(now).to_string()));
    }
    fields.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
    Ok(())
}

/// A deletion changes what is desired.
fn count(object: &mut Value) -> Result<(), ApiError> {
    if let Some(generation) = metadata::number(object, "generation").filter(|generation| *generation > 0) {
        metadata::of(object)?.insert("generation".to_owned(), json!(generation + 1));
    }
    Ok(())
}

/// Gives a pod its grace, or a shorter one.
fn give_grace(pod: &mut Value, asked: Option<i64>, now: Timestamp) -> Result<Grace, ApiError> {
    let given = metadata::number(pod, "deletionGracePeriodSeconds").unwrap_or_default();
    let (seconds, end) = match metadata::text(pod, "deletionTimestamp").parse::<Timestamp>() {
        Ok(_) if given == 0 => return Ok(Grace::None),
        Ok(end) => match asked.filter(|asked| *asked < given) {
            Some(asked) => (asked, later(end, asked - given)),
            None => return Ok(Grace::Pending),
        },
        Err(_) => {
            count(pod)?;
            let seconds = first_grace(pod, asked);
            (seconds, later(now, seconds))
        }
    };
    let fields = metadata::of(pod)?;
    fields.insert("deletionTimestamp".to_owned(), json!(whole_second(end).to_string()));
    fields.insert("deletionGracePeriodSeconds".to_owned(), json!(seconds));
    Ok(Grace::Seconds(seconds))
}

/// The grace of a pod that is deleted for the first time: none if it runs nowhere or has ended.
fn first_grace(pod: &Value, asked: Option<i64>) -> i64 {
    let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let own = || pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    let is_idle = text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded");
    match asked.or_else(own).unwrap_or_default() {
        _ if is_idle => 0,
        negative if negative < 0 => 1,
        seconds => seconds,
    }
}

fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(time)
}

/// The answer to a deletion that removed the object.
fn removed(kind: &Kind, key: &ObjectKey, object: Arc<Value>) -> Arc<Value> {
    if RETURNED.contains(&&*kind.plural) {
        return object;
    }
    let mut details = json!({ "name": key.1, "kind": kind.plural, "uid": metadata::text(&object, "uid") });
    if let (false, Some(fields)) = (kind.group.is_empty(), details.as_object_mut()) {
        fields.insert("group".to_owned(), json!(kind.group));
    }
    Arc::new(json!({ "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success", "details": details }))
}
