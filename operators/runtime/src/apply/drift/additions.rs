//! Pure: what an apply would leave though nothing of it is to be there.
//!
//! An apply gives back the fields that it sends, and takes away those that its manager alone owns. What others have added
//! stays, as do fields of ours that others own with us. Mostly that is right: a sidecar, a node port, an annotation are
//! theirs. But some places are ours alone, though we may leave them empty or at their default: all ports of a Service, or
//! the handler of a probe. An addition there changes what the owner's spec says, and some make the apply invalid: two ports of
//! one name, two handlers in a probe. `rules` lists these places.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::defaults::Made;
use super::fingerprint::Fingerprint;
use super::ownership::{Owners, owns};
use super::rules::{Alone, Rules, Step};
use super::selector::Selector;

/// What others own at places that are ours alone: it would be there after an apply that does not send it. Empty as a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    found: Box<[Addition]>,
    /// What is ours by a creation or a patch of ours, not by apply: an apply would not take it away.
    pub unapplied: Option<Box<Unapplied>>,
}

/// Of a child of which fields are ours by a creation or a patch: what is ours, one way or the other.
#[derive(Clone, Debug)]
pub struct Unapplied {
    /// As it is now.
    pub made: Made,
    /// The fields that were ours when this process first saw the child after our last write, those at their default apart. Others can
    /// only take away from them: an apply that sends the same has nothing to take away.
    pub first: Fingerprint,
    /// When our last write was, in the API server's time.
    pub since: Option<Timestamp>,
    /// The child as it is, whole, if others have changed since then what is not at its default: what puts that back is made from it.
    pub whole: Option<Arc<str>>,
}

/// What else the child has is no news.
impl PartialEq for Unapplied {
    fn eq(&self, other: &Self) -> bool {
        (&self.made, self.first, self.since) == (&other.made, other.first, other.since)
    }
}

impl Eq for Unapplied {}

/// One of them, by its path in FieldsV1's steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addition {
    pub(super) path: Box<[Box<str>]>,
    /// So many steps of it must be sent for the place to be ours.
    within: usize,
}

impl Additions {
    /// Finds those of an object. `live` needs to have no other parts than the rules speak of.
    ///
    /// What nobody owns was filled in by the API server or by a webhook, which would do it again.
    #[must_use]
    pub fn find(rules: &Rules, live: &Value, owners: &Owners) -> Self {
        let mut found = Vec::new();
        if !owners.others.is_empty() {
            walk(live, rules, &mut Vec::new(), &mut |path, alone, value| {
                if !alone.is_default(value) && owners.others.iter().any(|other| owns(other, path)) {
                    let path = path.iter().map(|step| Box::from(&**step)).collect();
                    found.push(Addition { path, within: alone.within });
                }
            });
        }
        Self { found: found.into(), unapplied: None }
    }

    /// Takes over from an earlier version of the same child, if there is one, what it told first.
    pub(crate) fn carry_over(&mut self, before: Option<&Self>) {
        let Some(now) = &mut self.unapplied else { return };
        if let Some(before) = before.and_then(|before| before.unapplied.as_ref())
            && now.since == before.since
        {
            now.first = before.first;
        }
        if now.first == now.made.others {
            now.whole = None;
        }
    }

    /// Those that are to go, for a child that is to be `body`.
    pub(super) fn beyond<'a>(&'a self, body: &'a Value) -> impl Iterator<Item = &'a Addition> {
        self.found.iter().filter(|addition| addition.is_beyond(body))
    }

    /// Whether an apply of `body` would leave what is to go.
    #[must_use]
    pub fn outlast(&self, body: &Value) -> bool {
        self.beyond(body).next().is_some()
    }
}

impl Addition {
    fn is_beyond(&self, body: &Value) -> bool {
        match &*self.path {
            // An entry of a ConfigMap is in one of the two; others may have entries of their own.
            [part, entry] if &**part == "f:binaryData" => return child(&body["data"], entry).is_some(),
            // It is the provider's beside this type, and the API server refuses it beside another.
            [_, field] if &**field == "f:loadBalancerSourceRanges" => return body["spec"]["type"] != "LoadBalancer",
            _ => {}
        }
        let mut place = body;
        for (depth, step) in self.path.iter().enumerate() {
            match child(place, step).filter(|value| !value.is_null()) {
                Some(next) => place = next,
                None => return depth >= self.within,
            }
        }
        false
    }
}

/// Whether a Service has the type that it has by default.
pub(super) fn is_cluster_ip(service: &Value) -> bool {
    service["spec"]["type"].as_str().is_none_or(|type_| type_ == "ClusterIP")
}

impl Alone {
    pub(super) fn is_default(&self, value: &Value) -> bool {
        let same = |default: &str| match value {
            Value::String(text) => text == default,
            other => serde_json::from_str::<Value>(default).is_ok_and(|default| default == *other),
        };
        self.default.is_some_and(same)
    }
}

/// What a step of FieldsV1 leads to.
pub(super) fn child<'a>(place: &'a Value, step: &str) -> Option<&'a Value> {
    if let Some(name) = step.strip_prefix("f:") {
        return place.get(name);
    }
    let selector = Selector::parse(step)?;
    place.as_array()?.iter().find(|item| selector.matches(item))
}

type Path<'a> = Vec<Cow<'a, str>>;

/// Calls `at` for all that is there at the places of the rules.
fn walk<'a>(
    place: &'a Value,
    rules: &'a Rules,
    path: &mut Path<'a>,
    at: &mut impl FnMut(&[Cow<'a, str>], &Alone, &Value),
) {
    if place.is_null() {
        return;
    }
    if let Some(alone) = &rules.alone {
        at(path, alone, place);
    }
    for (step, below) in &rules.below {
        let mut into = |step: Cow<'a, str>, next: &'a Value| {
            path.push(step);
            walk(next, below, path, at);
            path.pop();
        };
        match step {
            Step::Field(field) => {
                if let Some(next) = field.strip_prefix("f:").and_then(|name| place.get(name)) {
                    into(Cow::Borrowed(field), next);
                }
            }
            Step::Any => {
                for (name, next) in place.as_object().into_iter().flatten() {
                    into(Cow::Owned(format!("f:{name}")), next);
                }
            }
            Step::Items(keys) => {
                for item in place.as_array().into_iter().flatten() {
                    let key = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
                    into(Cow::Owned(format!("k:{}", Value::Object(key.collect::<Map<_, _>>()))), item);
                }
            }
        }
    }
}
