//! Pure: what we send, put over a live object as an apply would: fields, and items of lists, that we do not send stay.
//!
//! Source: the markers `listType`, `listMapKey`, `mapType` and `structType` in `k8s.io/api`.

use std::borrow::Cow;

use serde_json::Value;

/// Puts `body` over `live`.
pub(super) fn put_over(live: &mut Value, body: &Value) {
    for (part, sent) in
        body.as_object().into_iter().flatten().filter(|(part, _)| !matches!(&***part, "apiVersion" | "kind"))
    {
        overlay(part, &mut live[part], sent);
    }
}

fn overlay(name: &str, live: &mut Value, ours: &Value) {
    match (&mut *live, ours) {
        (_, Value::Null) => {}
        (Value::Object(fields), Value::Object(sent)) if !is_atomic(name) => {
            for (name, value) in sent {
                match fields.get_mut(name) {
                    Some(field) => overlay(name, field, value),
                    None if value.is_null() => {}
                    None => drop(fields.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(items), Value::Array(sent)) if !keys(name, sent).is_empty() => {
            *items = overlaid(std::mem::take(items), sent, keys(name, sent));
        }
        // Others' finalizers are theirs.
        (Value::Array(items), Value::Array(sent)) if name == "finalizers" => {
            let missing: Vec<Value> = sent.iter().filter(|value| !items.contains(value)).cloned().collect();
            items.extend(missing);
        }
        _ => *live = ours.clone(),
    }
}

/// A list with the items that are sent, in their order, and those of others where they stood between them.
fn overlaid(items: Vec<Value>, sent: &[Value], keys: &[&str]) -> Vec<Value> {
    let same = |a: &Value, b: &Value| keys.iter().all(|key| key_of(a, key) == key_of(b, key));
    let mut theirs: Vec<Vec<Value>> = vec![Vec::new()];
    let mut ours: Vec<Value> = Vec::new();
    for item in items {
        if sent.iter().any(|value| same(value, &item)) {
            ours.push(item);
            theirs.push(Vec::new());
        } else if let Some(between) = theirs.last_mut() {
            between.push(item);
        }
    }
    let mut theirs = theirs.into_iter();
    let mut list = theirs.next().unwrap_or_default();
    for value in sent {
        let mut item = ours.iter().find(|item| same(item, value)).unwrap_or(value).clone();
        overlay("", &mut item, value);
        list.push(item);
        list.extend(theirs.next().unwrap_or_default());
    }
    list.extend(theirs.flatten());
    list
}

/// One of the keys of a list's item, be it sent or filled in.
pub(super) fn key_of<'a>(item: &'a Value, key: &str) -> Cow<'a, Value> {
    match (item.get(key), key) {
        (Some(value), _) => Cow::Borrowed(value),
        (None, "protocol") => Cow::Owned(Value::from("TCP")),
        (None, _) => Cow::Owned(Value::Null),
    }
}

/// Maps that are taken as a whole: by the API server, or, of a strategy, because a pace does not go with every type.
fn is_atomic(name: &str) -> bool {
    matches!(
        name,
        "selector"
            | "strategy"
            | "configMapKeyRef"
            | "secretKeyRef"
            | "fieldRef"
            | "resourceFieldRef"
            | "nodeSelector"
            | "labelSelector"
            | "requiredDuringSchedulingIgnoredDuringExecution"
    )
}

/// The keys by which the API server tells apart the items of a list; none of one that it takes as a whole.
fn keys(name: &str, items: &[Value]) -> &'static [&'static str] {
    match name {
        "containers" | "initContainers" | "env" | "volumes" | "imagePullSecrets" | "resourceClaims" | "claims"
        | "schedulingGates" => &["name"],
        "volumeMounts" => &["mountPath"],
        "volumeDevices" => &["devicePath"],
        "topologySpreadConstraints" => &["topologyKey", "whenUnsatisfiable"],
        "hostAliases" => &["ip"],
        "ports" if items.iter().any(|port| !port["containerPort"].is_null()) => &["containerPort", "protocol"],
        "ports" => &["port", "protocol"],
        "ownerReferences" => &["uid"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(list: &Value) -> Vec<&str> {
        list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str()).collect()
    }

    /// The names of variables once those named have been put over others.
    fn over(live: &[&str], sent: &[&str]) -> String {
        let env = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Value>();
        let mut container = json!({ "env": env(live) });
        put_over(&mut container, &json!({ "env": env(sent) }));
        names(&container["env"]).join(" ")
    }

    #[test]
    fn items_that_are_sent_are_in_their_order_and_others_between_them_as_before() {
        assert_eq!(over(&["A", "B", "C"], &["A", "B", "C"]), "A B C");
        assert_eq!(over(&["B", "C"], &["A", "B", "C"]), "A B C");
        assert_eq!(over(&["C", "B", "A"], &["A", "B", "C"]), "A B C");
        assert_eq!(over(&["x", "A", "y", "B", "z"], &["A", "B"]), "x A y B z");
        assert_eq!(over(&["x", "B", "y"], &["A", "B"]), "x A y B", "nothing tells where it stood");
        assert_eq!(over(&["x"], &["A"]), "x A");
        assert_eq!(over(&[], &["A", "B"]), "A B");
    }

    /// An apply takes it for TCP as well, and a second port of that number would be refused for its name.
    #[test]
    fn a_port_that_is_sent_without_a_protocol_is_that_of_the_default() {
        let port = |more: Value| {
            let mut port = json!({ "name": "web", "containerPort": 80 });
            json_patch::merge(&mut port, &more);
            json!({ "ports": [port] })
        };
        let mut live = port(json!({ "protocol": "TCP", "hostPort": 1 }));
        put_over(&mut live, &port(json!({})));
        assert_eq!(live, port(json!({ "protocol": "TCP", "hostPort": 1 })));
        let mut live = port(json!({ "protocol": "UDP" }));
        put_over(&mut live, &port(json!({})));
        assert_eq!(live["ports"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn a_selector_comes_whole_and_labels_one_by_one() {
        let mut live =
            json!({ "metadata": { "labels": { "theirs": "x" } }, "spec": { "selector": { "theirs": "x" } } });
        put_over(
            &mut live,
            &json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "selector": { "app": "web" } } }),
        );
        let expected = json!({ "metadata": { "labels": { "app": "web", "theirs": "x" } }, "spec": { "selector": { "app": "web" } } });
        assert_eq!(live, expected);
    }
}
