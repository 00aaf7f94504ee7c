//! Pure: what a pod has mounted, told for tests of all kinds of pods.

use serde_json::{Value, json};

/// What each container of a pod's spec stands beside: those of its volumes that do not only hold the agent, sockets and what is
/// temporary, with a word on those that it can only read.
///
/// No pod has a token: what runs in it, be it of a user's, has no business with the API server. And each asks for some of its node.
pub(crate) fn mounted(spec: &Value) -> Vec<String> {
    assert_eq!(spec["automountServiceAccountToken"], false, "{spec}");
    assert!(spec["serviceAccountName"].is_null(), "{spec}");
    let volumes = list(&spec["volumes"]);
    assert!(volumes.iter().all(|volume| volume["projected"].is_null()), "{volumes:?}");
    let containers = list(&spec["initContainers"]).iter().chain(list(&spec["containers"]));
    containers.map(|container| format!("{}:{}", text(&container["name"]), beside(container))).collect()
}

fn beside(container: &Value) -> String {
    // What asks for nothing is evicted first.
    assert_eq!(container["resources"]["requests"], json!({ "cpu": "50m", "memory": "128Mi" }), "{container}");
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true, "{container}");
    let own = |mount: &&Value| !["agent", "run", "tmp"].contains(&text(&mount["name"]));
    let word = |mount: &Value| {
        let to_read = if mount["readOnly"] == true { " to read" } else { "" };
        format!(" {}{to_read}", text(&mount["name"]))
    };
    list(&container["volumeMounts"]).iter().filter(own).map(word).collect::<Vec<_>>().join(",")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
