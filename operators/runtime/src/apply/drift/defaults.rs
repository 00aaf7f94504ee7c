//! Pure: what the API server fills in where nothing is sent, by kind.
//!
//! An apply owns what was sent, and a creation or a patch owns all that came of it, what was filled in included. Nothing tells
//! a field that was sent from one that was filled in with the same value. So of a child that is ours by a creation, fields that
//! are at their default are compared apart ([`Made`]): each one that we send must be ours, and of the others none need be. None
//! of them may be ours by apply: it was sent once, and the next apply gives it up.
//!
//! A default that is missing here costs a child that was created one apply, after which it is ours by apply alone; within the
//! process that made it not even that, since what the API server makes of our writes is learned.
//!
//! Source: `pkg/apis/{apps,core}/v1/defaults.go` of Kubernetes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::fingerprint::{Fingerprint, part};
use super::overlay::key_of;
use super::rules::{Alone, Line, Rules, Step};
use super::selector::Items;
use crate::plan::meta::Kind;

const SERVICE: &[Line] = &[
    ("spec/type", Some("ClusterIP")),
    ("spec/sessionAffinity", Some("None")),
    ("spec/sessionAffinityConfig/clientIP/timeoutSeconds", Some("10800")),
    ("spec/internalTrafficPolicy", Some("Cluster")),
    ("spec/externalTrafficPolicy", Some("Cluster")),
    ("spec/allocateLoadBalancerNodePorts", Some("true")),
    ("spec/ports/[port,protocol]/protocol", Some("TCP")),
    // The number of the port.
    ("spec/ports/[port,protocol]/targetPort", None),
];

const DEPLOYMENT: &[Line] = &[
    ("spec/replicas", Some("1")),
    ("spec/progressDeadlineSeconds", Some("600")),
    ("spec/revisionHistoryLimit", Some("10")),
    ("spec/strategy/type", Some("RollingUpdate")),
    ("spec/strategy/rollingUpdate/maxSurge", Some("25%")),
    ("spec/strategy/rollingUpdate/maxUnavailable", Some("25%")),
];

const POD: &[Line] = &[
    ("dnsPolicy", Some("ClusterFirst")),
    ("restartPolicy", Some("Always")),
    ("schedulerName", Some("default-scheduler")),
    ("securityContext", Some("{}")),
    ("terminationGracePeriodSeconds", Some("30")),
    ("volumes/[name]/configMap/defaultMode", Some("420")),
    ("volumes/[name]/downwardAPI/defaultMode", Some("420")),
    ("volumes/[name]/hostPath/type", Some("")),
    ("volumes/[name]/projected/defaultMode", Some("420")),
    ("volumes/[name]/secret/defaultMode", Some("420")),
];

const CONTAINER: &[Line] = &[
    // By the image's tag.
    ("imagePullPolicy", None),
    ("resources", Some("{}")),
    ("terminationMessagePath", Some("/dev/termination-log")),
    ("terminationMessagePolicy", Some("File")),
    ("ports/[containerPort,protocol]/protocol", Some("TCP")),
    ("env/[name]/valueFrom/fieldRef/apiVersion", Some("v1")),
    ("env/[name]/valueFrom/resourceFieldRef/divisor", Some("0")),
    ("lifecycle/postStart/httpGet/path", Some("/")),
    ("lifecycle/postStart/httpGet/scheme", Some("HTTP")),
    ("lifecycle/preStop/httpGet/path", Some("/")),
    ("lifecycle/preStop/httpGet/scheme", Some("HTTP")),
];

const PROBE: &[Line] = &[
    ("grpc/service", Some("")),
    ("httpGet/path", Some("/")),
    ("httpGet/scheme", Some("HTTP")),
    ("timeoutSeconds", Some("1")),
    ("periodSeconds", Some("10")),
    ("successThreshold", Some("1")),
    ("failureThreshold", Some("3")),
];

