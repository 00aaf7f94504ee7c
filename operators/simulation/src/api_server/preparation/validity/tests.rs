use serde_json::{Value, json};

use super::*;

fn deployment_of(spec: Value) -> Value {
    let mut base = json!({
        "replicas": 1, "selector": { "matchLabels": { "app": "a" } }, "progressDeadlineSeconds": 600,
        "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } },
        "template": {
            "metadata": { "labels": { "app": "a" } },
            "spec": { "restartPolicy": "Always", "containers": [{ "name": "a", "image": "a" }] },
        },
    });
    for (name, value) in spec.as_object().unwrap() {
        base[name] = value.clone();
    }
    json!({ "spec": base })
}

fn fields(plural: &str, object: &Value) -> usize {
    problems(plural, object).len()
}

#[test]
fn a_workload_selects_its_pods() {
    assert_eq!(problems("deployments", &deployment_of(json!({}))), []);
    let other = deployment_of(json!({ "selector": { "matchLabels": { "app": "b" } } }));
    let detail = "`selector` does not match template `labels`";
    let expected = FieldError::invalid("spec.template.metadata.labels", &json!({ "app": "a" }), detail);
    assert_eq!(problems("deployments", &other), [expected]);
    assert_eq!(fields("statefulsets", &deployment_of(json!({ "selector": {} }))), 1);
    let mut none = deployment_of(json!({}));
    none["spec"].as_object_mut().unwrap().remove("selector");
    assert_eq!(fields("deployments", &none), 2, "no selector matches nothing");
    let expressed = |operator: &str| {
        let expression = json!({ "key": "app", "operator": operator, "values": ["a"] });
        fields("replicasets", &deployment_of(json!({ "selector": { "matchExpressions": [expression] } })))
    };
    assert_eq!(["In", "NotIn", "Exists", "DoesNotExist"].map(expressed), [0, 1, 0, 1]);
}

#[test]
fn settings_of_a_rollout_fit_together() {
    let count = |spec: Value| fields("deployments", &deployment_of(spec));
    assert_eq!(count(json!({ "strategy": { "type": "Recreate" } })), 0);
    assert_eq!(count(json!({ "strategy": { "type": "Recreate", "rollingUpdate": {} } })), 1);
    assert_eq!(count(json!({ "strategy": { "rollingUpdate": { "maxSurge": 0, "maxUnavailable": "0%" } } })), 1);
    assert_eq!(count(json!({ "minReadySeconds": 600 })), 1);
    assert_eq!(count(json!({ "replicas": -1 })), 1);
}

#[test]
fn a_container_needs_an_image_and_a_name_of_its_own() {
    let count = |containers: Value| fields("pods", &json!({ "spec": { "containers": containers } }));
    assert_eq!(count(json!([])), 1);
    assert_eq!(count(json!([{ "name": "a" }])), 1);
    assert_eq!(count(json!([{ "name": "a", "image": "a" }, { "name": "a", "image": "b" }])), 1);
    let resources = json!({ "requests": { "cpu": "1" }, "limits": { "cpu": "500m" } });
    assert_eq!(count(json!([{ "name": "a", "image": "a", "resources": resources }])), 1);
    let job = json!({ "spec": { "template": { "spec": {
        "restartPolicy": "Always", "containers": [{ "name": "a", "image": "a" }] } } } });
    let detail = "valid values: \"OnFailure\", \"Never\"";
    assert_eq!(problems("jobs", &job), [FieldError::required("spec.template.spec.restartPolicy", detail)]);
}

#[test]
fn other_kinds_are_checked_for_what_contradicts_itself() {
    assert_eq!(fields("services", &json!({ "spec": { "type": "ClusterIP" } })), 1);
    assert_eq!(fields("services", &json!({ "spec": { "type": "ClusterIP", "clusterIP": "None" } })), 0);
    let port = |name: &str| json!({ "name": name, "port": 80, "protocol": "TCP" });
    assert_eq!(fields("services", &json!({ "spec": { "ports": [port("a"), port("b")] } })), 1);
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" });
    let scaled = json!({ "spec": { "minReplicas": 3, "maxReplicas": 2, "scaleTargetRef": target } });
    assert_eq!(fields("horizontalpodautoscalers", &scaled), 1);
    assert_eq!(fields("horizontalpodautoscalers", &json!({ "spec": { "maxReplicas": 2 } })), 3, "no target");
    assert_eq!(fields("poddisruptionbudgets", &json!({ "spec": { "minAvailable": 1, "maxUnavailable": 1 } })), 1);
    assert_eq!(fields("poddisruptionbudgets", &json!({ "spec": { "minAvailable": 1 } })), 0);
    let set = deployment_of(json!({ "updateStrategy": { "type": "OnDelete", "rollingUpdate": { "partition": 1 } } }));
    assert_eq!(fields("statefulsets", &set), 1);
    let map = |size: usize| json!({ "data": { "a": "x".repeat(size) } });
    assert_eq!(problems("configmaps", &map(1_048_577)), [FieldError::too_long("[]", 1_048_576)]);
    assert_eq!([fields("configmaps", &map(1_048_576)), fields("secrets", &map(1_300_000))], [0, 0]);
}

#[test]
fn numbers_and_required_fields_are_checked() {
    let port = |port: Value| json!({ "spec": { "type": "ClusterIP", "ports": [port] } });
    assert_eq!(fields("services", &port(json!({ "port": 80, "targetPort": "http", "protocol": "TCP" }))), 0);
    assert_eq!(fields("services", &port(json!({ "port": 70000, "targetPort": 70000, "protocol": "TCP" }))), 2);
    assert_eq!(fields("services", &port(json!({ "port": 80, "protocol": "ICMP" }))), 1);
    let budget = |amount: Value| fields("poddisruptionbudgets", &json!({ "spec": { "maxUnavailable": amount } }));
    assert_eq!([json!(-1), json!("150%"), json!("x"), json!("100%"), json!(1)].map(budget), [1, 1, 1, 0, 0]);
    let claim = |size: &str| {
        let resources = json!({ "requests": { "storage": size } });
        fields(
            "persistentvolumeclaims",
            &json!({ "spec": { "accessModes": ["ReadWriteOnce"], "resources": resources } }),
        )
    };
    assert_eq!(["1Gi", "0", "-1Gi"].map(claim), [0, 1, 1]);
    assert_eq!(fields("persistentvolumeclaims", &json!({ "spec": {} })), 2);
    let ingress = |path: Value| fields("ingresses", &json!({ "spec": { "rules": [{ "http": { "paths": [path] } }] } }));
    assert_eq!([json!({ "pathType": "Prefix" }), json!({})].map(ingress), [0, 1]);
    assert_eq!(fields("ingresses", &json!({ "spec": { "ingressClassName": "x" } })), 1);
    assert_eq!(fields("secrets", &json!({ "type": "kubernetes.io/tls", "data": { "tls.crt": "" } })), 1);
}
