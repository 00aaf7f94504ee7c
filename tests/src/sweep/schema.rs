//! Every edit that the schema of a kind allows for: each field of an object that is there is changed and removed, each that is not
//! is added, and so are items of lists and keys of maps. The schemas are those that the API server publishes.

use std::fmt;

use serde_json::{Map, Value, json};

/// A step into an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Field(String),
    Item(usize),
    /// The item behind the last one.
    NewItem(usize),
}

/// An edit at a place: sets a value, or removes the one that is there.
#[derive(Clone, Debug)]
pub struct Edit {
    pub path: Vec<Step>,
    pub value: Option<Value>,
}

impl Edit {
    /// The place, such as `spec.ports[0].port` or, of a new item, `spec.ports[+]`.
    pub fn place(&self) -> String {
        let mut place = String::new();
        for step in &self.path {
            match step {
                Step::Field(name) if place.is_empty() => place.push_str(name),
                Step::Field(name) => place.extend([".", name]),
                Step::Item(at) => place.push_str(&format!("[{at}]")),
                Step::NewItem(_) => place.push_str("[+]"),
            }
        }
        place
    }

    /// The object with the edit.
    pub fn applied_to(&self, object: &Value) -> Value {
        let mut object = object.clone();
        make(&mut object, &self.path, self.value.as_ref());
        object
    }

    /// A merge patch for the edit, from the edited object. It replaces lists completely.
    pub fn merge_patch(&self, after: &Value) -> Value {
        merge(after, &self.path)
    }
}

fn merge(after: &Value, path: &[Step]) -> Value {
    match path.split_first() {
        Some((Step::Field(name), rest)) => {
            json!({ name: after.get(name).map_or(Value::Null, |value| merge(value, rest)) })
        }
        _ => after.clone(),
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{} = {value}", self.place()),
            None => write!(f, "{} removed", self.place()),
        }
    }
}

fn make(object: &mut Value, path: &[Step], value: Option<&Value>) {
    let Some((step, rest)) = path.split_first() else {
        *object = value.cloned().unwrap_or_default();
        return;
    };
    match step {
        Step::Field(name) => {
            if object.is_null() {
                *object = json!({});
            }
            let Some(fields) = object.as_object_mut() else { return };
            if rest.is_empty() && value.is_none() {
                fields.remove(name);
            } else {
                make(fields.entry(name).or_insert(Value::Null), rest, value);
            }
        }
        Step::Item(at) | Step::NewItem(at) => {
            if object.is_null() {
                *object = json!([]);
            }
            let Some(items) = object.as_array_mut() else { return };
            if rest.is_empty() && value.is_none() {
                items.remove(*at);
                return;
            }
            if *at == items.len() {
                items.push(Value::Null);
            }
            make(&mut items[*at], rest, value);
        }
    }
}

/// What validation requires in new items of lists in addition to the schema: the image of a container, one member of a union.
const NEEDED: [&str; 6] = ["name", "image", "emptyDir", "protocol", "backend", "kind"];

/// The field that a path ends at or in.
fn last_field(path: &[Step]) -> &str {
    let fields = path.iter().rev().filter_map(|step| if let Step::Field(name) = step { Some(&**name) } else { None });
    fields.into_iter().next().unwrap_or_default()
}

/// The schemas of an API group's version, by name.
pub struct Schemas(Map<String, Value>);

impl Schemas {
    /// Of what the API server answers below `/openapi/v3`.
    pub fn of(document: &Value) -> Self {
        Self(document["components"]["schemas"].as_object().cloned().unwrap_or_default())
    }

    /// The schema of a kind.
    pub fn kind(&self, kind: &str) -> &Value {
        let is_it = |schema: &&Value| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            kinds.is_some_and(|kinds| kinds.len() == 1 && kinds[0]["kind"] == kind)
        };
        self.0.values().find(is_it).unwrap_or_else(|| panic!("the API server has no schema of {kind}"))
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> (&'a Value, &'a str) {
        let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
        let name = reference.and_then(|reference| reference.rsplit('/').next());
        name.map_or((schema, ""), |name| (&self.0[name], name))
    }

    /// All edits of these fields of `live`, or of what is there in it.
    pub fn edits(&self, schema: &Value, live: &Value, there: &[&str], fields: &[&str]) -> Vec<Edit> {
        let (mut schema, mut live, mut edits) = (schema, live, Vec::new());
        for field in there {
            (schema, _) = self.resolved(&schema["properties"][field]);
            live = &live[field];
        }
        for field in fields {
            let path = there.iter().chain([field]).map(|name| Step::Field((*name).to_owned())).collect();
            self.walk(&schema["properties"][field], live.get(field), path, &mut edits);
        }
        edits
    }

