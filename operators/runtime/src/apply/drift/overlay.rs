//! Pure: merges what we send into a live object as an apply would: fields and list items that we do not send stay.
//!
//! Source: the markers `listType`, `listMapKey`, `mapType` and `structType` in `k8s.io/api`.

use std::borrow::Cow;

use serde_json::Value;

/// Merges `body` into `live`.
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
        // Finalizers of others stay.
        (Value::Array(items), Value::Array(sent)) if name == "finalizers" => {
            let missing: Vec<Value> = sent.iter().filter(|value| !items.contains(value)).cloned().collect();
            items.extend(missing);
        }
        _ => *live = ours.clone(),
    }
}

/// A list with the sent items in their order, and the items of others in their positions between them.
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

/// A key of a list item, sent or filled in.
pub(super) fn key_of<'a>(item: &'a Value, key: &str) -> Cow<'a, Value> {
    match (item.get(key), key) {
        (Some(value), _) => Cow::Borrowed(value),
        (None, "protocol") => Cow::Owned(Value::from("TCP")),
        (None, _) => Cow::Owned(Value::Null),
    }
}

/// Maps that are replaced as a whole: those that are atomic for the API server, and the strategy, since not every type allows
/// `rollingUpdate`.
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

/// The keys by which the API server distinguishes the items of a list; empty for an atomic list.
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

    /// The names of the environment variables after a merge.
    fn over(live: &[&str], sent: &[&str]) -> String {
        let env = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Value>();
        let mut container = json!({ "env": env(live) });
        put_over(&mut container, &json!({ "env": env(sent) }));
        names(&container["env"]).join(" ")
    }

    #[test]
    fn sent_items_keep_their_order_and_others_their_positions() {
        assert_eq!(over(&["A", "B", "C"], &["A", "B", "C"]), "A B C");
        assert_eq!(over(&["B", "C"], &["A", "B", "C"]), "A B C");
        assert_eq!(over(&["C", "B", "A"], &["A", "B", "C"]), "A B C");
        assert_eq!(over(&["x", "A", "y", "B", "z"], &["A", "B"]), "x A y B z");
        assert_eq!(over(&["x", "B", "y"], &["A", "B"]), "x A y B", "its position is not known");
        assert_eq!(over(&["x"], &["A"]), "x A");
        assert_eq!(over(&[], &["A", "B"]), "A B");
    }

    /// An apply assumes TCP as well, and the API server would reject a second port of that name.
    #[test]
    fn a_port_without_a_protocol_is_a_tcp_port() {
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
    fn a_selector_is_replaced_and_labels_are_merged() {
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
