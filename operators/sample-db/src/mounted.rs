//! Pure, for tests of all kinds of pods: the volumes that each container mounts.

use serde_json::{Value, json};

/// For each container of a pod's spec, the volumes that it mounts, except those for the agent, sockets and temporary files; ` to
/// read` marks a read-only mount.
///
/// Also asserts that the pod has no token, since nothing that runs in it, such as code of a user, may use the API server, and
/// that each container requests resources.
pub(crate) fn mounted(spec: &Value) -> Vec<String> {
    assert_eq!(spec["automountServiceAccountToken"], false, "{spec}");
    assert!(spec["serviceAccountName"].is_null(), "{spec}");
    let volumes = list(&spec["volumes"]);
    assert!(volumes.iter().all(|volume| volume["projected"].is_null()), "{volumes:?}");
    let containers = list(&spec["initContainers"]).iter().chain(list(&spec["containers"]));
    containers.map(|container| format!("{}:{}", text(&container["name"]), volumes_of(container))).collect()
}

fn volumes_of(container: &Value) -> String {
    // Pods without requests are evicted first.
    assert_eq!(container["resources"]["requests"], json!({ "cpu": "50m", "memory": "128Mi" }), "{container}");
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true, "{container}");
    let own = |mount: &&Value| !["agent", "run", "tmp"].contains(&text(&mount["name"]));
    let volume = |mount: &Value| {
        let to_read = if mount["readOnly"] == true { " to read" } else { "" };
        format!(" {}{to_read}", text(&mount["name"]))
    };
    list(&container["volumeMounts"]).iter().filter(own).map(volume).collect::<Vec<_>>().join(",")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
