//! How the lists and maps of a kind merge: the markers `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and
//! `x-kubernetes-map-type`. They are those of Kubernetes 1.36 for built-in kinds, and those of the schema for custom kinds.

mod built_in;
mod custom;
mod pods;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::field_set::{PathElement, Scalar};

/// How the items of a list that is not atomic are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListType {
    /// By value.
    Set,
    /// By the values of key fields.
    Map(Vec<ListKey>),
}

/// A key field of the items of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListKey {
    /// The name of the field.
    pub name: String,
    /// Its value in items without it.
    pub default: Option<Value>,
}

impl ListType {
    /// The element of a path that means this item, or why there is none.
    ///
    /// # Errors
    /// If the item cannot be told apart, in the words of the real library.
    pub fn element(&self, item: &Value) -> Result<PathElement, String> {
        match (self, item) {
            (Self::Set, Value::Object(_)) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            (Self::Set, Value::Array(_)) => Err("not supported: associative list with lists as elements".to_owned()),
            (Self::Set, Value::Null) => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            (Self::Set, value) => Ok(PathElement::Value(Scalar::of(value))),
            (Self::Map(keys), Value::Object(item)) => element_by_key(keys, item),
            (Self::Map(_), Value::Null) => Err("associative list with keys may not have a null element".to_owned()),
            (Self::Map(_), _) => Err("associative list with keys may not have non-map elements".to_owned()),
        }
    }
}

fn element_by_key(keys: &[ListKey], item: &Map<String, Value>) -> Result<PathElement, String> {
    let value = |key: &ListKey| {
        let value = item.get(&key.name).or(key.default.as_ref())?;
        Some((key.name.clone(), Scalar::of(value)))
    };
    let mut fields: Vec<_> = keys.iter().filter_map(value).collect();
    if fields.is_empty() {
        let names: Vec<_> = keys.iter().map(|key| format!("{:?}", key.name)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for \
             any key fields)",
            names.join(" ")
        ));
    }
    fields.sort();
    Ok(PathElement::Key(fields))
}

/// How a field merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Without markers: a scalar, an atomic list, or a struct of such fields.
    Plain,
    /// Without schema: a scalar, an atomic list, or a map with any keys.
    Untyped,
    /// A list or map that is owned as a whole.
    Atomic,
    /// A struct or a map.
    Map {
        /// The named fields.
        fields: BTreeMap<String, FieldType>,
        /// The values of all other keys; `None` if there are only named fields, of which those without markers are not in
        /// `fields`.
        others: Option<Box<FieldType>>,
    },
    /// A list whose items are told apart.
    List {
        /// How.
        list: ListType,
        /// What the items are.
        items: Box<FieldType>,
    },
}

static PLAIN: FieldType = FieldType::Plain;
static UNTYPED: FieldType = FieldType::Untyped;

/// The form of a value, given the type of its field.
#[derive(Clone, Copy, Debug)]
pub enum Shape<'t> {
    /// It is owned as a whole.
    Leaf,
    /// Its items are owned one by one.
    List(&'t ListType, &'t FieldType),
    /// Its fields are owned one by one.
    Map(&'t FieldType),
}

impl Shape<'_> {
    /// Whether both are leaves, lists, or maps.
    #[must_use]
    pub fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl FieldType {
    /// The type of a field of this struct or map.
    #[must_use]
    pub fn field(&self, name: &str) -> &Self {
        match self {
            Self::Map { fields, others } => fields.get(name).or(others.as_deref()).unwrap_or(&PLAIN),
            Self::Untyped => &UNTYPED,
            Self::Plain | Self::Atomic | Self::List { .. } => &PLAIN,
        }
    }

    /// Whether that is a named field of a struct, not a key of a map.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        match self {
            Self::Map { fields, others } => others.is_none() || fields.contains_key(name),
            Self::Plain => true,
            Self::Untyped | Self::Atomic | Self::List { .. } => false,
        }
    }

    /// The type of the items of this list.
    #[must_use]
    pub fn items(&self) -> &Self {
        match self {
            Self::List { items, .. } => items,
            Self::Plain | Self::Untyped | Self::Atomic | Self::Map { .. } => &PLAIN,
        }
    }

    /// The form of a value of this type; `None` if there is no value, or null, which has any form.
    #[must_use]
    pub fn shape(&self, value: Option<&Value>) -> Option<Shape<'_>> {
        Some(match (value?, self) {
            (Value::Null, _) => return None,
            (Value::Array(_), Self::List { list, items }) => Shape::List(list, items),
            (Value::Object(_), Self::Plain | Self::Untyped | Self::Map { .. }) => Shape::Map(self),
            _ => Shape::Leaf,
        })
    }
}

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
    /// differ from the real API server: an API server must refuse requests about such a kind.
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
        let mut filled = object.clone();
        if filled.is_null() {
            filled = Value::Object(Map::new());
        }
        if let Some(metadata) = filled.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        if let Some(empty) = &self.empty {
            fill(&mut filled, empty);
        }
        filled
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
