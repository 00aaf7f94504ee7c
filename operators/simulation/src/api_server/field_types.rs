//! How the lists and maps of a kind merge: the markers `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and
//! `x-kubernetes-map-type`. They are those of Kubernetes 1.36 for built-in kinds, and those of the schema for custom kinds.

mod built_in;
mod custom;
mod field_type;
mod marker;
mod pods;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::copies::without_managed_fields;

pub use field_type::{FieldType, ListKey, ListType, Shape};

/// How the fields of a kind merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTypes {
    root: Arc<FieldType>,
    /// An object of the kind without any content: the fields that its Go struct always writes. `None` for a custom kind.
    empty: Option<Arc<Value>>,
    known: bool,
}

impl FieldTypes {
    /// Those of a custom kind, by the `openAPIV3Schema` of its definition.
    #[must_use]
    pub fn of_custom(schema: &Value) -> Self {
        Self { root: Arc::new(custom::root(schema)), empty: None, known: true }
    }

    /// Those of a built-in kind. `httproutes` are a custom kind without any marker. See [`is_known`](Self::is_known).
    #[must_use]
    pub fn of_built_in(plural: &str) -> Self {
        let (root, empty) = built_in::kind(plural);
        let empty = empty.map(Arc::new);
        let known = empty.is_some() || plural == "httproutes";
        Self { root: Arc::new(root), empty, known }
    }

    /// False for a kind that has no table here. Its metadata merges as that of all kinds, and all else has no marker, which may
    /// differ from the real API server: no such kind may be served.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// The type of the whole object.
    #[must_use]
    pub fn root(&self) -> &FieldType {
        &self.root
    }

    /// Whether the kind is built in: its objects are Go structs, which hold no null and write some fields even if empty.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.empty.is_some()
    }

    /// The object with the fields that its Go struct always writes, without `managedFields`. `null` is an object without content.
    #[must_use]
    pub fn filled(&self, object: &Value) -> Value {
        self.fill(without_managed_fields(object))
    }

    /// The same, without a copy.
    #[must_use]
    pub fn fill(&self, mut object: Value) -> Value {
        if object.is_null() {
            object = Value::Object(Map::new());
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        if let Some(empty) = &self.empty {
            fill(&mut object, empty);
        }
        object
    }

    /// Removes from an object what [`filled`](Self::filled) added, if it has no content still and `live` had it not.
    pub fn drain(&self, object: &mut Value, live: &Value) {
        if let Some(empty) = &self.empty {
            drain(object, empty, Some(live));
        }
    }
}

fn fill(object: &mut Value, empty: &Value) {
    let (Value::Object(object), Value::Object(empty)) = (object, empty) else { return };
    for (name, value) in empty {
        match object.get_mut(name) {
            Some(Value::Null) | None => drop(object.insert(name.clone(), value.clone())),
            Some(present) => fill(present, value),
        }
    }
}

fn drain(object: &mut Value, empty: &Value, live: Option<&Value>) {
    let (Value::Object(object), Value::Object(empty)) = (object, empty) else { return };
    for (name, value) in empty {
        let before = live.and_then(|live| live.get(name));
        let Some(present) = object.get_mut(name) else { continue };
        drain(present, value, before);
        let without_content = *present == *value || present.as_object().is_some_and(Map::is_empty);
        if before.is_none() && without_content {
            object.remove(name);
        }
    }
}
