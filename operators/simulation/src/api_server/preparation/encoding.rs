//! What decoding and encoding by Go types changes: fields at the zero value of their type are omitted, and quantities get their
//! canonical form.
//!
//! Custom kinds have no Go types, except for their metadata. Source: the struct tags in `k8s.io/api`.

use serde_json::Value;

use super::field_error::undecodable;
use super::quantity::canonical;
use super::values::Fields;
use crate::api_server::kinds::Kind;
use crate::api_server::request::ApiError;

/// Maps from text to text: their contents stay, they are omitted if they are empty.
const TEXT_MAPS: [&str; 9] = [
    "labels",
    "annotations",
    "matchLabels",
    "nodeSelector",
    "data",
    "binaryData",
    "stringData",
    "volumeAttributes",
    "parameters",
];

/// Maps from text to quantity.
const QUANTITY_MAPS: [&str; 6] = ["limits", "requests", "capacity", "hard", "allocatedResources", "allocatable"];

/// Single quantities.
const QUANTITIES: [&str; 3] = ["divisor", "sizeLimit", "averageValue"];

/// Lists that are stored even if they are empty.
const KEPT_LISTS: [&str; 2] = ["containers", "currentMetrics"];

/// Texts that are stored even if they are empty.
const KEPT_TEXTS: [&str; 13] = [
    "storageClassName",
    "volumeAttributesClassName",
    "service",
    "holderIdentity",
    "preferredHolder",
    "strategy",
    "ingressClassName",
    "runtimeClassName",
    "preemptionPolicy",
    "apiGroup",
    "appProtocol",
    "imageID",
    "reportingComponent",
];

const OMITTED_IF_FALSE: [&str; 9] = [
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "paused",
    "publishNotReadyAddresses",
    "readOnly",
    "stdin",
    "stdinOnce",
    "tty",
];

const OMITTED_IF_ZERO: [&str; 20] = [
    "active",
    "currentReplicas",
    "failed",
    "failureThreshold",
    "fullyLabeledReplicas",
    "generation",
    "hostPort",
    "initialDelaySeconds",
    "minReadySeconds",
    "nodePort",
    "healthCheckNodePort",
    "observedGeneration",
    "periodSeconds",
    "readyReplicas",
    "signal",
    "succeeded",
    "successThreshold",
    "timeoutSeconds",
    "unavailableReplicas",
    "updatedReplicas",
];

/// Whether the API server has a Go type for that kind.
pub(super) fn is_built_in(kind: &Kind) -> bool {
    let ours = !kind.group.contains('.') || kind.group.ends_with(".k8s.io");
    kind.schema.is_none() && ours && kind.group != "gateway.networking.k8s.io"
}

/// Brings an object into the form in which it is stored, but for its single quantities: those are compared with the live ones as
/// they were written, and so change their owner.
pub(super) fn normalize(kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
    tidy(kind, object, false)
}

/// The same, with the single quantities.
pub(super) fn normalize_all(kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
    if is_built_in(kind) { tidy(kind, object, true) } else { Ok(()) }
}

fn tidy(kind: &Kind, object: &mut Value, is_final: bool) -> Result<(), ApiError> {
    let Some(fields) = object.as_object_mut() else { return Err(undecodable(kind, "the body is no object")) };
    let place = Place { plural: &kind.plural, parent: "", in_status: false, is_final };
    let done = if is_built_in(kind) {
        place.tidy(fields)
    } else {
        let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
        metadata.map_or(Ok(()), |metadata| Place { parent: "metadata", ..place }.tidy(metadata))
    };
    done.map_err(|why| undecodable(kind, &why))
}

/// Where some fields are.
#[derive(Clone, Copy)]
struct Place<'a> {
    plural: &'a str,
    parent: &'a str,
    in_status: bool,
    /// Single quantities get their form, too.
    is_final: bool,
}

