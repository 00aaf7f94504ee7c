//! Is an apply needed? Asked by comparing two fingerprints.
//!
//! Server-side apply records in `managedFields` which fields each manager owns. The part of a live object that our
//! manager owns is what we rendered last, as it is now: if somebody changed one of those fields, the ownership went with
//! it, and if we render fewer fields, the live part has more. So the live object is as rendered exactly if the owned
//! part equals the rendered one, whatever defaults and other managers have put beside it. A hash of each is enough,
//! which is why stores need not hold whole children. (docs/decisions/002-drift-by-ownership.md)
//!
//! Sources: <https://kubernetes.io/docs/reference/using-api/server-side-apply/> and the FieldsV1 format in
//! `k8s.io/apimachinery/pkg/apis/meta/v1` (`f:` field, `k:` list item by keys, `v:` set item, `.` the item itself).

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{meta::MANAGER, quantity};

/// Hash of the part of an object that is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

/// Parts of metadata that apply never owns.
const UNOWNED_META: [&str; 8] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "deletionTimestamp",
];

impl Fingerprint {
    /// Of an object as we would send it.
    #[must_use]
    pub fn of_rendered(body: &Value) -> Self {
        let mut part = body.clone();
        if let Some(object) = part.as_object_mut() {
            object.remove("apiVersion");
            object.remove("kind");
            if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                UNOWNED_META.iter().for_each(|key| drop(meta.remove(*key)));
            }
        }
        Self::of(part)
    }

    /// Of an object of which nothing is ours.
    #[must_use]
    pub fn of_nothing() -> Self {
        Self::of(Value::Null)
    }

    /// Of the part of a live object that `owned` (a FieldsV1) names.
    #[must_use]
    pub fn of_owned(live: &Value, owned: &Value) -> Self {
        Self::of(part(live, owned))
    }

    fn of(mut part: Value) -> Self {
        normalise(&mut part, false);
        let mut hasher = DefaultHasher::new();
        feed(&part, &mut hasher);
        Self(hasher.finish())
    }
}

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
    #[serde(rename = "fieldsV1", borrow)]
    fields: Option<&'a RawValue>,
}

impl Ownership<'_> {
    /// Whether a controller of ours owns them by apply. A child has one controller, so the prefix that all our field
    /// managers share tells.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        let ours = self.manager.strip_prefix(MANAGER).is_some_and(|rest| rest.starts_with('-'));
        ours && self.operation == "Apply" && self.subresource.is_empty()
    }

    /// The fields, as FieldsV1.
    ///
    /// # Errors
    /// If they are not JSON.
    pub fn fields(&self) -> serde_json::Result<Value> {
        self.fields.map_or(Ok(Value::Null), |fields| serde_json::from_str(fields.get()))
    }
}

/// The part of `live` that `owned` names; an empty set names the whole of it.
fn part(live: &Value, owned: &Value) -> Value {
    let Some(owned) = owned.as_object().filter(|o| !o.is_empty()) else { return live.clone() };
    match live {
        Value::Object(fields) => Value::Object(object_part(fields, owned)),
        Value::Array(items) => Value::Array(list_part(items, owned)),
        scalar => scalar.clone(),
    }
}

fn object_part(fields: &Map<String, Value>, owned: &Map<String, Value>) -> Map<String, Value> {
    owned
        .iter()
        .filter_map(|(path, below)| {
            let name = path.strip_prefix("f:")?;
            Some((name.to_owned(), part(fields.get(name)?, below)))
        })
        .collect()
}

fn list_part(items: &[Value], owned: &Map<String, Value>) -> Vec<Value> {
    let selectors: Vec<(Selector, &Value)> =
        owned.iter().filter_map(|(path, below)| Some((Selector::parse(path)?, below))).collect();
    let select = |item| selectors.iter().find(|(selector, _)| selector.matches(item));
    items.iter().filter_map(|item| select(item).map(|(_, below)| part(item, below))).collect()
}

/// Names items of a list.
enum Selector {
    Keys(Map<String, Value>),
    Value(Value),
}

