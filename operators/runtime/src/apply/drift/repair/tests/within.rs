//! What others add within items and handlers that we send.

use super::*;

/// The container after the repair of one that is sent as `sent`, and to which another manager has added `added`.
fn repaired(sent: &Value, added: &Value) -> Option<Value> {
    let container = |more: &Value| {
        let mut container = json!({ "name": "app", "image": "i" });
        json_patch::merge(&mut container, more);
        container
    };
    let mut live = container(sent);
    json_patch::merge(&mut live, added);
    let ours = json!({ "f:containers": {} });
    let patch = pod(&json!({ "containers": [live] }), &ours, &json!({ "containers": [container(sent)] }))?;
    assert_eq!(patch["containers"], json!([container(sent)]), "as it was: the pods get no template of their own");
    Some(patch)
}

#[test]
fn additions_to_a_port_are_removed() {
    let ports = |more: Value| {
        let mut port = json!({ "name": "web", "containerPort": 80, "protocol": "TCP" });
        json_patch::merge(&mut port, &more);
        json!({ "ports": [port] })
    };
    let sent = ports(json!({}));
    assert!(repaired(&sent, &ports(json!({ "hostPort": 80 }))).is_some());
    assert!(repaired(&sent, &ports(json!({ "hostPort": 80, "hostIP": "10.0.0.1" }))).is_some());
    assert!(repaired(&sent, &sent).is_none());
    let with_host = ports(json!({ "hostPort": 80 }));
    assert!(repaired(&with_host, &with_host).is_none(), "a field of podOverrides is no addition");
}

#[test]
fn additions_to_the_handler_of_a_probe_or_of_pre_stop_are_removed() {
    let handlers = |handler: &Value| {
        let probes = ["startupProbe", "readinessProbe", "livenessProbe"].map(|probe| json!({ probe: handler }));
        probes.into_iter().chain([json!({ "lifecycle": { "preStop": handler } })])
    };
    let (http, tcp) = (json!({ "httpGet": { "port": 80 } }), json!({ "tcpSocket": { "port": 80 } }));
    let headers = json!([{ "name": "Host", "value": "x" }]);
    for (sent, added) in [
        (&http, json!({ "httpGet": { "host": "10.0.0.1" } })),
        (&http, json!({ "httpGet": { "httpHeaders": headers } })),
        (&http, json!({ "httpGet": { "path": "/other" } })),
        (&http, json!({ "httpGet": { "scheme": "HTTPS" } })),
        (&tcp, json!({ "tcpSocket": { "host": "10.0.0.1" } })),
    ] {
        for (sent, added) in handlers(sent).zip(handlers(&added)) {
            assert!(repaired(&sent, &added).is_some(), "{added}");
        }
    }
    let filled_in = json!({ "httpGet": { "path": "/", "scheme": "HTTP" } });
    for (sent, added) in handlers(&http).zip(handlers(&filled_in)) {
        assert!(repaired(&sent, &added).is_none(), "{added}");
    }
}

/// The API server fills in each from the other, and a manager that applied one does not own the other.
#[test]
fn both_names_of_a_service_account_are_removed() {
    let spec = json!({ "serviceAccountName": "root", "serviceAccount": "root", "restartPolicy": "Always" });
    for applied in ["f:serviceAccountName", "f:serviceAccount"] {
        let theirs = json!({ "f:template": { "f:spec": { applied: {} } } });
        let before = live(&json!({ "template": { "spec": spec } }), &json!({}), &theirs);
        let patch = of(&Deployment::KIND, &before, &json!({ "spec": {} })).unwrap();
        assert_eq!(
            patch["template"]["spec"],
            json!({ "serviceAccountName": null, "serviceAccount": null }),
            "{applied}"
        );
    }
}
