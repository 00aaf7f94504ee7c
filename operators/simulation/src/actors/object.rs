//! Fields of objects, read and set without a type.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// The name of an object.
pub fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The namespace of an object; empty if it has none.
pub fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// The uid of an object.
pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Whether an object is being deleted.
pub fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Whether an object has that finalizer.
pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    items(&object["metadata"]["finalizers"]).iter().any(|one| one == finalizer)
}

/// The value of an annotation; empty if there is none.
pub fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

/// The elements of a list; none if it is no list.
pub fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// A text; empty if it is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A number; 0 if it is none.
pub fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// The owner reference of the controller of an object.
pub fn controller(object: &Value) -> Option<&Value> {
    items(&object["metadata"]["ownerReferences"]).iter().find(|owner| owner["controller"] == true)
}

/// The reference by which `owner` controls another object.
pub fn controller_reference(owner: &Value, api_version: &str, kind: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "name": name(owner), "uid": uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A time as objects contain it: in UTC, of whole seconds.
pub fn time(at: Timestamp) -> Value {
    Value::String(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A time of an object.
pub fn read_time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// The time of an object in seconds; 0 if there is none.
pub fn seconds(value: &Value) -> i64 {
    read_time(value).map_or(0, Timestamp::as_second)
}

/// Sets the field of that path, with the objects in which it is.
pub fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    if let Value::Object(fields) = object {
        set(fields.entry(*first).or_insert(Value::Null), rest, value);
    }
}

/// The same, of an object that others share: it is copied only if the field has another value.
pub fn set_shared(object: &mut Arc<Value>, path: &[&str], value: Value) {
    let present = path.iter().try_fold(&**object, |object, field| object.get(*field));
    if present != Some(&value) {
        set(Arc::make_mut(object), path, value);
    }
}

/// Removes the field of that path.
pub fn remove(object: &mut Value, path: &[&str]) {
    match path {
        [] => {}
        [last] => {
            if let Value::Object(fields) = object {
                fields.remove(*last);
            }
        }
        [first, rest @ ..] => {
            if let Some(inner) = object.get_mut(*first) {
                remove(inner, rest);
            }
        }
    }
}

/// The list as a patch sets it: an empty one is removed.
pub fn list_or_null(list: Vec<Value>) -> Value {
    if list.is_empty() { Value::Null } else { Value::Array(list) }
}

/// That time, so many milliseconds later.
pub(in crate::actors) fn later(at: Timestamp, milliseconds: u64) -> Timestamp {
    let by = SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX));
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_set_and_removed_with_their_parents() {
        let mut object = json!({ "a": null });
        set(&mut object, &["a", "b", "c"], json!(1));
        set(&mut object, &["d"], json!([]));
        assert_eq!(object, json!({ "a": { "b": { "c": 1 } }, "d": [] }));
        remove(&mut object, &["a", "b", "c"]);
        remove(&mut object, &["x", "y"]);
        remove(&mut object, &["d"]);
        assert_eq!(object, json!({ "a": { "b": {} } }));
    }

    #[test]
    fn times_have_whole_seconds() {
        let at: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        assert_eq!(time(at), "2026-01-02T03:04:05Z");
        assert_eq!(read_time(&time(at)).map(Timestamp::as_second), Some(at.as_second()));
        assert_eq!(seconds(&Value::Null), 0);
    }

    #[test]
    fn only_the_controller_is_the_controller() {
        let owner = json!({ "metadata": { "name": "a", "uid": "u" } });
        let reference = controller_reference(&owner, "apps/v1", "Deployment");
        let object = json!({ "metadata": { "ownerReferences": [{ "uid": "other" }, reference] } });
        assert_eq!(controller(&object).map(|owner| text(&owner["uid"])), Some("u"));
        assert_eq!(controller(&json!({ "metadata": { "ownerReferences": [{ "uid": "other" }] } })), None);
    }
}
