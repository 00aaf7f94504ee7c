//! Pure: additions of others that an apply would leave in place, although they must not exist.
//!
//! An apply restores the fields that it sends, and removes those that only its manager owns. What others have added stays, and so
//! do fields that others own together with us. Mostly that is right: a sidecar, a node port and an annotation belong to others.
//! But some places are exclusive to us, although we may leave them empty or at their default: all ports of a Service, or the
//! handler of a probe. An addition there changes the meaning of the owner's spec, and some additions make the apply invalid: two
//! ports of one name, two handlers in a probe. `rules` lists these places.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::defaults::CreatedFingerprint;
use super::fingerprint::Fingerprint;
use super::ownership::{Owners, owns};
use super::rules::{Exclusive, FieldRules, RuleStep};
use super::selector::Selector;

/// What others own in exclusive places: it would still exist after an apply that does not send it. Usually empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    found: Box<[Addition]>,
    /// Fields that we own through a creation or a patch, not through an apply: an apply would not remove them.
    pub unapplied: Option<Box<Unapplied>>,
}

/// The owned part of a child of which we own fields through a creation or a patch.
#[derive(Clone, Debug)]
pub struct Unapplied {
    /// The owned part as it is now.
    pub created: CreatedFingerprint,
    /// The owned fields, without those at their default, when this process first observed the child after our last write. Others
    /// can only take ownership from us, so an apply that sends the same fields has nothing to remove.
    pub first: Fingerprint,
    /// The time of our last write, by the clock of the API server.
    pub since: Option<Timestamp>,
    /// The complete child, if others have changed fields that are not at their default: the restoring patch is built from it.
    pub live_json: Option<Arc<str>>,
}

/// Ignores the rest of the child.
impl PartialEq for Unapplied {
    fn eq(&self, other: &Self) -> bool {
        (&self.created, self.first, self.since) == (&other.created, other.first, other.since)
    }
}

impl Eq for Unapplied {}

/// One addition, as a path of FieldsV1 steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addition {
    pub(super) path: Box<[Box<str>]>,
    /// How many of its steps must be sent for the place to be exclusive.
    within: usize,
}

impl Additions {
    /// Finds the additions in an object. `live` needs only the parts that the rules name.
    ///
    /// The API server or a webhook filled in fields without an owner, and would do so again.
    #[must_use]
    pub fn find(rules: &FieldRules, live: &Value, owners: &Owners) -> Self {
        let mut found = Vec::new();
        if !owners.others.is_empty() {
            walk(live, rules, &mut Vec::new(), &mut |path, exclusive, value| {
                if !exclusive.is_default(value) && owners.others.iter().any(|other| owns(other, path)) {
                    let path = path.iter().map(|step| Box::from(&**step)).collect();
                    found.push(Addition { path, within: exclusive.within });
                }
            });
        }
        Self { found: found.into(), unapplied: None }
    }

    /// Carries over from an earlier version of the same child what was observed first.
    pub(crate) fn carry_over(&mut self, before: Option<&Self>) {
        let Some(now) = &mut self.unapplied else { return };
        if let Some(before) = before.and_then(|before| before.unapplied.as_ref())
            && now.since == before.since
        {
            now.first = before.first;
        }
        if now.first == now.created.others {
            now.live_json = None;
        }
    }

    /// The additions to remove from a child whose desired state is `body`.
    pub(super) fn beyond<'a>(&'a self, body: &'a Value) -> impl Iterator<Item = &'a Addition> {
        self.found.iter().filter(|addition| addition.is_beyond(body))
    }

    /// Whether an apply of `body` would leave additions that must be removed.
    #[must_use]
    pub fn outlast(&self, body: &Value) -> bool {
        self.beyond(body).next().is_some()
    }
}

impl Addition {
    fn is_beyond(&self, body: &Value) -> bool {
        match &*self.path {
            // An entry of a ConfigMap is in one of the two maps; others may have entries of their own.
            [part, entry] if &**part == "f:binaryData" => return child(&body["data"], entry).is_some(),
            // With this type, the field belongs to the cloud provider; with another one, the API server rejects it.
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

/// Whether a Service has the default type.
pub(super) fn is_cluster_ip(service: &Value) -> bool {
    service["spec"]["type"].as_str().is_none_or(|type_| type_ == "ClusterIP")
}

impl Exclusive {
    pub(super) fn is_default(&self, value: &Value) -> bool {
        let same = |default: &str| match value {
            Value::String(text) => text == default,
            other => serde_json::from_str::<Value>(default).is_ok_and(|default| default == *other),
        };
        self.default.is_some_and(same)
    }
}

/// The value to which a step of FieldsV1 leads.
pub(super) fn child<'a>(place: &'a Value, step: &str) -> Option<&'a Value> {
    if let Some(name) = step.strip_prefix("f:") {
        return place.get(name);
    }
    let selector = Selector::parse(step)?;
    place.as_array()?.iter().find(|item| selector.matches(item))
}

type Path<'a> = Vec<Cow<'a, str>>;

/// Calls `at` for each value in a place of the rules.
fn walk<'a>(
    place: &'a Value,
    rules: &'a FieldRules,
    path: &mut Path<'a>,
    at: &mut impl FnMut(&[Cow<'a, str>], &Exclusive, &Value),
) {
    if place.is_null() {
        return;
    }
    if let Some(exclusive) = &rules.exclusive {
        at(path, exclusive, place);
    }
    for (step, below) in &rules.below {
        let mut into = |step: Cow<'a, str>, next: &'a Value| {
            path.push(step);
            walk(next, below, path, at);
            path.pop();
        };
        match step {
            RuleStep::Field(field) => {
                if let Some(next) = field.strip_prefix("f:").and_then(|name| place.get(name)) {
                    into(Cow::Borrowed(field), next);
                }
            }
            RuleStep::Any => {
                for (name, next) in place.as_object().into_iter().flatten() {
                    into(Cow::Owned(format!("f:{name}")), next);
                }
            }
            RuleStep::Items(keys) => {
                for item in place.as_array().into_iter().flatten() {
                    let key = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
                    into(Cow::Owned(format!("k:{}", Value::Object(key.collect::<Map<_, _>>()))), item);
                }
            }
        }
    }
}
