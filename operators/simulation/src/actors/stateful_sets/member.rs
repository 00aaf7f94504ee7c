//! The pods of a StatefulSet: their labels and storage (kubernetes: `stateful_set_utils.go`).

use serde_json::{Value, json};

use super::super::object::{controller_reference, items, name, namespace, set as set_field, text};
use super::claims;
use super::identity::{OWNER, POD_INDEX, POD_NAME, REVISION, pod_name};

/// A new pod of that template.
pub(super) fn pod(set: &Value, template: &Value, revision: &str, ordinal: i64) -> Value {
    let pod_name = pod_name(set, ordinal);
    let mut metadata = json!({
        "name": pod_name, "generateName": format!("{}-", name(set)), "namespace": namespace(set),
        "ownerReferences": [controller_reference(set, OWNER.0, OWNER.1)],
    });
    for field in ["labels", "annotations", "finalizers"] {
        let value = &template["metadata"][field];
        if !value.is_null() {
            set_field(&mut metadata, &[field], value.clone());
        }
    }
    let mut pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] });
    identify(&mut pod, ordinal);
    set_field(&mut pod, &["metadata", "labels", REVISION], json!(revision));
    set_field(&mut pod, &["spec", "hostname"], json!(pod_name));
    let service = &set["spec"]["serviceName"];
    if !text(service).is_empty() {
        set_field(&mut pod, &["spec", "subdomain"], service.clone());
    }
    mount(&mut pod, set, ordinal);
    pod
}

/// Whether a pod has the label and the volumes that it was created with.
pub(super) fn is_intact(pod: &Value, set: &Value, ordinal: i64) -> bool {
    let volumes = items(&pod["spec"]["volumes"]);
    let is_mounted = |(volume, claim): (String, String)| {
        volumes.iter().any(|one| one["name"] == *volume && one["persistentVolumeClaim"]["claimName"] == *claim)
    };
    pod["metadata"]["labels"][POD_NAME] == name(pod) && claims::names(set, ordinal).all(is_mounted)
}

/// The pod with that label and those volumes. The API server refuses other volumes.
pub(super) fn repaired(pod: &Value, set: &Value, ordinal: i64) -> Value {
    let mut pod = pod.clone();
    identify(&mut pod, ordinal);
    if !is_intact(&pod, set, ordinal) {
        mount(&mut pod, set, ordinal);
    }
    pod
}

fn identify(pod: &mut Value, ordinal: i64) {
    let name = json!(name(pod));
    set_field(pod, &["metadata", "labels", POD_NAME], name);
    set_field(pod, &["metadata", "labels", POD_INDEX], json!(ordinal.to_string()));
}

/// Mounts the PVCs of the set, instead of volumes of the same names.
fn mount(pod: &mut Value, set: &Value, ordinal: i64) {
    let own: Vec<(String, String)> = claims::names(set, ordinal).collect();
    if own.is_empty() {
        return;
    }
    let others = items(&pod["spec"]["volumes"]).iter();
    let others = others.filter(|volume| own.iter().all(|(name, _)| volume["name"] != **name)).cloned();
    let mounted =
        own.iter().map(|(name, claim)| json!({ "name": name, "persistentVolumeClaim": { "claimName": claim } }));
    let volumes: Vec<Value> = mounted.chain(others).collect();
    set_field(pod, &["spec", "volumes"], json!(volumes));
}
