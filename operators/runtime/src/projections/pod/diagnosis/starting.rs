//! Pure: a pod whose containers wait for its volumes. The kubelet says so in Events alone: in the pod's status a ConfigMap that
//! does not exist, an entry that is missing and a volume that takes its time all read `ContainerCreating`.

use jiff::Timestamp;

use super::volume::WireVolume;
use super::wire::WirePod;

/// What a pod waits for that has a node and no container yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starting {
    /// Since when it has its node.
    pub since: Timestamp,
    /// What its volumes are made of, without what may be missing: `ConfigMap settings`, for example.
    pub needs: Vec<String>,
}

/// What `pod` waits for, if it has a node, none of its containers has been created, and its volumes need other objects.
pub(crate) fn of(pod: &WirePod, deleting: bool) -> Option<Starting> {
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
    // Once it has a sandbox, its volumes are there. A kubelet that has said nothing yet may not even have looked at it.
    let no_sandbox = is("PodReadyToStartContainers", "False").is_some();
    if is_created || !no_sandbox {
        return None;
    }
    let since = is("PodScheduled", "True")?.since?;
    needs.sort();
    needs.dedup();
    Some(Starting { since, needs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn starting(volumes: &Value, containers: &Value, sandbox: &str) -> Option<Starting> {
        let conditions = json!([
            { "type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-21T10:00:02Z" },
            { "type": "PodReadyToStartContainers", "status": sandbox },
        ]);
        let status = json!({ "conditions": conditions, "containerStatuses": containers });
        of(&serde_json::from_value(json!({ "spec": { "volumes": volumes }, "status": status })).unwrap(), false)
    }

    #[test]
    fn what_a_pod_waits_for_is_named_and_what_it_can_do_without_is_not() {
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
        let waits = starting(&volumes, &creating, "False").unwrap();
        assert_eq!(waits.since.to_string(), "2026-11-21T10:00:02Z");
        assert_eq!(waits.needs, ["ConfigMap settings", "PersistentVolumeClaim data", "Secret keys", "Secret tls"]);
        assert_eq!(starting(&volumes, &json!([]), "False"), Some(waits), "the kubelet has yet to say anything");
    }

    #[test]
    fn a_pod_that_has_its_volumes_or_none_waits_for_something_else() {
        let creating = json!([{ "name": "app", "state": { "waiting": { "reason": "ContainerCreating" } } }]);
        let volumes = json!([{ "name": "a", "configMap": { "name": "settings" } }]);
        assert_eq!(starting(&json!([{ "name": "f", "emptyDir": {} }]), &creating, "False"), None);
        assert_eq!(starting(&volumes, &creating, "True"), None, "the image is being pulled");
        assert_eq!(starting(&volumes, &json!([]), "Unknown"), None, "no kubelet has looked at it");
        let runs = json!([{ "name": "app", "state": { "running": {} } }]);
        assert_eq!(starting(&volumes, &runs, "False"), None);
    }
}
