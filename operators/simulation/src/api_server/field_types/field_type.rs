//! How a field merges.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::api_server::field_set::{PathElement, Scalar};

/// How the items of a list that is not atomic are identified one by one.
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
    /// If the item cannot be distinguished, in the words of the real library.
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
    /// A list whose items are identified one by one.
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
