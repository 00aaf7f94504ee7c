//! Edits of an Ingress or an autoscaler by others, by update, patch and forced apply, are reverted at once, by one write.

use e2e::cluster;
use e2e::namespace::Namespace;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::{Value, json};

use crate::edits::{By, is_back, spec};
use crate::manifest::my_app;
use crate::running::running;

#[tokio::test]
async fn edits_of_an_ingress_are_reverted() {
    let ns = Namespace::new("ingress-edits").await;
    let audit = cluster::audit();
    let route = "{host: web.example.com, path: /shop, ingressClassName: none, tlsSecret: web}";
    ns.apply(&my_app("web", &format!("{{replicas: 1, image: nginx:1.25, port: 80, route: {route}}}"))).await;
    running(&ns, 1).await;
    let foreign = json!({ "service": { "name": "theirs", "port": { "number": 1 } } });
    let path = json!({ "path": "/theirs", "pathType": "Exact", "backend": foreign });
    let rule = json!({ "host": "theirs.example.com", "http": { "paths": [path] } });
    for by in By::ALL {
        for (what, fields) in [
            ("the class", json!({ "ingressClassName": "theirs" })),
            ("a backend for all else", json!({ "defaultBackend": foreign })),
            ("the rules", json!({ "rules": [rule] })),
            ("the certificate", json!({ "tls": [{ "hosts": ["theirs.example.com"], "secretName": "theirs" }] })),
        ] {
            is_back::<Ingress>(&ns, &audit, "web", by, what, spec(fields)).await;
        }
    }
    for (what, fields) in
        [("no class", json!({ "ingressClassName": null })), ("no certificate", json!({ "tls": null }))]
    {
        is_back::<Ingress>(&ns, &audit, "web", By::Patch, what, spec(fields)).await;
    }
}

#[tokio::test]
async fn edits_of_an_autoscaler_are_reverted() {
    let ns = Namespace::new("scaler-edits").await;
    let audit = cluster::audit();
    ns.apply(&my_app("web", "{image: nginx:1.25, autoscaling: {min: 1, max: 4, cpu: 70}}")).await;
    running(&ns, 1).await;
    let target = |name: &str, to: Value| json!([{ "type": "Resource", "resource": { "name": name, "target": to } }]);
    let other = target("memory", json!({ "type": "AverageValue", "averageValue": "1Gi" }));
    let lower = target("cpu", json!({ "type": "Utilization", "averageUtilization": 5 }));
    for by in By::ALL {
        for (what, fields) in [
            ("the most", json!({ "maxReplicas": 9 })),
            ("the fewest", json!({ "minReplicas": 2 })),
            ("another metric", json!({ "metrics": other })),
            ("another target", json!({ "metrics": lower })),
            (
                "what it scales",
                json!({ "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs" } }),
            ),
        ] {
            is_back::<HorizontalPodAutoscaler>(&ns, &audit, "web", by, what, spec(fields)).await;
        }
    }
}
