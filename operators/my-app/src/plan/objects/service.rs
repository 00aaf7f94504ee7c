//! The Service.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use runtime::cache::View;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::views::Service;

use super::deployment::selector;
use crate::MyApp;

/// The Service of `app`, wanted if it has a port.
pub(in crate::plan) fn service(app: &MyApp) -> Option<Apply> {
    let port = app.spec.port?;
    let service = core::Service {
        metadata: child_meta(&MyApp::KIND, &app.meta),
        spec: Some(core::ServiceSpec {
            selector: Some(selector(app)),
            ports: Some(vec![core::ServicePort {
                name: Some("app".to_owned()),
                port,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::Int(port)),
                ..core::ServicePort::default()
            }]),
            ..core::ServiceSpec::default()
        }),
        ..core::Service::default()
    };
    Some(Apply::new(Service::KIND, app.meta.key.clone(), &service))
}
