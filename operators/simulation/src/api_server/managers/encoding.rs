//! The owners as `metadata.managedFields`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Managers;
use super::entry::{Entry, Operation};
use crate::api_server::field_set::FieldSet;

impl Managers {
    /// `metadata.managedFields`: applies first, then by time.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Array(self.0.iter().map(|entry| encode(entry, entry.fields.to_value())).collect())
    }

    /// The same, as the successors of these owners, with which an object was stored. To encode fields takes longer than to copy
    /// them, and most owners still have the same.
    #[must_use]
    pub fn to_value_after(&self, before: &Self, stored: &Value) -> Value {
        let stored = stored.pointer("/metadata/managedFields").and_then(Value::as_array);
        let known = |entry: &Entry| {
            let place = before.0.iter().position(|before| Arc::ptr_eq(&before.fields, &entry.fields))?;
            stored?.get(place)?.get("fieldsV1").cloned()
        };
        let fields = |entry: &Entry| known(entry).unwrap_or_else(|| entry.fields.to_value());
        Value::Array(self.0.iter().map(|entry| encode(entry, fields(entry))).collect())
    }

    /// The owners of `metadata.managedFields`; `None` if there are none, or an entry is malformed.
    pub(super) fn from_value(entries: &[Value]) -> Option<Self> {
        let mut managers = Self::default();
        for entry in entries {
            managers.replace(decode(entry)?);
        }
        managers.0.retain(|entry| !entry.fields.is_empty());
        managers.sort();
        (!managers.is_empty()).then_some(managers)
    }

    pub(super) fn sort(&mut self) {
        self.0.sort_by(|one, other| order(one).cmp(&order(other)));
    }
}

fn order(entry: &Entry) -> (Operation, i64, &str, &str, Option<&str>) {
    let second = entry.time.map_or(0, |time| time.as_second());
    (entry.operation, second, entry.manager.as_str(), entry.api_version.as_str(), entry.subresource.as_deref())
}

fn encode(entry: &Entry, fields_v1: Value) -> Value {
    let operation = match entry.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let mut encoded = json!({
        "manager": entry.manager,
        "operation": operation,
        "apiVersion": entry.api_version,
        "fieldsType": "FieldsV1",
    });
    if let Some(fields) = encoded.as_object_mut() {
        fields.insert("fieldsV1".to_owned(), fields_v1);
        if let Some(time) = entry.time {
            fields.insert("time".to_owned(), Value::from(time.to_string()));
        }
        if let Some(subresource) = &entry.subresource {
            fields.insert("subresource".to_owned(), Value::from(subresource.as_str()));
        }
    }
    encoded
}

fn decode(entry: &Value) -> Option<Entry> {
    let text = |name: &str| entry[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    if entry["fieldsType"] != "FieldsV1" {
        return None;
    }
    let operation = match entry["operation"].as_str()? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return None,
    };
    let time = match &entry["time"] {
        Value::Null => None,
        time => Some(super::second(time.as_str()?.parse().ok()?)),
    };
    let fields = match &entry["fieldsV1"] {
        Value::Null => FieldSet::default(),
        fields => FieldSet::from_value(fields)?,
    };
    Some(Entry {
        manager: text("manager").unwrap_or_default(),
        operation,
        subresource: text("subresource"),
        api_version: text("apiVersion")?,
        time,
        fields: fields.into(),
    })
}
