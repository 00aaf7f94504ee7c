//! What differs between two answers, but for what a table lists.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::reply::Reply;

mod ignored;
#[cfg(test)]
mod tests;

use ignored::FAILURE;
pub use ignored::{IGNORED, IgnoreRule, Ignored};

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
            Self::Empty(path) => {
                let mut empty = false;
                at(object, path, &mut |text| empty = *text == "");
                if empty {
                    remove(object, path);
                }
            }
            Self::MessageOrder(words) => in_message(object, |message| sorted(message, words)),
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

/// The message with the parts of the list at its end in their order, if it has these words.
fn sorted(message: &str, words: &str) -> String {
    let list = message.strip_suffix(']').and_then(|message| message.split_once('['));
    let Some((before, list)) = list.filter(|_| message.contains(words)) else { return message.to_owned() };
    let mut parts: Vec<_> = list.split(", ").collect();
    parts.sort_unstable();
    format!("{before}[{}]", parts.join(", "))
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
