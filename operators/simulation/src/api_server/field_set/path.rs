//! Paths of fields.

use std::fmt;

use serde_json::Value;

/// A step of a path. The order is that of the real library: fields, then list items by key, by value, by index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// A field of a struct, or a key of a map.
    Field(String),
    /// The item of a list that has these values in its key fields, sorted by field.
    Key(Vec<(String, Scalar)>),
    /// The item of a set.
    Value(Scalar),
    /// The item at an index: only of lists that are invalid, since the lists that are indexed are atomic.
    Index(usize),
}

/// A value in a path. The order is that of the real library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar {
    /// A whole number.
    Integer(i64),
    /// A string.
    Text(String),
    /// True or false.
    Boolean(bool),
    /// Anything else, as JSON.
    Json(String),
}

impl Scalar {
    /// That value of an object.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Bool(boolean) => Self::Boolean(*boolean),
            other => other.as_i64().map_or_else(|| Self::Json(other.to_string()), Self::Integer),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Integer(number) => Value::from(*number),
            Self::Text(text) => Value::from(text.as_str()),
            Self::Boolean(boolean) => Value::from(*boolean),
            Self::Json(json) => serde_json::from_str(json).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(out, "{number}"),
            Self::Text(text) => write!(out, "{text:?}"),
            Self::Boolean(boolean) => write!(out, "{boolean}"),
            Self::Json(json) => out.write_str(json),
        }
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(out, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(out, "[={value}]"),
            Self::Index(index) => write!(out, "[{index}]"),
        }
    }
}

/// A path in the notation of conflict messages: `.spec.ports[port=80,protocol="TCP"].name`.
#[must_use]
pub fn display(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}