/// What is filled in in that kind; nothing of a kind whose defaults are not known here.
fn defaults(kind: &Kind) -> Option<&'static Rules> {
    // Of these two nothing is.
    static NONE: Rules = Rules { below: Vec::new(), alone: None };
    static SERVICES: LazyLock<Rules> = LazyLock::new(|| Rules::default().with("", SERVICE));
    static DEPLOYMENTS: LazyLock<Rules> = LazyLock::new(|| {
        let rules = Rules::default().with("", DEPLOYMENT).with("spec/template/spec/", POD);
        ["containers", "initContainers"].iter().fold(rules, |rules, list| {
            let container = format!("spec/template/spec/{list}/[name]/");
            let probes = ["startupProbe", "readinessProbe", "livenessProbe"];
            let rules = rules.with(&container, CONTAINER);
            probes.iter().fold(rules, |rules, probe| rules.with(&format!("{container}{probe}/"), PROBE))
        })
    });
    match kind.plural {
        "services" => Some(&SERVICES),
        "deployments" => Some(&DEPLOYMENTS),
        "configmaps" | "poddisruptionbudgets" => Some(&NONE),
        _ => None,
    }
}

/// Whether it is known what the API server fills in in that kind, so that what a creation makes of it can be compared.
pub(crate) fn are_known(kind: &Kind) -> bool {
    defaults(kind).is_some()
}

/// An object as a creation makes it: its fields at their default, each as a hash, and all the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Those that are not at their default.
    pub(crate) others: Fingerprint,
    at_default: Box<[u32]>,
    /// Those of them that are ours by apply, so that they were sent.
    applied: Box<[u32]>,
}

impl Made {
    /// Of an object as we would send it.
    #[must_use]
    pub fn of_rendered(kind: &Kind, body: &Value) -> Self {
        let mut body = body.clone();
        let at_default = take(kind, &mut body);
        Self { others: Fingerprint::of_rendered(&body), at_default, applied: Box::default() }
    }

    /// Of the part of a live object that is ours; `applied` is what of it is ours by apply.
    pub(crate) fn of_owned(kind: &Kind, live: &Value, ours: &Value, applied: Option<&Value>) -> Self {
        let (others, at_default) = owned(kind, live, ours);
        let mut applied = applied.map(|applied| owned(kind, live, applied).1.into_vec()).unwrap_or_default();
        // Not what seems to be at its default where what decides that is ours another way.
        applied.retain(|field| has(&at_default, *field));
        Self { others, at_default, applied: applied.into() }
    }

    /// Whether this, which is ours of a live object, is what a creation makes of `sent`, and no apply has sent more.
    #[must_use]
    pub fn is_made_of(&self, sent: &Self) -> bool {
        self.others == sent.others
            && sent.at_default.iter().all(|field| has(&self.at_default, *field))
            && self.applied.iter().all(|field| has(&sent.at_default, *field))
    }
}

fn has(fields: &[u32], field: u32) -> bool {
    fields.binary_search(&field).is_ok()
}

/// Of the part of a live object that a FieldsV1 names: the fields that are not at their default, and those that are.
fn owned(kind: &Kind, live: &Value, fields: &Value) -> (Fingerprint, Box<[u32]>) {
    let mut fields = fields.clone();
    disown(kind, &mut fields, live, |_, _, _, _| false);
    if fields.as_object().is_none_or(Map::is_empty) {
        return (Fingerprint::of_nothing(), Box::default());
    }
    let mut part = part(live, &fields);
    let at_default = take(kind, &mut part);
    (Fingerprint::of(part), at_default)
}

/// What was sent, as it may come back.
#[derive(Clone, Copy, Debug)]
pub struct Rendered {
    /// All of it: what is ours after an apply.
    pub whole: Fingerprint,
    /// Without fields at their default: what is compared as a whole after a creation.
    pub others: Fingerprint,
}

impl Rendered {
    /// Of an object as we would send it.
    #[must_use]
    pub fn of(kind: &Kind, body: &Value) -> Self {
        Self { whole: Fingerprint::of_rendered(body), others: Made::of_rendered(kind, body).others }
    }

    /// Whether that has come of it.
    #[must_use]
    pub fn is(&self, live: Fingerprint) -> bool {
        live == self.whole || live == self.others
    }
}

/// Takes the fields at their default out of an object, and tells which they were.
fn take(kind: &Kind, object: &mut Value) -> Box<[u32]> {
    let mut taken = Vec::new();
    if let Some(defaults) = defaults(kind) {
        take_below(object, defaults, 0, &mut taken);
    }
    taken.sort_unstable();
    taken.into()
}

