//! Access to parts of a JSON object.

use serde_json::{Map, Value};

/// The fields of a JSON object.
pub(super) type Fields = Map<String, Value>;

/// The text at that JSON pointer; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

/// The whole number at that JSON pointer.
pub(super) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// The text of a field; empty if there is none.
pub(super) fn text_of<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or("")
}

/// The items of the list at that JSON pointer.
pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The object at that path, created if it is missing; `None` if a value of another type is there.
pub(super) fn object_at<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Fields> {
    let mut place = value.as_object_mut()?;
    for step in path {
        place = place.entry(*step).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    }
    Some(place)
}

/// The object at that path below these fields, if it exists.
pub(super) fn within<'a>(fields: &'a mut Fields, path: &[&str]) -> Option<&'a mut Fields> {
    let mut place = fields;
    for step in path {
        place = place.get_mut(*step)?.as_object_mut()?;
    }
    Some(place)
}

/// The objects of a list.
pub(super) fn items<'a>(fields: &'a mut Fields, list: &str) -> impl Iterator<Item = &'a mut Fields> {
    fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Sets a field that is missing.
pub(super) fn default(fields: &mut Fields, name: &str, value: impl Into<Value>) {
    fields.entry(name).or_insert_with(|| value.into());
}

/// Removes a field of an object.
pub(super) fn remove(object: &mut Value, name: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(name);
    }
}

/// Gives a field of an object the value that it has in another, or removes it as there.
pub(super) fn carry(from: &Value, to: &mut Value, path: &[&str], name: &str) {
    let value = path.iter().try_fold(from, |place, step| place.get(*step)).and_then(|place| place.get(name)).cloned();
    let Some(fields) = object_at(to, path) else { return };
    match value {
        Some(value) => {
            fields.insert(name.to_owned(), value);
        }
        None => {
            fields.remove(name);
        }
    }
}