    fn walk(&self, schema: &Value, live: Option<&Value>, path: Vec<Step>, edits: &mut Vec<Edit>) {
        let (schema, name) = self.resolved(schema);
        let below = |step: Step| [path.clone(), vec![step]].concat();
        let field = |name: &str| below(Step::Field(name.to_owned()));
        if live.is_some() {
            edits.push(Edit { path: path.clone(), value: None });
        }
        if let Some(properties) = schema["properties"].as_object() {
            for (property, schema) in properties {
                self.walk(schema, live.and_then(|live| live.get(property)), field(property), edits);
            }
        } else if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            for (key, value) in live.and_then(Value::as_object).into_iter().flatten() {
                self.walk(values, Some(value), field(key), edits);
            }
            edits.push(Edit { path: field("sweep"), value: Some(self.sample(values, "value")) });
        } else if schema["type"] == "array" {
            let items = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if let Some(first) = items.first() {
                let mut within = Vec::new();
                self.walk(&schema["items"], Some(first), below(Step::Item(0)), &mut within);
                // With another key it is another item, and to add and to remove one are edits of their own.
                let keys = schema["x-kubernetes-list-map-keys"].as_array().map_or(&[][..], Vec::as_slice);
                let is_key = |edit: &Edit| match edit.path.get(path.len() + 1) {
                    Some(Step::Field(name)) => keys.contains(&json!(name)),
                    _ => false,
                };
                edits.extend(within.into_iter().filter(|edit| !is_key(edit)));
            }
            let value = self.sample(&schema["items"], last_field(&path));
            edits.push(Edit { path: below(Step::NewItem(items.len())), value: Some(value) });
        } else {
            let value = leaf(schema, name, last_field(&path), live);
            edits.push(Edit { path, value: Some(value) });
        }
    }

    /// A value of that schema, with little more than it requires.
    fn sample(&self, schema: &Value, field: &str) -> Value {
        let (schema, name) = self.resolved(schema);
        if let Some(properties) = schema["properties"].as_object() {
            let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
            let fields = properties
                .iter()
                .filter(|(property, _)| required.contains(&json!(property)) || NEEDED.contains(&property.as_str()));
            fields.map(|(property, schema)| (property.clone(), self.sample(schema, property))).collect()
        } else if schema.get("additionalProperties").is_some_and(Value::is_object) {
            json!({})
        } else if schema["type"] == "array" {
            json!([self.sample(&schema["items"], field)])
        } else {
            leaf(schema, name, field, None)
        }
    }

    /// The body of an apply for an edit: the place, with no more around it than identifies it. None for a removal, since an apply
    /// cannot remove fields of other owners.
    pub fn body(&self, schema: &Value, after: &Value, edit: &Edit) -> Option<Value> {
        edit.value.as_ref()?;
        Some(self.around(schema, after, &edit.path))
    }

    fn around(&self, schema: &Value, after: &Value, path: &[Step]) -> Value {
        let (schema, _) = self.resolved(schema);
        let Some((step, rest)) = path.split_first() else { return after.clone() };
        match step {
            Step::Field(_) if schema["x-kubernetes-map-type"] == "atomic" => after.clone(),
            Step::Field(name) => {
                let values = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
                json!({ name: self.around(values.unwrap_or(&Value::Null), &after[name], rest) })
            }
            Step::Item(at) | Step::NewItem(at) => {
                let keys = schema["x-kubernetes-list-map-keys"].as_array();
                match (schema["x-kubernetes-list-type"].as_str(), keys) {
                    (Some("map"), Some(keys)) => {
                        let mut item = self.around(&schema["items"], &after[at], rest);
                        for key in keys.iter().filter_map(Value::as_str).filter(|key| !after[at][key].is_null()) {
                            item[key] = after[at][key].clone();
                        }
                        json!([item])
                    }
                    (Some("set"), _) => json!([after[at]]),
                    _ => after.clone(),
                }
            }
        }
    }
}

/// A value for a field without fields; another one than is there.
fn leaf(schema: &Value, name: &str, field: &str, live: Option<&Value>) -> Value {
    let named = match field {
        "image" => ["nginx:1.26", "nginx:1.25"],
        "mountPath" | "path" => ["/sweep", "/swept"],
        "operator" => ["Exists", "In"],
        _ if name.ends_with(".Quantity") => ["7", "6"],
        _ if name.ends_with(".Time") => ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
        _ if schema["format"] == "byte" => ["c3dlZXA=", "c3dlcHQ="],
        _ => ["sweep", "swept"],
    };
    let of = |values: &[Value]| values.iter().find(|value| Some(*value) != live).cloned().unwrap_or_default();
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<Value> = values.iter().filter(|value| *value != "").cloned().collect();
        return of(&values);
    }
    match schema["type"].as_str() {
        Some("boolean") => of(&[json!(true), json!(false)]),
        Some("integer") => of(&[json!(7), json!(8)]),
        Some("number") => of(&[json!(7.5), json!(8.5)]),
        Some("object") => json!({}),
        // A number or a string: a Service's port is one of either.
        _ if name.ends_with(".IntOrString") || schema["format"] == "int-or-string" => of(&[json!(7), json!(8)]),
        _ => of(&named.map(Value::from)),
    }
}
