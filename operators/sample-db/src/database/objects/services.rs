//! Pure: the two Services.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::projections::Service;

use crate::operand::kinds::SampleDB;
use crate::operand::labels::{POD_NAME, owned_meta, service_selector};
use crate::operand::names::{self, PORT};

/// The headless Service that gives the pod its DNS name.
pub(in crate::database) fn peers(db: &SampleDB, by_owner: bool) -> Apply {
    let spec = core::ServiceSpec {
        cluster_ip: Some("None".to_owned()),
        publish_not_ready_addresses: Some(true),
        selector: Some(service_selector(db, by_owner)),
        ports: Some(vec![port(PORT, None)]),
        ..core::ServiceSpec::default()
    };
    service(db, &names::headless_service(db), core::ServiceSpec { ..spec }, None)
}

/// The Service that applications use.
pub(in crate::database) fn read_write(db: &SampleDB, by_owner: bool) -> Apply {
    let wanted = &db.spec.service;
    let spec = core::ServiceSpec {
        type_: Some(wanted.type_.name().to_owned()),
        selector: Some(serving(db, by_owner)),
        ports: Some(vec![port(wanted.port(), wanted.node_port)]),
        load_balancer_class: wanted.load_balancer_class.clone(),
        ..core::ServiceSpec::default()
    };
    let annotations = (!wanted.annotations.is_empty()).then(|| wanted.annotations.clone());
    service(db, &names::read_write_service(db), spec, annotations)
}

/// The labels of the one pod that serves: during a major upgrade there are two.
pub(in crate::database) fn serving(db: &SampleDB, by_owner: bool) -> BTreeMap<String, String> {
    let mut labels = service_selector(db, by_owner);
    labels.insert(POD_NAME.to_owned(), names::pod(db));
    labels
}

fn port(port: i32, node_port: Option<i32>) -> core::ServicePort {
    core::ServicePort {
        name: Some("postgresql".to_owned()),
        port,
        node_port,
        protocol: Some("TCP".to_owned()),
        target_port: Some(IntOrString::Int(PORT)),
        ..core::ServicePort::default()
    }
}

fn service(db: &SampleDB, name: &str, spec: core::ServiceSpec, annotations: Option<BTreeMap<String, String>>) -> Apply {
    let metadata = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta { annotations, ..owned_meta(db) };
    let service = core::Service { metadata, spec: Some(spec), status: None };
    Apply::new(Service::KIND, db.meta.key.sibling(name), &service)
}
