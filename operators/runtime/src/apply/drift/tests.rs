//! Drift, and differences that are none.

use serde_json::{Value, json};

use super::selector::Selector;
use super::*;

fn rendered() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "a", "namespace": "n", "labels": { "app": "a" } },
        "spec": { "replicas": 3, "template": { "spec": { "containers": [
            { "name": "app", "image": "nginx:1.25", "resources": { "limits": { "cpu": "1000m" } }, "env": [] }
        ] } } }
    })
}

fn owned() -> Value {
    json!({
        "f:metadata": { "f:labels": { "f:app": {} } },
        "f:spec": { "f:replicas": {}, "f:template": { "f:spec": { "f:containers": {
            "k:{\"name\":\"app\"}": { ".": {}, "f:name": {}, "f:image": {}, "f:resources": { "f:limits": { "f:cpu": {} } } }
        } } } }
    })
}

fn live() -> Value {
    json!({
        "metadata": { "name": "a", "labels": { "app": "a", "theirs": "x" }, "uid": "1", "resourceVersion": "5" },
        "spec": { "replicas": 3, "revisionHistoryLimit": 10, "template": { "spec": { "containers": [
            { "name": "sidecar", "image": "theirs" },
            { "name": "app", "image": "nginx:1.25", "imagePullPolicy": "Always", "resources": { "limits": { "cpu": "1" } } }
        ] } } },
        "status": { "replicas": 3 }
    })
}

#[test]
fn additions_of_others_are_no_drift() {
    assert_eq!(Fingerprint::of_owned(&live(), &owned()), Fingerprint::of_rendered(&rendered()));
}

#[test]
fn a_changed_value_a_lost_field_and_a_dropped_field_are_drift() {
    let ours = Fingerprint::of_rendered(&rendered());
    let mut edited = live();
    edited["spec"]["replicas"] = json!(4);
    assert_ne!(Fingerprint::of_owned(&edited, &owned()), ours);
    let mut taken = owned();
    taken["f:spec"].as_object_mut().unwrap().remove("f:replicas");
    assert_ne!(Fingerprint::of_owned(&live(), &taken), ours);
    let mut fewer = rendered();
    fewer["spec"].as_object_mut().unwrap().remove("replicas");
    assert_ne!(Fingerprint::of_owned(&live(), &owned()), Fingerprint::of_rendered(&fewer));
}

#[test]
fn paused_false_counts_as_not_sent() {
    let deployment = |paused| Fingerprint::of_rendered(&json!({ "spec": { "replicas": 1, "paused": paused } }));
    assert_eq!(deployment(json!(false)), deployment(json!(null)));
    assert_ne!(deployment(json!(true)), deployment(json!(null)));
    let owned = json!({ "f:spec": { "f:replicas": {}, "f:paused": {} } });
    let live = json!({ "spec": { "replicas": 1, "strategy": {} } });
    assert_eq!(Fingerprint::of_owned(&live, &owned), deployment(json!(false)), "one write is enough");
}

/// Field ownership after an update by another manager, as the API server records it.
#[test]
fn an_addition_shows_only_in_an_atomic_field() {
    let port = json!({ "name": "app", "port": 80, "protocol": "TCP", "targetPort": 80 });
    let item = "k:{\"port\":80,\"protocol\":\"TCP\"}";
    let whole = json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} });
    let rendered = Fingerprint::of_rendered(&json!({ "spec": { "selector": { "app": "web" }, "ports": [port] } }));
    let owned = json!({ "f:spec": { "f:selector": {}, "f:ports": { item: whole } } });

    // A selector is atomic: a manager that adds a key owns all of it.
    let selector = json!({ "spec": { "selector": { "app": "web", "x": "y" }, "ports": [port] } });
    let without_selector = json!({ "f:spec": { "f:ports": { item: whole } } });
    assert_ne!(Fingerprint::of_owned(&selector, &without_selector), rendered);
    // The same holds for the number of a port, which is part of its key.
    let other = json!({ "name": "app", "port": 81, "protocol": "TCP", "targetPort": 80 });
    let renumbered = json!({ "spec": { "selector": { "app": "web" }, "ports": [other] } });
    assert_ne!(Fingerprint::of_owned(&renumbered, &json!({ "f:spec": { "f:selector": {} } })), rendered);

    let node_port = json!({ "spec": { "selector": { "app": "web" }, "ports": [port], "type": "NodePort" } });
    assert_eq!(Fingerprint::of_owned(&node_port, &owned), rendered);
    let another = json!({ "spec": { "selector": { "app": "web" }, "ports": [port, other] } });
    assert_eq!(Fingerprint::of_owned(&another, &owned), rendered);
}

