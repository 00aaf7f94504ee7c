//! Pure: the route from outside of the cluster: an HTTPRoute if the spec names a gateway, otherwise an Ingress.
//!
//! Their lists are atomic, and the API server sets defaults in the items: so the operator sends these defaults.

use api::my_app::{AppRoute, GatewayRef};
use k8s_openapi::api::networking::v1 as networking;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::projections::{HttpRoute, Ingress};
use serde_json::json;

use super::ports;
use crate::MyApp;

/// The route of `app`, with the port of the Service that it leads to.
fn route(app: &MyApp) -> Option<(&AppRoute, i32)> {
    app.spec.route.as_ref().zip(ports::first_tcp_of_service(&app.spec))
}

/// The Ingress of `app`, if it has a route that names no gateway.
pub(in crate::plan) fn ingress(app: &MyApp) -> Option<Apply> {
    let (route, port) = route(app).filter(|(route, _)| route.gateway.is_none())?;
    let path = networking::HTTPIngressPath {
        path: Some(route.path().to_owned()),
        path_type: "Prefix".to_owned(),
        backend: networking::IngressBackend {
            service: Some(networking::IngressServiceBackend {
                name: app.meta.key.name.to_string(),
                port: Some(networking::ServiceBackendPort { number: Some(port), name: None }),
            }),
            resource: None,
        },
    };
    let tls = |secret: &String| networking::IngressTLS {
        hosts: Some(vec![route.host.clone()]),
        secret_name: Some(secret.clone()),
    };
    let ingress = networking::Ingress {
        metadata: child_meta(&MyApp::KIND, &app.meta),
        spec: Some(networking::IngressSpec {
            ingress_class_name: route.ingress_class_name.clone(),
            rules: Some(vec![networking::IngressRule {
                host: Some(route.host.clone()),
                http: Some(networking::HTTPIngressRuleValue { paths: vec![path] }),
            }]),
            tls: route.tls_secret.as_ref().map(|secret| vec![tls(secret)]),
            default_backend: None,
        }),
        status: None,
    };
    Some(Apply::new(Ingress::KIND, app.meta.key.clone(), &ingress))
}

/// The Ingress or HTTPRoute with that port of its Service instead.
pub(in crate::plan) fn to_port(mut route_apply: Apply, port: i32) -> Apply {
    let path = match route_apply.kind == Ingress::KIND {
        true => "/spec/rules/0/http/paths/0/backend/service/port/number",
        false => "/spec/rules/0/backendRefs/0/port",
    };
    if let Some(number) = route_apply.body.pointer_mut(path) {
        *number = json!(port);
    }
    route_apply
}

/// The HTTPRoute of `app`, if it has a route that names a gateway.
pub(in crate::plan) fn http_route(app: &MyApp) -> Option<Apply> {
    let (route, port) = route(app)?;
    let GatewayRef { name, namespace, section_name } = route.gateway.as_ref()?;
    let mut parent = json!({ "group": HttpRoute::KIND.group, "kind": "Gateway", "name": name });
    for (field, value) in [("namespace", namespace), ("sectionName", section_name)] {
        if let Some(value) = value {
            parent[field] = json!(value);
        }
    }
    let backend = json!({ "group": "", "kind": "Service", "name": &*app.meta.key.name, "port": port, "weight": 1 });
    let matches = json!([{ "path": { "type": "PathPrefix", "value": route.path() } }]);
    let http_route = json!({
        "metadata": child_meta(&MyApp::KIND, &app.meta),
        "spec": {
            "parentRefs": [parent],
            "hostnames": [&route.host],
            "rules": [{ "matches": matches, "backendRefs": [backend] }],
        },
    });
    Some(Apply::new(HttpRoute::KIND, app.meta.key.clone(), &http_route))
}
