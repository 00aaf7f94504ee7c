//! Objects as they are sent, and as Kubernetes 1.36 defaults them.

use serde_json::{Value, json};

use super::*;

fn defaulted(plural: &str, mut object: Value) -> Value {
    fill_in(plural, &mut object).unwrap();
    object
}

/// A template as it is sent, and as it is stored.
fn templates() -> (Value, Value) {
    let sent = json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": {
            "containers": [{
                "name": "app", "image": "nginx:1.25", "ports": [{ "containerPort": 80 }],
                "readinessProbe": { "httpGet": { "port": 80 }, "periodSeconds": 5 },
                "env": [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
                "resources": { "limits": { "cpu": "1" } },
            }],
            "volumes": [
                { "name": "a" },
                { "name": "b", "secret": { "secretName": "s" } },
                { "name": "c", "projected": { "sources": [{ "serviceAccountToken": { "path": "t" } }] } },
                { "name": "d", "hostPath": { "path": "/d" } },
            ],
        },
    });
    let stored = json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": {
            "containers": [{
                "name": "app", "image": "nginx:1.25", "ports": [{ "containerPort": 80, "protocol": "TCP" }],
                "readinessProbe": { "httpGet": { "port": 80, "path": "/", "scheme": "HTTP" }, "periodSeconds": 5,
                    "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3 },
                "env": [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name", "apiVersion": "v1" } } }],
                "resources": { "limits": { "cpu": "1" } }, "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            }],
            "volumes": [
                { "name": "a", "emptyDir": {} },
                { "name": "b", "secret": { "secretName": "s", "defaultMode": 420 } },
                { "name": "c", "projected": { "defaultMode": 420,
                    "sources": [{ "serviceAccountToken": { "path": "t", "expirationSeconds": 3600 } }] } },
                { "name": "d", "hostPath": { "path": "/d", "type": "" } },
            ],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {}, "terminationGracePeriodSeconds": 30,
        },
    });
    (sent, stored)
}

#[test]
fn a_deployment_gets_those_of_its_pods_and_of_a_rolling_update() {
    let (sent, stored) = templates();
    let object = defaulted("deployments", json!({ "spec": { "template": sent } }));
    let rolling = json!({ "maxSurge": "25%", "maxUnavailable": "25%" });
    let expected = json!({ "spec": {
        "replicas": 1, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10, "template": stored,
        "strategy": { "type": "RollingUpdate", "rollingUpdate": rolling },
    } });
    assert_eq!(object, expected);
    assert_eq!(defaulted("deployments", expected.clone()), expected, "defaults of defaults");
    let recreated = defaulted("deployments", json!({ "spec": { "strategy": { "type": "Recreate" } } }));
    assert_eq!(recreated["spec"]["strategy"], json!({ "type": "Recreate" }));
}

#[test]
fn a_pod_requests_what_it_is_limited_to() {
    let (sent, _) = templates();
    let mut spec = sent["spec"].clone();
    spec["hostNetwork"] = json!(true);
    spec["serviceAccountName"] = json!("web");
    let pod = defaulted("pods", json!({ "spec": spec }));
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["resources"], json!({ "limits": { "cpu": "1" }, "requests": { "cpu": "1" } }));
    assert_eq!(container["ports"][0]["hostPort"], 80);
    assert_eq!([&pod["spec"]["enableServiceLinks"], &pod["spec"]["serviceAccount"]], [&json!(true), &json!("web")]);
}

#[test]
fn images_are_pulled_again_if_their_tag_may_move() {
    let cases = [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("host:5000/nginx", "Always"),
        ("host:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:0", "IfNotPresent"),
    ];
    for (image, policy) in cases {
        assert_eq!(super::images::pull_policy(image), policy, "{image}");
    }
}

