//! What differs between two answers, but for what a table lists.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::Reply;

#[cfg(test)]
mod tests;

/// Something that the comparison ignores, and why.
#[derive(Clone, Copy, Debug)]
pub struct Ignored {
    /// What is ignored.
    pub rule: IgnoreRule,
    /// Why.
    pub reason: &'static str,
}

/// How something is ignored.
#[derive(Clone, Copy, Debug)]
pub enum IgnoreRule {
    /// The field of objects of these kinds (of all if there are none) is left out.
    Field(&'static [&'static str], &'static [&'static str]),
    /// Items of a list are left out: those of which this field (themselves if it is empty) is that text.
    Item(&'static [&'static str], &'static str, &'static str),
    /// Any field of that name that is null is left out.
    Null(&'static str),
    /// A text there is replaced by a placeholder, so that only its presence is compared. `*` is each item of a list.
    Text(&'static [&'static str], &'static str),
    /// An IP address there is replaced by a placeholder; other texts are not.
    Address(&'static [&'static str]),
    /// Uids in texts are replaced by their number in the answer, so that only which of them are the same is compared.
    Uids,
    /// The number that follows these words in the message is replaced by a placeholder.
    NumberAfter(&'static str),
    /// The lines of the message after the first are left out.
    MessageLines,
    /// The order of the items there is ignored.
    Order(&'static [&'static str]),
}

/// The kind that a status of a refused request counts as, other than that of a deletion.
const FAILURE: &str = "Failure";
const WITH_CONTROLLERS: &[&str] = &["Deployment", "StatefulSet", "PodDisruptionBudget", "HorizontalPodAutoscaler"];
const MANAGED_FIELDS: &[&str] = &["metadata", "managedFields"];

/// All that is ignored. Beside it, whether the resourceVersion of an object is another than in the answer before is ignored for
/// kinds with a controller that writes to them (see [`super::Seen::note`]).
pub const IGNORED: &[Ignored] = &[
    ignored(IgnoreRule::Uids, "each server draws its own"),
    ignored(IgnoreRule::Text(&["metadata", "resourceVersion"], "<version>"), "each server counts its own"),
    ignored(
        IgnoreRule::Text(&["metadata", "creationTimestamp"], "<time>"),
        "the servers are asked one after the other",
    ),
    ignored(
        IgnoreRule::Text(&["metadata", "deletionTimestamp"], "<time>"),
        "the servers are asked one after the other",
    ),
    ignored(
        IgnoreRule::Text(&["metadata", "managedFields", "*", "time"], "<time>"),
        "the servers are asked one after the other",
    ),
    ignored(IgnoreRule::Text(&["metadata", "continue"], "<continue>"), "its content is the server's own affair"),
    ignored(IgnoreRule::Address(&["spec", "clusterIP"]), "allocated at random"),
    ignored(IgnoreRule::Address(&["spec", "clusterIPs", "*"]), "allocated at random"),
    ignored(
        IgnoreRule::Order(MANAGED_FIELDS),
        "sorted by time, and a second may begin between two calls to one server only",
    ),
    ignored(IgnoreRule::Field(WITH_CONTROLLERS, &["status"]), "controllers write it at any time"),
    ignored(IgnoreRule::Item(MANAGED_FIELDS, "manager", "kube-controller-manager"), "controllers write at any time"),
    ignored(
        IgnoreRule::Field(&[], &["metadata", "annotations", "deployment.kubernetes.io/revision"]),
        "the Deployment controller writes it at any time",
    ),
    ignored(
        IgnoreRule::Item(&["metadata", "finalizers"], "", "kubernetes.io/pvc-protection"),
        "an admission plugin that the model lacks adds it to PVCs, and a controller removes it",
    ),
    ignored(IgnoreRule::Null("creationTimestamp"), "in templates, releases differ in whether an absent time is null"),
    ignored(IgnoreRule::MessageLines, "a comparison of Go structs, which is worded at random"),
    ignored(IgnoreRule::NumberAfter("ResourceVersion in precondition: "), "each server counts its own versions"),
    ignored(IgnoreRule::NumberAfter("ResourceVersion in object meta: "), "each server counts its own versions"),
    ignored(IgnoreRule::Field(&[FAILURE], &["details", "name"]), "no client reads it, and the message has it"),
    ignored(IgnoreRule::Field(&[FAILURE], &["details", "group"]), "no client reads it, and the message has it"),
    ignored(IgnoreRule::Field(&[FAILURE], &["details", "kind"]), "no client reads it, and the message has it"),
    ignored(IgnoreRule::Field(&[FAILURE], &["details", "uid"]), "no client reads it"),
];

const fn ignored(rule: IgnoreRule, reason: &'static str) -> Ignored {
    Ignored { rule, reason }
}

/// What differs between the answers to one call, one line each.
#[must_use]
pub fn differences(real: &Reply, model: &Reply) -> Vec<String> {
    let mut found = Vec::new();
    if real.code != model.code {
        found.push(format!("code: really {}, in the model {}", real.code, model.code));
    }
    compare("", &normalized(&real.body), &normalized(&model.body), &mut found);
    found
}