/// Otherwise, an empty entry that is edited would count as not sent.
#[test]
fn an_empty_entry_of_a_map_counts() {
    let sent = Fingerprint::of_rendered(&json!({ "metadata": { "labels": { "a": "" } }, "data": { "b": "" } }));
    let live = json!({ "metadata": { "labels": { "a": "" } }, "data": { "b": "by hand" } });
    let labels = json!({ "f:metadata": { "f:labels": { "f:a": {} } } });
    assert_ne!(Fingerprint::of_owned(&live, &labels), sent);
    let live = json!({ "metadata": { "labels": { "a": "" } }, "data": { "b": "" } });
    let all = json!({ "f:metadata": { "f:labels": { "f:a": {} } }, "f:data": { ".": {}, "f:b": {} } });
    assert_eq!(Fingerprint::of_owned(&live, &all), sent);
}

/// The label of a node is often empty, and an empty selector selects everything while none selects nothing.
#[test]
fn empty_values_with_a_meaning_count() {
    let of = |pod: &Value| Fingerprint::of_rendered(&json!({ "spec": pod }));
    let plain = of(&json!({}));
    for said in [
        json!({ "nodeSelector": { "node-role.kubernetes.io/worker": "" } }),
        json!({ "terms": [{ "namespaceSelector": {} }] }),
        json!({ "terms": [{ "labelSelector": {} }] }),
        json!({ "csi": { "volumeAttributes": { "a": "" } } }),
        json!({ "flexVolume": { "options": { "a": "" } } }),
        json!({ "volumeClaimTemplate": { "spec": { "storageClassName": "" } } }),
    ] {
        assert_ne!(of(&said), plain, "{said}");
        let owned = json!({ "f:spec": {} });
        assert_eq!(Fingerprint::of_owned(&json!({ "spec": said }), &owned), of(&said));
    }
    for nothing in
        [json!({ "labelSelector": null }), json!({ "nodeSelector": null }), json!({ "storageClassName": null })]
    {
        assert_eq!(of(&nothing), plain, "{nothing}");
    }
    assert_ne!(of(&json!({ "terms": [{ "namespaceSelector": {} }] })), of(&json!({ "terms": [{}] })));
}

#[test]
fn two_spellings_of_a_size_limit_are_one() {
    let volume =
        |size| Fingerprint::of_rendered(&json!({ "spec": { "volumes": [{ "emptyDir": { "sizeLimit": size } }] } }));
    assert_eq!(volume("1024Mi"), volume("1Gi"));
    assert_ne!(volume("1G"), volume("1Gi"));
}

#[test]
fn order_counts_in_lists_and_not_in_maps() {
    let list = |a: &str, b: &str| Fingerprint::of_rendered(&json!({ "spec": { "args": [a, b] } }));
    assert_ne!(list("x", "y"), list("y", "x"));
    assert_eq!(
        Fingerprint::of_rendered(&json!({ "spec": { "a": 1, "b": 2 } })),
        Fingerprint::of_rendered(&json!({ "spec": { "b": 2, "a": 1 } }))
    );
}

#[test]
fn atomic_values_and_sets_are_compared_as_a_whole() {
    let live = json!({ "spec": { "command": ["a", "b"], "names": ["x", "theirs"] } });
    let owned = json!({ "f:spec": { "f:command": {}, "f:names": { "v:\"x\"": {} } } });
    let ours = json!({ "spec": { "command": ["a", "b"], "names": ["x"] } });
    assert_eq!(Fingerprint::of_owned(&live, &owned), Fingerprint::of_rendered(&ours));
}

#[test]
fn only_an_apply_of_ours_to_the_object_itself_is_ours() {
    let ours = |manager: &str, operation: &str, subresource: &str| {
        let entry = json!({ "manager": manager, "operation": operation, "subresource": subresource }).to_string();
        serde_json::from_str::<Ownership<'_>>(&entry).unwrap().is_ours()
    };
    assert!(ours("multi-operator-my-app", "Apply", ""));
    assert!(!ours("multi-operator-my-app", "Apply", "status"));
    assert!(!ours("multi-operator-my-app", "Update", ""));
    assert!(!ours("hand-over/multi-operator-my-app", "Apply", ""));
    assert!(!ours("kubectl", "Apply", ""));
}

/// The API server names the port by the protocol that it filled in.
#[test]
fn a_port_that_is_sent_without_a_protocol_is_found_by_its_keys() {
    let of_port = |protocol: &str| Selector::parse(&format!("k:{{\"port\":80,\"protocol\":\"{protocol}\"}}")).unwrap();
    assert!(of_port("TCP").matches(&json!({ "port": 80 })));
    assert!(!of_port("UDP").matches(&json!({ "port": 80 })));
    assert!(!of_port("TCP").matches(&json!({ "port": 81 })));
    assert!(!of_port("TCP").matches(&json!({ "port": 80, "protocol": "UDP" })));
}
