//! The defaults of pods and pod templates.

use serde_json::{Value, json};

use super::{containers, volumes};
use crate::api_server::preparation::values::{Fields, default, items, object_at, text_of};

/// Adds the defaults of a pod, which has a few more than a template.
pub(super) fn pod(pod: &mut Value) {
    let Some(spec) = object_at(pod, &["spec"]) else { return };
    pod_spec(spec);
    default(spec, "enableServiceLinks", true);
    for list in ["containers", "initContainers"] {
        items(spec, list).for_each(containers::request_limits);
    }
}

/// Adds the defaults of the spec of a pod or of a template.
pub(super) fn pod_spec(spec: &mut Fields) {
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "restartPolicy", "Always");
    default(spec, "schedulerName", "default-scheduler");
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    account(spec);
    let uses_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            containers::container(container);
            if uses_host {
                items(container, "ports").for_each(containers::host_port);
            }
        }
    }
    items(spec, "volumes").for_each(volumes::volume);
}

/// The account has two names, of which one is deprecated.
fn account(spec: &mut Fields) {
    let mut name = text_of(spec, "serviceAccountName").to_owned();
    if name.is_empty() {
        name = text_of(spec, "serviceAccount").to_owned();
    }
    if !name.is_empty() {
        spec.insert("serviceAccountName".to_owned(), name.clone().into());
        spec.insert("serviceAccount".to_owned(), name.into());
    }
}
