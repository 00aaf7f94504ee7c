//! Pure: the defaults that the API server fills in, by kind.
//!
//! An apply owns what it sent. A creation or a patch owns all of its result, including defaults, and nothing distinguishes a
//! field that was sent from one that was filled in with the same value. So fields at their default are compared separately in a
//! child that a creation of ours owns ([`CreatedFingerprint`]): we must own each one that we send, and may own any other. None of
//! the others may be owned by apply: it was sent once, and the next apply gives it up.
//!
//! A default that is missing here costs a created child one apply, after which only the apply owns it. Within the process that
//! created it, it costs nothing, since normalizations of our writes are learned.
//! Source: `pkg/apis/{apps,core}/v1/defaults.go` of Kubernetes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::fingerprint::{Fingerprint, part};
use super::overlay::key_of;
use super::rules::{Exclusive, FieldRules, RuleLine, RuleStep};
use super::selector::ItemIndex;
use crate::plan::meta::ResourceKind;

const SERVICE: &[RuleLine] = &[
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

const DEPLOYMENT: &[RuleLine] = &[
    ("spec/replicas", Some("1")),
    ("spec/progressDeadlineSeconds", Some("600")),
    ("spec/revisionHistoryLimit", Some("10")),
    ("spec/strategy/type", Some("RollingUpdate")),
    ("spec/strategy/rollingUpdate/maxSurge", Some("25%")),
    ("spec/strategy/rollingUpdate/maxUnavailable", Some("25%")),
];

const POD: &[RuleLine] = &[
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

const CONTAINER: &[RuleLine] = &[
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

const PROBE: &[RuleLine] = &[
    ("grpc/service", Some("")),
    ("httpGet/path", Some("/")),
    ("httpGet/scheme", Some("HTTP")),
    ("timeoutSeconds", Some("1")),
    ("periodSeconds", Some("10")),
    ("successThreshold", Some("1")),
    ("failureThreshold", Some("3")),
];

/// The defaults of that kind; `None` if they are not known here.
fn defaults(kind: &ResourceKind) -> Option<&'static FieldRules> {
    // These two kinds have no defaults.
    static NONE: FieldRules = FieldRules { below: Vec::new(), exclusive: None };
    static SERVICES: LazyLock<FieldRules> = LazyLock::new(|| FieldRules::default().with("", SERVICE));
    static DEPLOYMENTS: LazyLock<FieldRules> = LazyLock::new(|| {
        let rules = FieldRules::default().with("", DEPLOYMENT).with("spec/template/spec/", POD);
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

/// Whether the defaults of that kind are known, so that the result of a creation can be compared.
pub(crate) fn are_known(kind: &ResourceKind) -> bool {
    defaults(kind).is_some()
}

/// The fingerprint of an object that a creation owns: a hash of each field at its default, and one hash of all other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedFingerprint {
    /// The fields that are not at their default.
    pub(crate) others: Fingerprint,
    at_default: Box<[u32]>,
    /// Those of them that are owned by apply, so that they were sent.
    applied: Box<[u32]>,
}

impl CreatedFingerprint {
    /// The fingerprint of an object as we would send it.
    #[must_use]
    pub fn of_rendered(kind: &ResourceKind, body: &Value) -> Self {
        let mut body = body.clone();
        let at_default = take(kind, &mut body);
        Self { others: Fingerprint::of_rendered(&body), at_default, applied: Box::default() }
    }

    /// The fingerprint of the owned part of a live object; `applied` is what is owned by apply.
    pub(crate) fn of_owned(kind: &ResourceKind, live: &Value, ours: &Value, applied: Option<&Value>) -> Self {
        let (others, at_default) = owned(kind, live, ours);
        let mut applied = applied.map(|applied| owned(kind, live, applied).1.into_vec()).unwrap_or_default();
        // Without fields that only seem to be at their default, since the field that decides this is owned in another way.
        applied.retain(|field| has(&at_default, *field));
        Self { others, at_default, applied: applied.into() }
    }

    /// Whether this owned part of a live object is the result of a creation of `sent`, and no apply has sent more.
    #[must_use]
    pub fn is_created_from(&self, sent: &Self) -> bool {
        self.others == sent.others
            && sent.at_default.iter().all(|field| has(&self.at_default, *field))
            && self.applied.iter().all(|field| has(&sent.at_default, *field))
    }
}

fn has(fields: &[u32], field: u32) -> bool {
    fields.binary_search(&field).is_ok()
}

/// Splits the part of a live object that a FieldsV1 names: the fields that are not at their default, and those that are.
fn owned(kind: &ResourceKind, live: &Value, fields: &Value) -> (Fingerprint, Box<[u32]>) {
    let mut fields = fields.clone();
    disown(kind, &mut fields, live, |_, _, _, _| false);
    if fields.as_object().is_none_or(Map::is_empty) {
        return (Fingerprint::of_nothing(), Box::default());
    }
    let mut part = part(live, &fields);
    let at_default = take(kind, &mut part);
    (Fingerprint::of(&part), at_default)
}

/// The two fingerprints by which an object that was sent may be observed.
#[derive(Clone, Copy, Debug)]
pub struct Rendered {
    /// Of all fields: what is owned after an apply.
    pub all: Fingerprint,
    /// Without fields at their default: what is compared after a creation.
    pub others: Fingerprint,
}

impl Rendered {
    /// The fingerprints of an object as we would send it.
    #[must_use]
    pub fn of(kind: &ResourceKind, body: &Value) -> Self {
        Self { all: Fingerprint::of_rendered(body), others: CreatedFingerprint::of_rendered(kind, body).others }
    }

    /// Whether the live object has one of them.
    #[must_use]
    pub fn is(&self, live: Fingerprint) -> bool {
        live == self.all || live == self.others
    }
}

/// Removes the fields at their default from an object, and returns their hashes.
fn take(kind: &ResourceKind, object: &mut Value) -> Box<[u32]> {
    let mut taken = Vec::new();
    if let Some(defaults) = defaults(kind) {
        take_below(object, defaults, 0, &mut taken);
    }
    taken.sort_unstable();
    taken.into()
}

fn take_below(place: &mut Value, defaults: &FieldRules, path: u64, taken: &mut Vec<u32>) {
    for (step, below) in &defaults.below {
        match (step, &mut *place) {
            (RuleStep::Field(field), Value::Object(fields)) => {
                let name = field.trim_start_matches("f:");
                let Some(value) = fields.get(name) else { continue };
                let within = hash(&(path, name));
                // Empty fields count as absent anyway.
                let taken_out = |rule: &Exclusive| !value.is_object() && is_filled_in(name, rule, value, fields);
                if below.exclusive.as_ref().is_some_and(taken_out) {
                    // A place has only one default, so its value need not be hashed.
                    taken.push((within >> 32) as u32);
                    fields.remove(name);
                } else if let Some(next) = fields.get_mut(name) {
                    take_below(next, below, within, taken);
                }
            }
            (RuleStep::Items(keys), Value::Array(items)) => {
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

fn is_filled_in(name: &str, exclusive: &Exclusive, value: &Value, siblings: &Map<String, Value>) -> bool {
    match (exclusive.default, name) {
        (Some(_), _) => exclusive.is_default(value),
        (None, "targetPort") => siblings.get("port") == Some(value),
        (None, "imagePullPolicy") => *value == pull_policy(siblings.get("image").and_then(Value::as_str).unwrap_or("")),
        (None, _) => false,
    }
}

/// The default pull policy of an image.
fn pull_policy(image: &str) -> &'static str {
    let (path, digest) = image.split_once('@').map_or((image, None), |(path, digest)| (path, Some(digest)));
    let tag = path.rsplit('/').next().and_then(|name| name.split_once(':')).map(|(_, tag)| tag);
    let is_latest = tag.map_or(digest.is_none(), |tag| tag == "latest");
    if is_latest { "Always" } else { "IfNotPresent" }
}

/// Removes from a FieldsV1 what is at its default in `live`: it may have been filled in, and stays the same without an owner.
pub(super) fn disown_defaults(kind: &ResourceKind, fields: &mut Value, live: &Value) {
    disown(kind, fields, live, is_filled_in);
}

/// Removes from a FieldsV1 what the API server fills in if it is not sent, whatever its value is in `live`.
pub(super) fn disown_filled_in(kind: &ResourceKind, fields: &mut Value, live: &Value) {
    disown(kind, fields, live, |_, _, value, _| !value.is_object());
}

type IsRemoved = fn(&str, &Exclusive, &Value, &Map<String, Value>) -> bool;

fn disown(kind: &ResourceKind, fields: &mut Value, live: &Value, is_removed: IsRemoved) {
    if let Some(defaults) = defaults(kind) {
        disown_below(fields, live, defaults, is_removed);
    }
}

fn disown_below(fields: &mut Value, live: &Value, defaults: &FieldRules, is_removed: IsRemoved) {
    let Some(owned) = fields.as_object_mut() else { return };
    for (step, below) in &defaults.below {
        match (step, live) {
            (RuleStep::Field(field), Value::Object(values)) => {
                let name = field.trim_start_matches("f:");
                let (Some(under), Some(value)) = (owned.get_mut(field), values.get(name)) else { continue };
                let is_whole = under.as_object().is_none_or(Map::is_empty);
                // A struct that was filled in empty is owned by us, and what others put into it is owned by them.
                let is_empty_struct = |exclusive: &Exclusive| is_whole && exclusive.default == Some("{}");
                let removed = below.exclusive.is_some_and(|exclusive| {
                    is_empty_struct(&exclusive) || is_removed(name, &exclusive, value, values)
                });
                if !removed {
                    disown_below(under, value, below, is_removed);
                }
                // An empty entry would stand for the complete field.
                if removed || !is_whole && under.as_object().is_some_and(Map::is_empty) {
                    owned.remove(field);
                }
            }
            (RuleStep::Items(_), Value::Array(items)) => {
                let mut items = ItemIndex::of(items);
                for (key, under) in owned.iter_mut() {
                    if let Some(item) = items.named(key) {
                        disown_below(under, item, below, is_removed);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
