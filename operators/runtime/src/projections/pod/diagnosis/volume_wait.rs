//! Pure: a pod whose containers wait for its volumes. The kubelet reports the cause only in Events: in the status of the pod, a
//! missing ConfigMap, a missing entry and a slow volume all read `ContainerCreating`.

use jiff::Timestamp;

use super::volume::WireVolume;
use super::wire::WirePod;

/// The volumes that a scheduled pod without containers waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeWait {
    /// When it was scheduled.
    pub since: Timestamp,
    /// The objects that its volumes need, such as `ConfigMap settings`, without optional ones.
    pub needs: Vec<String>,
}

/// What `pod` waits for, if it is scheduled, none of its containers has been created, and its volumes need other objects.
pub(crate) fn of(pod: &WirePod, deleting: bool) -> Option<VolumeWait> {
    let mut needs: Vec<String> = pod.spec.volumes.iter().flat_map(WireVolume::needs).collect();
    if deleting || needs.is_empty() {
        return None;
    }
    let containers = || pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    let is_created = containers().any(|container| {
        let waiting = container.state.waiting.as_ref().map(|waiting| waiting.reason.as_str());
        !matches!(waiting, Some("ContainerCreating" | "PodInitializing"))
    });
    let is = |type_: &str, status: &str| {
        pod.status.conditions.iter().find(|condition| condition.type_ == type_ && condition.status == status)
    };
    // Once it has a sandbox, its volumes are mounted. Without this condition, the kubelet may not have processed the pod.
    let no_sandbox = is("PodReadyToStartContainers", "False").is_some();
    if is_created || !no_sandbox {
        return None;
    }
    let since = is("PodScheduled", "True")?.since?;
    needs.sort();
    needs.dedup();
    Some(VolumeWait { since, needs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn volume_wait(volumes: &Value, containers: &Value, sandbox: &str) -> Option<VolumeWait> {
        let conditions = json!([
            { "type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-21T10:00:02Z" },
            { "type": "PodReadyToStartContainers", "status": sandbox },
        ]);
        let status = json!({ "conditions": conditions, "containerStatuses": containers });
        of(&serde_json::from_value(json!({ "spec": { "volumes": volumes }, "status": status })).unwrap(), false)
    }

    #[test]
    fn required_objects_are_named_and_optional_ones_are_not() {
        let volumes = json!([
            { "name": "a", "configMap": { "name": "settings", "defaultMode": 420 } },
            { "name": "b", "secret": { "secretName": "keys" } },
            { "name": "c", "secret": { "secretName": "maybe", "optional": true } },
            { "name": "d", "projected": { "sources": [
                { "configMap": { "name": "settings" } }, { "secret": { "name": "tls" } },
                { "serviceAccountToken": { "path": "token" } } ] } },
            { "name": "e", "persistentVolumeClaim": { "claimName": "data" } },
            { "name": "f", "emptyDir": {} },
        ]);
        let creating = json!([{ "name": "app", "state": { "waiting": { "reason": "ContainerCreating" } } }]);
        let waits = volume_wait(&volumes, &creating, "False").unwrap();
        assert_eq!(waits.since.to_string(), "2026-11-21T10:00:02Z");
        assert_eq!(waits.needs, ["ConfigMap settings", "PersistentVolumeClaim data", "Secret keys", "Secret tls"]);
        assert_eq!(
            volume_wait(&volumes, &json!([]), "False"),
            Some(waits),
            "the kubelet has not reported anything yet"
        );
    }

    #[test]
    fn a_pod_with_mounted_volumes_or_without_any_does_not_wait_for_them() {
        let creating = json!([{ "name": "app", "state": { "waiting": { "reason": "ContainerCreating" } } }]);
        let volumes = json!([{ "name": "a", "configMap": { "name": "settings" } }]);
        assert_eq!(volume_wait(&json!([{ "name": "f", "emptyDir": {} }]), &creating, "False"), None);
        assert_eq!(volume_wait(&volumes, &creating, "True"), None, "the image is being pulled");
        assert_eq!(volume_wait(&volumes, &json!([]), "Unknown"), None, "no kubelet has processed it");
        let runs = json!([{ "name": "app", "state": { "running": {} } }]);
        assert_eq!(volume_wait(&volumes, &runs, "False"), None);
    }
}
