//! The Service.

use k8s_openapi::api::core::v1 as core;
use runtime::cache::View;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::views::Service;

use super::container::filled;
use super::deployment::selector;
use super::ports;
use crate::MyApp;

/// The Service of `app`, wanted if it has a port.
pub(in crate::plan) fn service(app: &MyApp) -> Option<Apply> {
    let ports = filled(ports::of_service(&app.spec))?;
    let service = core::Service {
        metadata: child_meta(&MyApp::KIND, &app.meta),
        spec: Some(core::ServiceSpec {
            selector: Some(selector(app)),
            ports: Some(ports),
            ..core::ServiceSpec::default()
        }),
        ..core::Service::default()
    };
    Some(Apply::new(Service::KIND, app.meta.key.clone(), &service))
}