impl Selector {
    fn parse(path: &str) -> Option<Self> {
        let (prefix, json) = path.split_at_checked(2)?;
        match prefix {
            "k:" => serde_json::from_str(json).ok().map(Self::Keys),
            "v:" => serde_json::from_str(json).ok().map(Self::Value),
            _ => None,
        }
    }

    fn matches(&self, item: &Value) -> bool {
        match self {
            Self::Keys(keys) => keys.iter().all(|(key, value)| item.get(key) == Some(value)),
            Self::Value(value) => item == value,
        }
    }
}

/// Takes away what the API server does not keep (nulls, empty strings, maps and lists, a Deployment's pause that is none) and
/// writes quantities one way.
fn normalise(value: &mut Value, quantities: bool) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                normalise(field, quantities || matches!(&**key, "requests" | "limits" | "sizeLimit"));
            }
            let is_no_pause = |key: &str, field: &Value| key == "paused" && *field == false;
            fields.retain(|key, field| !is_empty(field) && !is_no_pause(key, field));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalise(item, quantities)),
        Value::String(text) if quantities => {
            if let Some(canonical) = quantity::canonical(text) {
                *text = canonical;
            }
        }
        Value::Number(number) if quantities => *value = Value::String(number.to_string()),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn feed(value: &Value, hasher: &mut impl Hasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(flag) => flag.hash(hasher),
        Value::Number(number) => number.hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| feed(item, hasher));
        }
        Value::Object(fields) => {
            fields.len().hash(hasher);
            for (key, field) in fields {
                key.hash(hasher);
                feed(field, hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "a", "namespace": "n", "labels": { "app": "a" } },
            "spec": { "replicas": 3, "template": { "spec": { "containers": [
                { "name": "app", "image": "nginx:1.25", "resources": { "limits": { "cpu": "1000m" } }, "env": [] }
            ] } } }
        })
    }

    fn owned() -> Value {
        json!({
            "f:metadata": { "f:labels": { "f:app": {} } },
            "f:spec": { "f:replicas": {}, "f:template": { "f:spec": { "f:containers": {
                "k:{\"name\":\"app\"}": { ".": {}, "f:name": {}, "f:image": {}, "f:resources": { "f:limits": { "f:cpu": {} } } }
            } } } }
        })
    }

    fn live() -> Value {
        json!({
            "metadata": { "name": "a", "labels": { "app": "a", "theirs": "x" }, "uid": "1", "resourceVersion": "5" },
            "spec": { "replicas": 3, "revisionHistoryLimit": 10, "template": { "spec": { "containers": [
                { "name": "sidecar", "image": "theirs" },
                { "name": "app", "image": "nginx:1.25", "imagePullPolicy": "Always", "resources": { "limits": { "cpu": "1" } } }
            ] } } },
            "status": { "replicas": 3 }
        })
    }

    #[test]
    fn what_others_add_is_no_drift() {
        assert_eq!(Fingerprint::of_owned(&live(), &owned()), Fingerprint::of_rendered(&rendered()));
    }

    #[test]
    fn a_changed_value_a_lost_field_and_a_field_we_dropped_are_drift() {
        let ours = Fingerprint::of_rendered(&rendered());
        let mut edited = live();
        edited["spec"]["replicas"] = json!(4);
        assert_ne!(Fingerprint::of_owned(&edited, &owned()), ours);
        let mut taken = owned();
        taken["f:spec"].as_object_mut().unwrap().remove("f:replicas");
        assert_ne!(Fingerprint::of_owned(&live(), &taken), ours);
        let mut fewer = rendered();
        fewer["spec"].as_object_mut().unwrap().remove("replicas");
        assert_ne!(Fingerprint::of_owned(&live(), &owned()), Fingerprint::of_rendered(&fewer));
    }

    #[test]
    fn a_pause_that_is_none_is_as_if_it_were_not_sent() {
        let deployment = |paused| Fingerprint::of_rendered(&json!({ "spec": { "replicas": 1, "paused": paused } }));
        assert_eq!(deployment(json!(false)), deployment(json!(null)));
        assert_ne!(deployment(json!(true)), deployment(json!(null)));
        let owned = json!({ "f:spec": { "f:replicas": {}, "f:paused": {} } });
        let live = json!({ "spec": { "replicas": 1, "strategy": {} } });
        assert_eq!(Fingerprint::of_owned(&live, &owned), deployment(json!(false)), "one write is enough");
    }

    /// What field ownership says of additions, as the API server records it after an update by somebody else.
    #[test]
    fn an_addition_is_seen_where_a_field_is_owned_whole_and_nowhere_else() {
        let port = json!({ "name": "app", "port": 80, "protocol": "TCP", "targetPort": 80 });
        let item = "k:{\"port\":80,\"protocol\":\"TCP\"}";
        let whole = json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} });
        let rendered = Fingerprint::of_rendered(&json!({ "spec": { "selector": { "app": "web" }, "ports": [port] } }));
        let owned = json!({ "f:spec": { "f:selector": {}, "f:ports": { item: whole } } });

        // A selector is atomic: who adds a key to it owns all of it from then on.
        let selector = json!({ "spec": { "selector": { "app": "web", "x": "y" }, "ports": [port] } });
        let without_selector = json!({ "f:spec": { "f:ports": { item: whole } } });
        assert_ne!(Fingerprint::of_owned(&selector, &without_selector), rendered);
        // So it is with the number of a port, which is part of its key.
        let other = json!({ "name": "app", "port": 81, "protocol": "TCP", "targetPort": 80 });
        let renumbered = json!({ "spec": { "selector": { "app": "web" }, "ports": [other] } });
        assert_ne!(Fingerprint::of_owned(&renumbered, &json!({ "f:spec": { "f:selector": {} } })), rendered);

        let node_port = json!({ "spec": { "selector": { "app": "web" }, "ports": [port], "type": "NodePort" } });
        assert_eq!(Fingerprint::of_owned(&node_port, &owned), rendered);
        let another = json!({ "spec": { "selector": { "app": "web" }, "ports": [port, other] } });
        assert_eq!(Fingerprint::of_owned(&another, &owned), rendered);
    }

    #[test]
    fn two_spellings_of_a_size_limit_are_one() {
        let volume =
            |size| Fingerprint::of_rendered(&json!({ "spec": { "volumes": [{ "emptyDir": { "sizeLimit": size } }] } }));
        assert_eq!(volume("1024Mi"), volume("1Gi"));
        assert_ne!(volume("1G"), volume("1Gi"));
    }

    #[test]
    fn order_counts_in_lists_and_not_in_maps() {
        let list = |a: &str, b: &str| Fingerprint::of_rendered(&json!({ "spec": { "args": [a, b] } }));
        assert_ne!(list("x", "y"), list("y", "x"));
        assert_eq!(
            Fingerprint::of_rendered(&json!({ "spec": { "a": 1, "b": 2 } })),
            Fingerprint::of_rendered(&json!({ "spec": { "b": 2, "a": 1 } }))
        );
    }

    #[test]
    fn atomic_values_and_sets_are_compared_whole() {
        let live = json!({ "spec": { "command": ["a", "b"], "names": ["x", "theirs"] } });
        let owned = json!({ "f:spec": { "f:command": {}, "f:names": { "v:\"x\"": {} } } });
        let ours = json!({ "spec": { "command": ["a", "b"], "names": ["x"] } });
        assert_eq!(Fingerprint::of_owned(&live, &owned), Fingerprint::of_rendered(&ours));
    }

    #[test]
    fn only_an_apply_of_ours_to_the_object_itself_is_ours() {
        let ours = |manager: &str, operation: &str, subresource: &str| {
            let entry = json!({ "manager": manager, "operation": operation, "subresource": subresource }).to_string();
            serde_json::from_str::<Ownership<'_>>(&entry).unwrap().is_ours()
        };
        assert!(ours("multi-operator-my-app", "Apply", ""));
        assert!(!ours("multi-operator-my-app", "Apply", "status"));
        assert!(!ours("multi-operator-my-app", "Update", ""));
        assert!(!ours("hand-over/multi-operator-my-app", "Apply", ""));
        assert!(!ours("kubectl", "Apply", ""));
    }
}
