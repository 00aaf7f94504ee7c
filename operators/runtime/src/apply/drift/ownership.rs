//! Pure: the owners of the fields of a live object, by its `managedFields`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::plan::meta::MANAGER;

/// An entry of `managedFields`: which fields a manager owns.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ownership<'a> {
    #[serde(default, borrow)]
    manager: Cow<'a, str>,
    #[serde(default, borrow)]
    operation: Cow<'a, str>,
    #[serde(default, borrow)]
    subresource: Cow<'a, str>,
    /// When the fields last changed.
    #[serde(default)]
    time: Option<Timestamp>,
    #[serde(rename = "fieldsV1", borrow)]
    fields: Option<&'a RawValue>,
}

impl Ownership<'_> {
    /// Whether one of our controllers owns the fields through an apply. A child has one controller, so the common prefix of our
    /// field managers identifies it.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.is_by("Apply") && self.is_of_us()
    }

    /// Whether one of our controllers owns the fields through a creation, or through a patch, which restores fields while it
    /// removes additions of others.
    #[must_use]
    pub fn is_patched(&self) -> bool {
        self.is_by("Update") && self.is_of_us()
    }

    fn is_by(&self, operation: &str) -> bool {
        self.operation == operation && self.subresource.is_empty()
    }

    fn is_of_us(&self) -> bool {
        self.manager.strip_prefix(MANAGER).is_some_and(|rest| rest.starts_with('-'))
    }

    /// The fields, as FieldsV1.
    ///
    /// # Errors
    /// If they are not JSON.
    pub fn fields(&self) -> serde_json::Result<Value> {
        self.fields.map_or(Ok(Value::Null), |fields| serde_json::from_str(fields.get()))
    }
}

/// The owners of an object's fields, without those of its subresources. Each set is a FieldsV1.
#[derive(Debug, Default)]
pub struct Owners {
    /// What we own through applies.
    pub applied: Option<Value>,
    /// What we own through a creation or patches.
    pub patched: Option<Value>,
    /// When we last changed what we own, by the clock of the API server.
    pub since: Option<Timestamp>,
    /// What others own, one set for each manager.
    pub others: Vec<Value>,
}

impl Owners {
    /// Reads the metadata of an object.
    ///
    /// # Errors
    /// If the metadata has an unexpected shape.
    pub fn read(metadata: &str) -> serde_json::Result<Self> {
        #[derive(Default, Deserialize)]
        struct Managed<'a> {
            #[serde(rename = "managedFields", borrow, default)]
            managed_fields: Option<Vec<Ownership<'a>>>,
        }
        let managed: Option<Managed<'_>> = serde_json::from_str(metadata)?;
        let mut owners = Self::default();
        for entry in managed.unwrap_or_default().managed_fields.unwrap_or_default() {
            if entry.is_of_us() && entry.subresource.is_empty() {
                owners.since = owners.since.max(entry.time);
            }
            if entry.is_ours() {
                owners.applied = Some(entry.fields()?);
            } else if entry.is_patched() {
                owners.patched = Some(entry.fields()?);
            } else if entry.subresource.is_empty() {
                owners.others.push(entry.fields()?);
            }
        }
        Ok(owners)
    }

    /// Everything that we own.
    #[must_use]
    pub fn ours(&self) -> Option<Cow<'_, Value>> {
        match (&self.applied, &self.patched) {
            (ours, None) | (None, ours) => ours.as_ref().map(Cow::Borrowed),
            (Some(applied), Some(patched)) => {
                let mut all = applied.clone();
                unite(&mut all, patched);
                Some(Cow::Owned(all))
            }
        }
    }
}

/// Adds a FieldsV1 to another. An empty one stands for the field itself, and is less specific than one that names its content.
fn unite(all: &mut Value, more: &Value) {
    let (Value::Object(all), Value::Object(more)) = (&mut *all, more) else {
        if all.is_null() {
            *all = more.clone();
        }
        return;
    };
    for (path, below) in more {
        unite(all.entry(path.clone()).or_insert_with(|| Value::Object(Map::new())), below);
    }
}

/// Whether a FieldsV1 contains that path, or all of a field on the way.
pub(super) fn owns(fields: &Value, path: &[impl AsRef<str>]) -> bool {
    let mut place = fields;
    for step in path {
        match place.as_object() {
            None => return false,
            Some(whole) if whole.is_empty() => return true,
            Some(below) => match below.get(step.as_ref()) {
                None => return false,
                Some(next) => place = next,
            },
        }
    }
    true
}

/// The `managedFields` after the migration: these fields, which we own through a creation or patches, are owned by apply, so that
/// the next apply removes what it does not send.
pub(super) fn migrated(managed: &[Value], fields: Value) -> Vec<Value> {
    let is = |entry: &Value, test: fn(&Ownership<'_>) -> bool| {
        serde_json::from_str::<Ownership<'_>>(&entry.to_string()).is_ok_and(|entry| test(&entry))
    };
    let (patched, mut entries): (Vec<_>, Vec<_>) =
        managed.iter().cloned().partition(|entry| is(entry, |entry| entry.is_patched()));
    match entries.iter_mut().find(|entry| is(entry, |entry| entry.is_ours())) {
        Some(applied) => unite(&mut applied["fieldsV1"], &fields),
        None => entries.extend(patched.into_iter().next().map(|mut ours| {
            (ours["operation"], ours["fieldsV1"]) = ("Apply".into(), fields);
            ours
        })),
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    #[test]
    fn patched_fields_are_owned_and_are_migrated_to_the_apply() {
        let port = "k:{\"port\":80,\"protocol\":\"TCP\"}";
        let managed = [
            entry("multi-operator-my-app", "Apply", &json!({ "f:spec": { "f:selector": {} } })),
            entry("kubectl-edit", "Update", &json!({ "f:spec": { "f:sessionAffinity": {} } })),
            entry(
                "multi-operator-my-app",
                "Update",
                &json!({ "f:spec": { "f:ports": { port: { ".": {}, "f:port": {} } } } }),
            ),
        ];
        let owners = Owners::read(&json!({ "managedFields": managed }).to_string()).unwrap();
        assert_eq!(owners.others, [json!({ "f:spec": { "f:sessionAffinity": {} } })]);
        let all = json!({ "f:spec": { "f:selector": {}, "f:ports": { port: { ".": {}, "f:port": {} } } } });
        assert_eq!(owners.ours().as_deref(), Some(&all));

        let patched = || owners.patched.clone().unwrap();
        let migrated = migrated(&managed, patched());
        assert_eq!(migrated, [entry("multi-operator-my-app", "Apply", &all), managed[1].clone()]);
        let only_patched = super::migrated(&managed[2..], patched());
        assert_eq!(only_patched, [entry("multi-operator-my-app", "Apply", &patched())]);
        assert!(Owners::read("null").unwrap().ours().is_none());
    }

    #[test]
    fn an_owned_field_is_owned_with_all_its_parts() {
        let fields = json!({ "f:spec": { "f:type": {}, "f:a": { "f:b": {} } } });
        assert!(owns(&fields, &["f:spec", "f:type"]));
        assert!(owns(&fields, &["f:spec", "f:type", "f:within"]), "the complete field is owned");
        assert!(!owns(&fields, &["f:spec", "f:other"]));
    }
}
