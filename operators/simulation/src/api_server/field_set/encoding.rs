//! A set of paths as JSON: the format `FieldsV1`.

use serde_json::{Map, Value};

use super::{FieldSet, PathElement, Scalar};

impl PathElement {
    /// The element as a key of `FieldsV1`: `f:name`, `k:{"name":"x"}`, `v:"x"`, `i:0`.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), value.to_value()));
                format!("k:{}", Value::Object(fields.collect()))
            }
            Self::Value(value) => format!("v:{}", value.to_value()),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// The element of a key of `FieldsV1`; `None` if it is malformed.
    #[must_use]
    pub fn decode(key: &str) -> Option<Self> {
        let (kind, content) = key.split_once(':')?;
        match kind {
            "f" => Some(Self::Field(content.to_owned())),
            "v" => Some(Self::Value(Scalar::of(&serde_json::from_str(content).ok()?))),
            "i" => content.parse().ok().map(Self::Index),
            "k" => {
                let Value::Object(fields) = serde_json::from_str(content).ok()? else { return None };
                let mut fields: Vec<_> = fields.iter().map(|(name, value)| (name.clone(), Scalar::of(value))).collect();
                fields.sort();
                Some(Self::Key(fields))
            }
            _ => None,
        }
    }
}

impl FieldSet {
    /// The set as `fieldsV1`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        for element in &self.members {
            fields.insert(element.encode(), Value::Object(Map::new()));
        }
        for (element, set) in &self.children {
            let mut below = set.to_value();
            if self.members.contains(element)
                && let Value::Object(below) = &mut below
            {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(element.encode(), below);
        }
        Value::Object(fields)
    }

    /// The set of `fieldsV1`; `None` if it is malformed.
    #[must_use]
    pub fn from_value(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (key, below) in fields.as_object()?.iter().filter(|(key, _)| *key != ".") {
            let element = PathElement::decode(key)?;
            let below_fields = below.as_object()?;
            let below = Self::from_value(below)?;
            if below_fields.contains_key(".") || below.is_empty() {
                set.members.insert(element.clone());
            }
            if !below.is_empty() {
                set.children.insert(element, below);
            }
        }
        Some(set)
    }
}
