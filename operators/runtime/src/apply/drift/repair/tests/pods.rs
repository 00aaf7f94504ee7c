//! Pod templates.

use serde_json::json;

use super::*;

#[test]
fn a_probe_has_one_handler() {
    let app = |probe: Value| json!({ "containers": [{ "name": "app", "image": "i", "readinessProbe": probe }] });
    let ours = json!({ "f:containers": { "k:{\"name\":\"app\"}": {
        ".": {}, "f:name": {}, "f:image": {}, "f:readinessProbe": { "f:periodSeconds": {} },
    } } });
    let body = app(json!({ "tcpSocket": { "port": 80 }, "periodSeconds": 5 }));
    let by_others = app(json!({
        "httpGet": { "port": 80, "path": "/", "scheme": "HTTP" }, "periodSeconds": 5, "timeoutSeconds": 9, "failureThreshold": 3,
    }));
    let repaired = app(json!({ "tcpSocket": { "port": 80 }, "periodSeconds": 5, "failureThreshold": 3 }));
    assert_eq!(pod(&by_others, &ours, &body), Some(repaired));
}

#[test]
fn fields_of_our_spec_are_removed_and_injected_ones_stay() {
    let ours = json!({ "f:containers": { "k:{\"name\":\"app\"}": {
        ".": {}, "f:name": {}, "f:image": {}, "f:env": { "k:{\"name\":\"A\"}": { ".": {}, "f:name": {}, "f:value": {} } },
    } } });
    let body = json!({ "containers": [{ "name": "app", "image": "i", "env": [{ "name": "A", "value": "1" }] }] });
    let injected = json!({
        "containers": [
            { "name": "sidecar", "image": "theirs", "command": ["x"], "ports": [{ "containerPort": 1, "protocol": "TCP" }] },
            {
                "name": "app", "image": "i", "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log",
                "env": [{ "name": "A", "value": "1" }, { "name": "THEIRS", "valueFrom": { "fieldRef": { "fieldPath": "x" } } }],
                "volumeMounts": [{ "name": "theirs", "mountPath": "/theirs", "readOnly": true }],
            },
        ],
        "volumes": [{ "name": "theirs", "emptyDir": {} }], "terminationGracePeriodSeconds": 30, "restartPolicy": "Always",
        "tolerations": [{ "operator": "Exists" }], "initContainers": [{ "name": "theirs", "image": "theirs" }],
    });
    assert_eq!(pod(&injected, &ours, &body), None);

    let mut added = injected.clone();
    added["serviceAccountName"] = json!("root");
    added["serviceAccount"] = json!("root");
    added["terminationGracePeriodSeconds"] = json!(1);
    let app = &mut added["containers"][1];
    app["command"] = json!(["sleep"]);
    app["lifecycle"] = json!({ "preStop": { "sleep": { "seconds": 1 } } });
    app["resources"] = json!({ "limits": { "cpu": "1m" } });
    app["env"][0]["valueFrom"] = json!({ "fieldRef": { "fieldPath": "x" } });
    app["env"][0].as_object_mut().unwrap().remove("value");
    app["ports"] = json!([{ "containerPort": 99, "protocol": "TCP" }]);
    app["securityContext"] = json!({ "privileged": true });
    let patch = pod(&added, &ours, &body).unwrap();
    assert_eq!(patch["containers"], injected["containers"], "as it was: the pods get no template of their own");
    let null = json!({ "serviceAccountName": null, "serviceAccount": null, "terminationGracePeriodSeconds": null });
    let mut rest = patch.clone();
    rest.as_object_mut().unwrap().remove("containers");
    assert_eq!(rest, null);
}

/// Otherwise, the application could no longer write to it.
#[test]
fn a_pvc_stays_writable() {
    let with = |claim: Value| json!({ "volumes": [{ "name": "v", "persistentVolumeClaim": claim }] });
    let ours = json!({ "f:volumes": { "k:{\"name\":\"v\"}": {
        ".": {}, "f:name": {}, "f:persistentVolumeClaim": { "f:claimName": {} },
    } } });
    let body = with(json!({ "claimName": "c" }));
    let by_others = with(json!({ "claimName": "c", "readOnly": true }));
    assert_eq!(pod(&by_others, &ours, &body), Some(body.clone()));
}

#[test]
fn a_strategy_is_replaced_if_one_is_desired() {
    let spec =
        json!({ "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": 3 } } });
    let live = live(&spec, &json!({}), &json!({ "f:strategy": {} }));
    let body = json!({ "spec": { "strategy": { "type": "Recreate" } } });
    assert_eq!(
        of(&Deployment::KIND, &live, &body),
        Some(json!({ "strategy": { "type": "Recreate", "rollingUpdate": null } }))
    );
    assert_eq!(of(&Deployment::KIND, &live, &json!({ "spec": {} })), None, "otherwise, it belongs to others");
}
