//! Writes that are drawn.

use serde_json::{Value, json};

use super::fields::{patch, set};
use super::{APPLY, Call, JSON, JSON_PATCH, MERGE, NO_UID, OLD_VERSION, Sequence, UID, VERSION, parsed};

/// A field that no kind has.
const UNKNOWN: &str = "nobodyKnows";

impl Sequence {
    /// Creates an object with some more fields.
    pub(super) fn create(&mut self, name: &str) {
        let base = self.base();
        let mut object = self.object(name, &base);
        for (pointer, value) in self.some_fields(0, 3) {
            set(&mut object, pointer, value);
        }
        self.post(name, object);
    }

    /// Creates what is not valid.
    pub(super) fn refused(&mut self, name: &str) {
        let base = self.base();
        let mut object = self.object(name, &base);
        let Some((pointer, value)) = self.pick(self.subject.refused) else { return self.create(name) };
        set(&mut object, pointer, value);
        self.post(name, object);
    }

    fn post(&mut self, name: &str, object: Value) {
        let manager = self.manager();
        let path = format!("{}?fieldManager={manager}&fieldValidation=Strict", self.collection);
        let call = self.write("POST", name, "", JSON, object);
        self.calls.push(Call { path, ..call });
    }

    /// Applies a valid object or a part of one.
    pub(super) fn apply(&mut self, name: &str) {
        let base = if self.random.chance(650) { self.base() } else { json!({}) };
        let mut object = self.object(name, &base);
        for (pointer, value) in self.some_fields(0, 3) {
            set(&mut object, pointer, value);
        }
        json_patch::merge(&mut object, &parsed(self.subject.always));
        if self.random.chance(80) {
            object["metadata"]["uid"] = json!(if self.random.chance(700) { UID } else { NO_UID });
        }
        self.applied(name, "", object);
    }

    fn applied(&mut self, name: &str, part: &str, object: Value) {
        let force = self.random.chance(500);
        let rest = format!("{part}?fieldManager={}&force={force}", self.manager());
        let call = self.write("PATCH", name, &rest, APPLY, object);
        self.calls.push(call);
    }

    /// Replaces the last object that was seen by one with other fields.
    pub(super) fn update(&mut self, name: &str) {
        if self.random.chance(500) {
            let read = self.write("GET", name, "", JSON, Value::Null);
            self.calls.push(Call { content_type: None, accept: JSON, ..read });
        }
        let change = patch(self.some_fields(0, 2));
        self.put(name, "", change);
    }

    fn put(&mut self, name: &str, part: &str, change: Value) {
        let base = self.base();
        let otherwise = self.object(name, &base);
        let rest = format!("{part}?fieldManager={}", self.manager());
        let call = self.write("PUT", name, &rest, JSON, change);
        self.calls.push(Call { edits: Some(otherwise), ..call });
    }

    /// Merges some fields.
    pub(super) fn merge(&mut self, name: &str) {
        let mut change = patch(self.some_fields(1, 2));
        if self.random.chance(150) {
            let version = if self.random.chance(600) { VERSION } else { OLD_VERSION };
            set(&mut change, "/metadata/resourceVersion", json!(version));
        }
        self.merged(name, "", change);
    }

    fn merged(&mut self, name: &str, part: &str, change: Value) {
        let rest = format!("{part}?fieldManager={}", self.manager());
        let call = self.write("PATCH", name, &rest, MERGE, change);
        self.calls.push(call);
    }

    /// A JSON patch: tests that hold or not, then changes of fields that are there or not.
    pub(super) fn json_patch(&mut self, name: &str) {
        let mut steps = Vec::new();
        if self.random.chance(300) {
            let value = if self.random.chance(700) { name } else { "other" };
            steps.push(json!({ "op": "test", "path": "/metadata/name", "value": value }));
        }
        if self.random.chance(200) {
            let value = if self.random.chance(700) { VERSION } else { OLD_VERSION };
            steps.push(json!({ "op": "test", "path": "/metadata/resourceVersion", "value": value }));
        }
        for (path, value) in self.some_fields(1, 2) {
            let op = self.random.pick(&["add", "add", "replace", "test"]).copied().unwrap_or_default();
            steps.push(match value {
                Value::Null => json!({ "op": "remove", "path": path }),
                value => json!({ "op": op, "path": path, "value": value }),
            });
        }
        let rest = format!("?fieldManager={}", self.manager());
        let call = self.write("PATCH", name, &rest, JSON_PATCH, json!(steps));
        self.calls.push(call);
    }

    /// Writes to the status, or scales.
    pub(super) fn status(&mut self, name: &str) {
        if self.subject.scale && self.random.chance(200) {
            let change = json!({ "spec": { "replicas": self.random.below(4) } });
            let rest = format!("/scale?fieldManager={}", self.manager());
            let call = self.write("PATCH", name, &rest, MERGE, change);
            return self.calls.push(Call { accept: JSON, ..call });
        }
        let Some((pointer, value)) = self.pick(self.subject.status) else { return self.merge(name) };
        let change = patch(vec![(pointer, value)]);
        let ways = if self.subject.created_by_updates { 5 } else { 10 };
        match self.random.below(ways) {
            0..5 => self.merged(name, "/status", change),
            5..8 => {
                let mut object = self.object(name, &json!({}));
                json_patch::merge(&mut object, &change);
                self.applied(name, "/status", object);
            }
            _ => self.put(name, "/status", change),
        }
    }

    /// Writes a field that the schema has not.
    pub(super) fn unknown(&mut self, name: &str) {
        if !self.subject.custom {
            return self.merge(name);
        }
        let base = self.base();
        let mut object = self.object(name, &base);
        let pointer = if base["spec"].is_object() && self.random.chance(500) {
            format!("/spec/{UNKNOWN}")
        } else {
            format!("/{UNKNOWN}")
        };
        let mut change = json!({});
        set(&mut change, &pointer, json!(1));
        json_patch::merge(&mut object, &change);
        match self.random.below(3) {
            0 => self.post(name, object),
            1 => self.applied(name, "", object),
            _ => self.merged(name, "", change),
        }
    }

    /// Changes what cannot be changed.
    pub(super) fn fixed(&mut self, name: &str) {
        let Some(field) = self.pick(self.subject.fixed) else { return self.update(name) };
        self.merged(name, "", patch(vec![field]));
    }
}
