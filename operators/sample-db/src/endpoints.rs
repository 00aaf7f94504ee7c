//! Hosts and ports at which a database can be reached from outside the cluster.

use api::ServiceType;
use k8s_openapi::api::core::v1;
use runtime::cache::Projection;
use runtime::projections::Service;

use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::queries::{ApiQueries, get_object};

/// The addresses of the Service, if it is published: a load balancer's host and port, or `:<port>` of every node.
pub(crate) async fn external(api: &impl ApiQueries, db: &SampleDB) -> Vec<String> {
    if db.spec.service.type_ == ServiceType::ClusterIP || db.meta.deleting {
        return Vec::new();
    }
    // An upgrade is observed several times a second, and changes no address.
    if db.status.upgrade.step.is_some() {
        return db.status.endpoints.external.clone();
    }
    let key = db.meta.key.sibling(&names::read_write_service(db));
    let Ok(Some(service)) = get_object::<v1::Service>(api, Service::KIND, &key).await else {
        return db.status.endpoints.external.clone();
    };
    let balancers =
        service.status.and_then(|status| status.load_balancer).and_then(|of| of.ingress).unwrap_or_default();
    let hosts = balancers.into_iter().filter_map(|of| of.hostname.or(of.ip));
    let balanced = hosts.map(|host| format!("{host}:{}", db.spec.service.port()));
    let ports = service.spec.and_then(|spec| spec.ports).unwrap_or_default();
    let nodes = ports.into_iter().filter_map(|port| port.node_port).map(|port| format!(":{port}"));
    balanced.chain(nodes).collect()
}
