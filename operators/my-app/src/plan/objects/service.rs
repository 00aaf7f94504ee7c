//! Pure: the Service.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::pod::non_empty;
use runtime::projections::Service;

use super::deployment::selector;
use super::ports;
use crate::MyApp;

/// The Service of `app`, if it has a port.
pub(in crate::plan) fn service(app: &MyApp) -> Option<Apply> {
    let ports = non_empty(ports::of_service(&app.spec))?;
    let options = app.spec.service.as_ref();
    let annotations = options.map(|options| options.annotations.clone()).filter(|annotations| !annotations.is_empty());
    let service = core::Service {
        metadata: ObjectMeta { annotations, ..child_meta(&MyApp::KIND, &app.meta) },
        spec: Some(core::ServiceSpec {
            // Sent only if the spec sets it, so that other Services stay unchanged.
            type_: options.and_then(|options| options.type_).map(|type_| type_.name().to_owned()),
            selector: Some(selector(app)),
            ports: Some(ports),
            ..core::ServiceSpec::default()
        }),
        ..core::Service::default()
    };
    Some(Apply::new(Service::KIND, app.meta.key.clone(), &service))
}
