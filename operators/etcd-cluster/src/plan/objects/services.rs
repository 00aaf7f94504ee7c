//! Pure: the headless Service and the client Service.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::projections::Service;

use super::labels::{labels, selected};
use super::ports::{CLIENT_PORT, PEER_PORT};
use crate::EtcdCluster;

/// The headless Service that gives each member a name in cluster DNS, ready or not: members must find one another before
/// they can be ready.
pub(in crate::plan) fn peers(cluster: &EtcdCluster, own_only: bool) -> Apply {
    let spec = core::ServiceSpec {
        cluster_ip: Some("None".to_owned()),
        publish_not_ready_addresses: Some(true),
        ..spec(cluster, own_only, &[("client", CLIENT_PORT), ("peer", PEER_PORT)])
    };
    service(cluster, &cluster.meta.key.name, spec, None)
}

/// The client Service, which selects ready members only.
pub(in crate::plan) fn clients(cluster: &EtcdCluster, own_only: bool) -> Apply {
    let base = spec(cluster, own_only, &[("client", CLIENT_PORT)]);
    let Some(wanted) = &cluster.spec.service else {
        return service(cluster, &client_service(cluster), base, None);
    };
    let port = |port: core::ServicePort| core::ServicePort { node_port: wanted.node_port, ..port };
    let spec = core::ServiceSpec {
        type_: Some(wanted.type_.name().to_owned()),
        ports: base.ports.map(|ports| ports.into_iter().map(port).collect()),
        load_balancer_class: wanted.load_balancer_class.clone(),
        ..base
    };
    let annotations = (!wanted.annotations.is_empty()).then(|| wanted.annotations.clone());
    service(cluster, &client_service(cluster), spec, annotations)
}

/// The name of the client Service.
#[must_use]
pub fn client_service(cluster: &EtcdCluster) -> String {
    format!("{}-client", cluster.meta.key.name)
}

fn service(
    cluster: &EtcdCluster,
    name: &str,
    spec: core::ServiceSpec,
    annotations: Option<BTreeMap<String, String>>,
) -> Apply {
    let metadata =
        ObjectMeta { labels: Some(labels(cluster)), annotations, ..child_meta(&EtcdCluster::KIND, &cluster.meta) };
    let service = core::Service { metadata, spec: Some(spec), status: None };
    Apply::new(Service::KIND, cluster.meta.key.sibling(name), &service)
}

fn spec(cluster: &EtcdCluster, own_only: bool, ports: &[(&str, i32)]) -> core::ServiceSpec {
    let port = |(name, port): &(&str, i32)| core::ServicePort {
        name: Some((*name).to_owned()),
        port: *port,
        protocol: Some("TCP".to_owned()),
        target_port: Some(IntOrString::Int(*port)),
        ..core::ServicePort::default()
    };
    core::ServiceSpec {
        selector: Some(selected(cluster, own_only)),
        ports: Some(ports.iter().map(port).collect()),
        ..core::ServiceSpec::default()
    }
}