impl Place<'_> {
    fn tidy(self, fields: &mut Fields) -> Result<(), String> {
        for (name, value) in fields.iter_mut() {
            let in_status = self.in_status || self.parent.is_empty() && name == "status";
            let below = Place { parent: name, in_status, ..self };
            let is_quantity = QUANTITIES.contains(&name.as_str()) || self.parent == "target" && name == "value";
            match value {
                _ if is_quantity && self.is_final => write_canonical(value)?,
                _ if is_quantity => write_canonical(&mut value.clone())?,
                Value::Object(within) if self.is_text_map(name) => within.retain(|_, text| !text.is_null()),
                Value::Object(within) if QUANTITY_MAPS.contains(&name.as_str()) => {
                    within.retain(|_, quantity| !quantity.is_null());
                    within.values_mut().try_for_each(write_canonical)?;
                }
                Value::Object(within) if name != "fieldsV1" => below.tidy(within)?,
                Value::Array(items) => {
                    items.iter_mut().filter_map(Value::as_object_mut).try_for_each(|item| below.tidy(item))?;
                }
                _ => {}
            }
        }
        fields.retain(|name, value| !self.is_omitted(name, value));
        Ok(())
    }

    fn is_text_map(self, name: &str) -> bool {
        TEXT_MAPS.contains(&name) || self.plural == "services" && self.parent == "spec" && name == "selector"
    }

    fn is_omitted(self, name: &str, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(set) => !set && OMITTED_IF_FALSE.contains(&name),
            Value::Number(number) => number.as_i64() == Some(0) && self.is_omitted_if_zero(name),
            Value::String(text) => {
                text.is_empty()
                    && !KEPT_TEXTS.contains(&name)
                    && self.parent != "hostPath"
                    && !(name == "message" && self.is_condition())
            }
            Value::Array(items) => items.is_empty() && !KEPT_LISTS.contains(&name),
            Value::Object(fields) => fields.is_empty() && (self.is_text_map(name) || QUANTITY_MAPS.contains(&name)),
        }
    }

    /// A condition of the type of all kinds. Older kinds have types of their own.
    fn is_condition(self) -> bool {
        self.parent == "conditions" && ["poddisruptionbudgets", "services"].contains(&self.plural)
    }

    fn is_omitted_if_zero(self, name: &str) -> bool {
        match name {
            "replicas" => self.in_status && self.plural == "deployments",
            "availableReplicas" => self.plural != "statefulsets",
            _ => OMITTED_IF_ZERO.contains(&name),
        }
    }
}

/// Replaces a quantity by its canonical form. The error is that of the real API server.
fn write_canonical(quantity: &mut Value) -> Result<(), String> {
    let written = match &*quantity {
        Value::Null => return Ok(()),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let form = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$";
    let stored = canonical(written.trim());
    *quantity = stored.ok_or_else(|| format!("quantities must match the regular expression '{form}'"))?.into();
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tidied(plural: &str, mut object: Value) -> Value {
        let place = Place { plural, parent: "", in_status: false, is_final: true };
        place.tidy(object.as_object_mut().unwrap()).unwrap();
        object
    }

    #[test]
    fn zero_values_are_omitted_unless_absence_means_something_else() {
        let written = json!({
            "metadata": { "labels": {}, "annotations": { "empty": "" }, "finalizers": [], "creationTimestamp": null },
            "spec": {
                "paused": false, "replicas": 0, "minReadySeconds": 0, "selector": {},
                "template": { "spec": {
                    "automountServiceAccountToken": false, "hostNetwork": false, "volumes": [
                        { "name": "a", "emptyDir": {} }, { "name": "b", "hostPath": { "path": "/", "type": "" } },
                    ],
                    "containers": [{ "name": "app", "args": [], "env": [{ "name": "A", "value": "" }], "resources": {} }],
                } },
            },
            "status": { "replicas": 0, "conditions": [] },
        });
        let stored = json!({
            "metadata": { "annotations": { "empty": "" } },
            "spec": {
                "replicas": 0, "selector": {},
                "template": { "spec": {
                    "automountServiceAccountToken": false, "volumes": [
                        { "name": "a", "emptyDir": {} }, { "name": "b", "hostPath": { "path": "/", "type": "" } },
                    ],
                    "containers": [{ "name": "app", "env": [{ "name": "A" }], "resources": {} }],
                } },
            },
            "status": {},
        });
        assert_eq!(tidied("deployments", written), stored);
        let kept = json!({ "status": { "replicas": 0, "availableReplicas": 0 }, "spec": { "holderIdentity": "" } });
        assert_eq!(tidied("statefulsets", kept.clone()), kept);
        assert_eq!(tidied("services", json!({ "spec": { "selector": {} } })), json!({ "spec": {} }));
        let condition = json!({ "status": { "conditions": [{ "type": "Ready", "message": "" }] } });
        assert_eq!(tidied("services", condition.clone()), condition);
        assert_ne!(tidied("deployments", condition.clone()), condition);
    }

    #[test]
    fn quantities_get_their_canonical_form_where_a_field_is_one() {
        let written = json!({
            "resources": { "limits": { "cpu": 1, "memory": "0.5Gi" } },
            "target": { "value": "1000m" }, "env": [{ "name": "A", "value": "1000m" }],
        });
        let stored = json!({
            "resources": { "limits": { "cpu": "1", "memory": "512Mi" } },
            "target": { "value": "1" }, "env": [{ "name": "A", "value": "1000m" }],
        });
        assert_eq!(tidied("pods", written), stored);
        let place = Place { plural: "pods", parent: "", in_status: false, is_final: true };
        let mut wrong = json!({ "limits": { "cpu": "much" } });
        assert!(place.tidy(wrong.as_object_mut().unwrap()).is_err());
    }
}