#[test]
fn stateful_sets_and_jobs_get_theirs() {
    let claims = json!([{ "metadata": { "name": "data" }, "spec": {} }]);
    let set = defaulted("statefulsets", json!({ "spec": { "volumeClaimTemplates": claims } }));
    let spec = &set["spec"];
    assert_eq!(spec["updateStrategy"], json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } }));
    assert_eq!([&spec["replicas"], &spec["podManagementPolicy"]], [&json!(1), &json!("OrderedReady")]);
    let retained = json!({ "whenDeleted": "Retain", "whenScaled": "Retain" });
    assert_eq!(spec["persistentVolumeClaimRetentionPolicy"], retained);
    assert_eq!(spec["volumeClaimTemplates"][0]["spec"], json!({ "volumeMode": "Filesystem" }));

    let template = json!({ "metadata": { "labels": { "a": "b" } } });
    let mut job = defaulted("jobs", json!({ "spec": { "template": template } }));
    assert_eq!(job["metadata"]["labels"], json!({ "a": "b" }));
    job["spec"].as_object_mut().unwrap().remove("template");
    let expected = json!({
        "backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "parallelism": 1, "suspend": false,
        "manualSelector": false, "podReplacementPolicy": "TerminatingOrFailed",
    });
    assert_eq!(job["spec"], expected);
    let queue = defaulted("jobs", json!({ "spec": { "parallelism": 2 } }));
    assert_eq!(queue["spec"].get("completions"), None, "it ends when its pods say so");
}

#[test]
fn a_service_gets_those_of_its_type() {
    let service =
        defaulted("services", json!({ "spec": { "ports": [{ "port": 80 }, { "port": 81, "targetPort": "x" }] } }));
    let expected = json!({ "spec": {
        "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        "ports": [
            { "port": 80, "protocol": "TCP", "targetPort": 80 }, { "port": 81, "protocol": "TCP", "targetPort": "x" },
        ],
    } });
    assert_eq!(service, expected);
    let sent = json!({ "spec": { "type": "LoadBalancer", "sessionAffinity": "ClientIP" } });
    let balanced = defaulted("services", sent);
    let expected = json!({ "spec": {
        "type": "LoadBalancer", "sessionAffinity": "ClientIP", "internalTrafficPolicy": "Cluster",
        "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true,
        "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 10800 } },
    } });
    assert_eq!(balanced, expected);
    let named = defaulted("services", json!({ "spec": { "type": "ExternalName" } }));
    assert_eq!(named["spec"].get("internalTrafficPolicy"), None);
}

#[test]
fn an_autoscaler_gets_a_metric_and_completes_its_behavior() {
    let target = json!({ "type": "Utilization", "averageUtilization": 80 });
    let metrics = json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]);
    let plain = defaulted("horizontalpodautoscalers", json!({ "spec": {} }));
    assert_eq!(plain["spec"], json!({ "minReplicas": 1, "metrics": metrics }));
    let sent = json!({ "spec": { "behavior": { "scaleDown": { "stabilizationWindowSeconds": 5 } } } });
    let behavior = defaulted("horizontalpodautoscalers", sent)["spec"]["behavior"].clone();
    let percent = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
    let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
    let expected = json!({
        "scaleDown": { "stabilizationWindowSeconds": 5, "selectPolicy": "Max", "policies": [percent] },
        "scaleUp": { "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent] },
    });
    assert_eq!(behavior, expected);
}

#[test]
fn texts_of_a_secret_become_its_data() {
    let secret = defaulted("secrets", json!({ "data": { "b": "eA==" }, "stringData": { "a": "hi" } }));
    assert_eq!(secret, json!({ "type": "Opaque", "data": { "a": "aGk=", "b": "eA==" } }));
    assert_eq!(defaulted("secrets", json!({})), json!({ "type": "Opaque" }));
    let namespace = defaulted("namespaces", json!({ "metadata": { "name": "n" } }));
    assert_eq!(namespace["metadata"]["labels"], json!({ "kubernetes.io/metadata.name": "n" }));
}

#[test]
fn storage_gets_its_mode_and_what_becomes_of_it() {
    assert_eq!(defaulted("persistentvolumeclaims", json!({}))["spec"], json!({ "volumeMode": "Filesystem" }));
    let volume = defaulted("persistentvolumes", json!({ "spec": { "hostPath": { "path": "/v" } } }));
    let expected = json!({
        "hostPath": { "path": "/v", "type": "" }, "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
    });
    assert_eq!(volume["spec"], expected);
    let class = defaulted("storageclasses", json!({ "provisioner": "p" }));
    assert_eq!([&class["reclaimPolicy"], &class["volumeBindingMode"]], ["Delete", "Immediate"]);
}

#[test]
fn a_kind_whose_defaults_are_unknown_is_refused() {
    assert_eq!(fill_in("cronjobs", &mut json!({})).unwrap_err().code, 501);
    let mut lease = json!({ "spec": { "holderIdentity": "a" } });
    fill_in("leases", &mut lease).unwrap();
    assert_eq!(lease, json!({ "spec": { "holderIdentity": "a" } }));
}