fn take_below(place: &mut Value, defaults: &Rules, path: u64, taken: &mut Vec<u32>) {
    for (step, below) in &defaults.below {
        match (step, &mut *place) {
            (Step::Field(field), Value::Object(fields)) => {
                let name = field.trim_start_matches("f:");
                let Some(value) = fields.get(name) else { continue };
                let within = hash(&(path, name));
                // What is empty counts as absent anyway.
                let taken_out = |alone: &Alone| !value.is_object() && is_filled_in(name, alone, value, fields);
                if below.alone.as_ref().is_some_and(taken_out) {
                    // Of a place that has one default a value need not be told.
                    taken.push((within >> 32) as u32);
                    fields.remove(name);
                } else if let Some(next) = fields.get_mut(name) {
                    take_below(next, below, within, taken);
                }
            }
            (Step::Items(keys), Value::Array(items)) => {
                for item in items {
                    let key: Vec<String> = keys.iter().map(|key| key_of(item, key).to_string()).collect();
                    take_below(item, below, hash(&(path, key)), taken);
                }
            }
            _ => {}
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn is_filled_in(name: &str, alone: &Alone, value: &Value, beside: &Map<String, Value>) -> bool {
    match (alone.default, name) {
        (Some(_), _) => alone.is_default(value),
        (None, "targetPort") => beside.get("port") == Some(value),
        (None, "imagePullPolicy") => *value == pull_policy(beside.get("image").and_then(Value::as_str).unwrap_or("")),
        (None, _) => false,
    }
}

/// How an image is pulled by default.
fn pull_policy(image: &str) -> &'static str {
    let (path, digest) = image.split_once('@').map_or((image, None), |(path, digest)| (path, Some(digest)));
    let tag = path.rsplit('/').next().and_then(|name| name.split_once(':')).map(|(_, tag)| tag);
    let is_latest = tag.map_or(digest.is_none(), |tag| tag == "latest");
    if is_latest { "Always" } else { "IfNotPresent" }
}

/// Takes out of a FieldsV1 what is at its default in `live`: it may have been filled in, and is the same without an owner.
pub(super) fn disown_defaults(kind: &Kind, fields: &mut Value, live: &Value) {
    disown(kind, fields, live, is_filled_in);
}

/// Takes out of a FieldsV1 what the API server fills in if it is not sent, whatever its value is in `live`.
pub(super) fn disown_filled_in(kind: &Kind, fields: &mut Value, live: &Value) {
    disown(kind, fields, live, |_, _, value, _| !value.is_object());
}

type Goes = fn(&str, &Alone, &Value, &Map<String, Value>) -> bool;

fn disown(kind: &Kind, fields: &mut Value, live: &Value, goes: Goes) {
    if let Some(defaults) = defaults(kind) {
        disown_below(fields, live, defaults, goes);
    }
}

fn disown_below(fields: &mut Value, live: &Value, defaults: &Rules, goes: Goes) {
    let Some(owned) = fields.as_object_mut() else { return };
    for (step, below) in &defaults.below {
        match (step, live) {
            (Step::Field(field), Value::Object(values)) => {
                let name = field.trim_start_matches("f:");
                let (Some(under), Some(value)) = (owned.get_mut(field), values.get(name)) else { continue };
                let is_whole = under.as_object().is_none_or(Map::is_empty);
                // What was filled in empty is ours itself, and what others put into it is theirs.
                let is_empty_struct = |alone: &Alone| is_whole && alone.default == Some("{}");
                let gone =
                    below.alone.is_some_and(|alone| is_empty_struct(&alone) || goes(name, &alone, value, values));
                if !gone {
                    disown_below(under, value, below, goes);
                }
                // Empty, it would stand for the whole.
                if gone || !is_whole && under.as_object().is_some_and(Map::is_empty) {
                    owned.remove(field);
                }
            }
            (Step::Items(_), Value::Array(items)) => {
                let mut items = Items::of(items);
                for (key, under) in owned.iter_mut() {
                    if let Some(item) = items.named(key) {
                        disown_below(under, item, below, goes);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
