//! Pods that are bound to a node, and what runs in them.

use e2e::namespace::Namespace;
use e2e::objects::serves;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

/// It has bash and nginx, and `scripts/test.d/nodes.sh` loads it. Nothing is pulled: a node that lacks it is found out.
const IMAGE: &str = "docker.io/library/nginx:1.26";

/// A container that runs a script, with the volume of the PVC at /data if one is named.
pub(crate) fn container(script: &str, volume: Option<&str>) -> Value {
    let mounts: Vec<_> = volume.iter().map(|name| json!({ "name": name, "mountPath": "/data" })).collect();
    json!({
        "name": "main", "image": IMAGE, "imagePullPolicy": "Never", "command": ["bash", "-c", script],
        "volumeMounts": mounts,
        "env": [{ "name": "NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } }],
    })
}

/// A script that serves the name of its node over HTTP.
pub(crate) const SERVE: &str = "echo $NODE >/usr/share/nginx/html/index.html; exec nginx -g 'daemon off;'";
/// A script that does nothing.
pub(crate) const SLEEP: &str = "exec sleep infinity";

/// Only on this node, other than by the name in the pod: the scheduler sees to it, so that a volume is bound.
pub(crate) fn on(nodes: &[&str]) -> Value {
    let term = json!({ "key": "kubernetes.io/hostname", "operator": "In", "values": nodes });
    json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{ "matchExpressions": [term] }],
    } } })
}

/// Rather on this node than on others.
pub(crate) fn rather_on(node: &str) -> Value {
    let term = json!({ "key": "kubernetes.io/hostname", "operator": "In", "values": [node] });
    json!([{ "weight": 100, "preference": { "matchExpressions": [term] } }])
}

/// Puts up with a silent node for so many seconds, instead of the 300 that a pod gets by default.
pub(crate) fn for_seconds(seconds: u32) -> Value {
    let toleration = |key: &str| {
        json!({ "key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": seconds })
    };
    json!([toleration("unreachable"), toleration("not-ready")])
}

/// Creates a pod on a node, and waits until it is ready.
pub(crate) async fn pod_on(ns: &Namespace, name: &str, node: &str, container: &Value) -> Pod {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "affinity": on(&[node]), "terminationGracePeriodSeconds": 1, "containers": [container] },
    });
    ns.apply(&pod.to_string()).await;
    until_serves(ns, name).await
}

/// A StatefulSet of one pod with a volume, which is rather on that node.
pub(crate) async fn set_rather_on(ns: &Namespace, name: &str, node: &str, tolerated_seconds: u32) -> Pod {
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": name },
        "spec": {
            "serviceName": name, "replicas": 1, "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": {
                    "affinity": { "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": rather_on(node),
                    } },
                    "tolerations": for_seconds(tolerated_seconds), "terminationGracePeriodSeconds": 1,
                    "containers": [container(SERVE, Some("data"))],
                },
            },
            "volumeClaimTemplates": [{
                "metadata": { "name": "data" },
                "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "10Mi" } } },
            }],
        },
    });
    ns.apply(&set.to_string()).await;
    let pod = until_serves(ns, &format!("{name}-0")).await;
    assert_eq!(node_of(&pod), node, "nothing keeps the pod from the node that it prefers");
    pod
}

/// Waits until a pod is ready.
pub(crate) async fn until_serves(ns: &Namespace, name: &str) -> Pod {
    ns.until::<Pod, Pod>(name, "a pod that serves", |pod| pod.filter(|pod| serves(pod)).cloned()).await
}

/// The node that a pod is on; empty if it is on none.
pub(crate) fn node_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
}

/// The address of a pod.
pub(crate) fn address_of(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.pod_ip.as_deref()).unwrap_or_default()
}

/// What a script prints in a pod.
pub(crate) async fn in_pod(ns: &Namespace, pod: &str, script: &str) -> Result<String, String> {
    let answer = ns.kubectl(&["exec", pod, "--", "timeout", "5", "bash", "-c", script]).await;
    if answer.success { Ok(answer.stdout.trim().to_owned()) } else { Err(answer.stderr.trim().to_owned()) }
}

/// What an HTTP server answers to a pod.
pub(crate) async fn asks(ns: &Namespace, pod: &str, host: &str, port: u16) -> Result<String, String> {
    let script =
        format!("exec 3<>/dev/tcp/{host}/{port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && sed '1,/^\\r$/d' <&3");
    in_pod(ns, pod, &script).await
}
