//! Fields of the bodies that are drawn.

use serde_json::{Map, Value, json};

use super::{Field, METADATA, Sequence, Subject, parsed};

impl Sequence {
    /// One of these fields, and one of its values.
    pub(super) fn pick(&mut self, fields: &[Field]) -> Option<(&'static str, Value)> {
        let (pointer, values) = *self.random.pick(fields)?;
        Some((pointer, parsed(self.random.pick(values)?)))
    }

    /// Some fields of the kind or of metadata, with values.
    pub(super) fn some_fields(&mut self, least: u64, most: u64) -> Vec<(&'static str, Value)> {
        let mut fields = [self.subject.fields, METADATA].concat();
        // What a write to a list changes depends on what is in it: a real PVC has a finalizer from the beginning.
        fields.retain(|(pointer, _)| !self.subject.kept || *pointer != "/metadata/finalizers");
        (0..self.random.between(least, most)).filter_map(|_| self.pick(&fields)).collect()
    }

    /// A new object, or an apply's, of that name.
    pub(super) fn object(&self, name: &str, content: &Value) -> Value {
        let Subject { api_version, kind, .. } = self.subject;
        let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name } });
        json_patch::merge(&mut object, content);
        object
    }

    /// One of the contents that make a valid object.
    pub(super) fn base(&mut self) -> Value {
        self.random.pick(self.subject.bases).copied().map(parsed).unwrap_or_default()
    }
}

/// Sets a field, or removes it if the value is null.
pub(super) fn set(object: &mut Value, pointer: &str, value: Value) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    if value.is_null() {
        if let Some(Value::Object(fields)) = object.pointer_mut(parent) {
            fields.remove(name);
        }
        return;
    }
    match below(object, parent) {
        Some(Value::Object(fields)) => drop(fields.insert(name.to_owned(), value)),
        Some(Value::Array(items)) => {
            if let Some(item) = name.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                *item = value;
            }
        }
        _ => {}
    }
}

/// A merge patch of those fields; null removes one.
pub(super) fn patch(fields: Vec<(&'static str, Value)>) -> Value {
    let mut patch = json!({});
    for (pointer, value) in fields {
        let Some((parent, name)) = pointer.rsplit_once('/') else { continue };
        if let Some(Value::Object(fields)) = below(&mut patch, parent) {
            fields.insert(name.to_owned(), value);
        }
    }
    patch
}

/// The value at a pointer. What is missing on the way, or is no object and no list, becomes an object.
fn below<'a>(value: &'a mut Value, pointer: &str) -> Option<&'a mut Value> {
    let mut value = value;
    for name in pointer.split('/').skip(1) {
        value = match value {
            Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?)?,
            other => fields_of(other)?.entry(name).or_insert(Value::Null),
        };
    }
    if !value.is_array() {
        fields_of(value)?;
    }
    Some(value)
}

fn fields_of(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut()
}