fn compare(path: &str, real: &Value, model: &Value, found: &mut Vec<String>) {
    match (real, model) {
        (Value::Object(fields), Value::Object(others)) => {
            for name in fields.keys().chain(others.keys().filter(|name| !fields.contains_key(*name))) {
                let path = format!("{path}.{name}");
                match (fields.get(name), others.get(name)) {
                    (Some(real), Some(model)) => compare(&path, real, model, found),
                    (Some(real), None) => found.push(format!("{path}: really {real}, in the model absent")),
                    (None, model) => {
                        found.push(format!("{path}: really absent, in the model {}", model.unwrap_or(&Value::Null)));
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (index, (real, model)) in items.iter().zip(others).enumerate() {
                compare(&format!("{path}[{index}]"), real, model, found);
            }
        }
        _ if real != model => found.push(format!("{path}: really {real}, in the model {model}")),
        _ => {}
    }
}

/// An answer without what is ignored.
fn normalized(body: &Value) -> Value {
    let mut body = body.clone();
    let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
    let failed = text("kind") == "Status" && text("status") == FAILURE;
    let kind = if failed { FAILURE } else { text("kind") }.to_owned();
    for Ignored { rule, .. } in IGNORED {
        rule.leave_out(&kind, &mut body);
        let Some(kind) = kind.strip_suffix("List") else { continue };
        let items = body.get_mut("items").and_then(Value::as_array_mut);
        items.into_iter().flatten().for_each(|item| rule.leave_out(kind, item));
    }
    body
}

impl IgnoreRule {
    fn leave_out(self, kind: &str, object: &mut Value) {
        match self {
            Self::Field(kinds, path) if kinds.is_empty() || kinds.contains(&kind) => remove(object, path),
            Self::Field(..) => {}
            Self::Item(path, field, text) => {
                at(object, path, &mut |list| {
                    let of = |item: &Value| if field.is_empty() { item.clone() } else { item[field].clone() };
                    if let Value::Array(items) = list {
                        items.retain(|item| of(item) != text);
                    }
                });
                remove_if_empty(object, path);
            }
            Self::Null(name) => remove_null(object, name),
            Self::Text(path, placeholder) => at(object, path, &mut |value| {
                if value.as_str().is_some_and(|text| !text.is_empty()) {
                    *value = placeholder.into();
                }
            }),
            Self::Address(path) => at(object, path, &mut |value| {
                if value.as_str().is_some_and(|text| text.parse::<IpAddr>().is_ok()) {
                    *value = "<address>".into();
                }
            }),
            Self::Uids => number_uids(object, &mut Vec::new()),
            Self::NumberAfter(words) => in_message(object, |message| without_number(message, words)),
            Self::MessageLines => in_message(object, |message| message.lines().next().unwrap_or_default().to_owned()),
            Self::Order(path) => at(object, path, &mut |list| {
                if let Value::Array(items) = list {
                    items.sort_by_key(ToString::to_string);
                }
            }),
        }
    }
}

/// Does something to the values at a path.
fn at(value: &mut Value, path: &[&str], act: &mut dyn FnMut(&mut Value)) {
    match (path.split_first(), value) {
        (None, value) => act(value),
        (Some((&"*", rest)), Value::Array(items)) => items.iter_mut().for_each(|item| at(item, rest, act)),
        (Some((name, rest)), Value::Object(fields)) => {
            if let Some(inner) = fields.get_mut(*name) {
                at(inner, rest, act);
            }
        }
        _ => {}
    }
}

/// Removes a field, and what has no other.
fn remove(value: &mut Value, path: &[&str]) {
    let (Some((name, rest)), Value::Object(fields)) = (path.split_first(), value) else { return };
    if rest.is_empty() {
        fields.remove(*name);
        return;
    }
    let Some(inner) = fields.get_mut(*name) else { return };
    let was_empty = is_empty(inner);
    remove(inner, rest);
    if !was_empty && is_empty(inner) {
        fields.remove(*name);
    }
}

fn remove_if_empty(object: &mut Value, path: &[&str]) {
    let mut empty = false;
    at(object, path, &mut |value| empty = is_empty(value));
    if empty {
        remove(object, path);
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn remove_null(value: &mut Value, name: &str) {
    match value {
        Value::Object(fields) => {
            fields.retain(|field, value| field != name || !value.is_null());
            fields.values_mut().for_each(|field| remove_null(field, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_null(item, name)),
        _ => {}
    }
}

fn in_message(object: &mut Value, change: impl Fn(&str) -> String) {
    at(object, &["message"], &mut |message| {
        if let Value::String(text) = message {
            *text = change(text);
        }
    });
    // A cause repeats the message of its field.
    at(object, &["details", "causes", "*", "message"], &mut |message| {
        if let Value::String(text) = message {
            *text = change(text);
        }
    });
}

fn without_number(message: &str, words: &str) -> String {
    let Some((before, after)) = message.split_once(words) else { return message.to_owned() };
    let rest = after.trim_start_matches(|character: char| character.is_ascii_digit());
    let number = if rest.len() < after.len() { "<version>" } else { "" };
    format!("{before}{words}{number}{rest}")
}

fn number_uids(value: &mut Value, known: &mut Vec<String>) {
    match value {
        Value::String(text) => *text = with_numbers(text, known),
        Value::Array(items) => items.iter_mut().for_each(|item| number_uids(item, known)),
        Value::Object(fields) => fields.values_mut().for_each(|field| number_uids(field, known)),
        _ => {}
    }
}

fn with_numbers(text: &str, known: &mut Vec<String>) -> String {
    let mut numbered = String::new();
    // A uid has no other character than these, and is bounded by others.
    for part in text.split_inclusive(|character: char| !character.is_ascii_hexdigit() && character != '-') {
        let uid = part.trim_end_matches(|character: char| !character.is_ascii_hexdigit());
        if !is_uid(uid) {
            numbered.push_str(part);
            continue;
        }
        let number = known.iter().position(|known| known == uid).unwrap_or(known.len());
        if number == known.len() {
            known.push(uid.to_owned());
        }
        numbered.push_str(&format!("<uid {number}>{}", part.strip_prefix(uid).unwrap_or_default()));
    }
    numbered
}

fn is_uid(text: &str) -> bool {
    text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}
