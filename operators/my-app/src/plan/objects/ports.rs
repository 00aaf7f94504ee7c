//! Pure: ports, of the container and of the Service. `port` is the short form of one TCP port, which the Service calls `app`.

use api::my_app::{AppPort, MyAppSpec, Protocol};
use k8s_openapi::api::core::v1::{ContainerPort, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The ports of the container. The port of the short form has no name, so that pods from before `spec.ports` existed stay unchanged.
pub(super) fn of_container(spec: &MyAppSpec) -> Vec<ContainerPort> {
    let short = spec.port.map(|port| container_port(None, port, Protocol::TCP));
    let mut ports: Vec<ContainerPort> = short.into_iter().collect();
    for port in &spec.ports {
        let listed = container_port(Some(&port.name), port.target(), port.protocol());
        // Number and protocol are the key of this list, and two ports of the Service may have the same target port.
        let same =
            |other: &ContainerPort| other.container_port == listed.container_port && other.protocol == listed.protocol;
        if !ports.iter().any(same) {
            ports.push(listed);
        }
    }
    ports
}

fn container_port(name: Option<&str>, port: i32, protocol: Protocol) -> ContainerPort {
    ContainerPort {
        name: name.map(ToOwned::to_owned),
        container_port: port,
        // Part of the key, so the operator sends the default as well.
        protocol: Some(protocol.name().to_owned()),
        ..ContainerPort::default()
    }
}

/// The ports of the Service.
pub(super) fn of_service(spec: &MyAppSpec) -> Vec<ServicePort> {
    let short = spec.port.map(|port| service_port("app", port, port, Protocol::TCP));
    let named = spec.ports.iter().map(|port| service_port(&port.name, port.port, port.target(), port.protocol()));
    short.into_iter().chain(named).collect()
}

fn service_port(name: &str, port: i32, target: i32, protocol: Protocol) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        port,
        protocol: Some(protocol.name().to_owned()),
        target_port: Some(IntOrString::Int(target)),
        ..ServicePort::default()
    }
}

/// The first TCP port of the Service.
pub(in crate::plan) fn first_tcp_of_service(spec: &MyAppSpec) -> Option<i32> {
    let named = || spec.ports.iter().find(|port| port.protocol() == Protocol::TCP).map(|port| port.port);
    spec.port.or_else(named)
}

/// The first TCP port that the application listens on.
pub(super) fn first_tcp(spec: &MyAppSpec) -> Option<i32> {
    let named = || spec.ports.iter().find(|port| port.protocol() == Protocol::TCP).map(AppPort::target);
    spec.port.or_else(named)
}
