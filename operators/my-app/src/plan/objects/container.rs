//! The one container of a pod.

use api::my_app::{self, MyAppSpec, Security};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Name of the container.
const NAME: &str = "app";

pub(super) fn container(spec: &MyAppSpec) -> core::Container {
    let probes = probes(spec);
    core::Container {
        name: NAME.to_owned(),
        image: Some(spec.image.clone()),
        ports: spec.port.map(|port| {
            vec![core::ContainerPort {
                container_port: port,
                protocol: Some("TCP".to_owned()),
                ..core::ContainerPort::default()
            }]
        }),
        env: filled(spec.env.iter().map(env_var).collect()),
        env_from: filled(spec.env_from.iter().map(env_from).collect()),
        resources: spec.resources.as_ref().map(core::ResourceRequirements::from),
        startup_probe: probes.startup.as_ref().map(probe),
        readiness_probe: probes.readiness.as_ref().map(probe),
        liveness_probe: probes.liveness.as_ref().map(probe),
        security_context: Some(core::SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: (spec.security == Security::Restricted)
                .then(|| core::Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            ..core::SecurityContext::default()
        }),
        ..core::Container::default()
    }
}

fn filled<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// The probes given, or a TCP readiness probe if there is a port.
fn probes(spec: &MyAppSpec) -> my_app::Probes {
    let by_port = || my_app::Probes {
        readiness: spec.port.map(|port| my_app::Probe {
            tcp_socket: Some(my_app::TcpSocket { port }),
            period_seconds: Some(5),
            ..my_app::Probe::default()
        }),
        ..my_app::Probes::default()
    };
    spec.probes.clone().unwrap_or_else(by_port)
}

fn probe(probe: &my_app::Probe) -> core::Probe {
    core::Probe {
        http_get: probe.http_get.as_ref().map(|get| core::HTTPGetAction {
            // Kubernetes writes an empty path as `/`.
            path: get.path.clone().filter(|path| !path.is_empty()),
            port: IntOrString::Int(get.port),
            scheme: get.scheme.map(|scheme| format!("{scheme:?}")),
            ..core::HTTPGetAction::default()
        }),
        tcp_socket: probe
            .tcp_socket
            .as_ref()
            .map(|tcp| core::TCPSocketAction { port: IntOrString::Int(tcp.port), host: None }),
        exec: probe.exec.as_ref().map(|exec| core::ExecAction { command: Some(exec.command.clone()) }),
        grpc: probe.grpc.as_ref().map(|grpc| core::GRPCAction { port: grpc.port, service: grpc.service.clone() }),
        // Kubernetes keeps no 0 here.
        initial_delay_seconds: probe.initial_delay_seconds.filter(|seconds| *seconds != 0),
        period_seconds: probe.period_seconds,
        timeout_seconds: probe.timeout_seconds,
        failure_threshold: probe.failure_threshold,
        success_threshold: probe.success_threshold,
        termination_grace_period_seconds: None,
    }
}

fn env_var(var: &my_app::EnvVar) -> core::EnvVar {
    core::EnvVar {
        name: var.name.clone(),
        value: var.value.clone(),
        value_from: var.value_from.as_ref().map(|from| core::EnvVarSource {
            config_map_key_ref: from.config_map_key_ref.as_ref().map(|r| core::ConfigMapKeySelector {
                name: r.name.clone(),
                key: r.key.clone(),
                optional: r.optional,
            }),
            secret_key_ref: from.secret_key_ref.as_ref().map(|r| core::SecretKeySelector {
                name: r.name.clone(),
                key: r.key.clone(),
                optional: r.optional,
            }),
            field_ref: from.field_ref.as_ref().map(|r| core::ObjectFieldSelector {
                field_path: r.field_path.clone(),
                // The server's default, and part of an atomic field: without it ours would never be what it keeps.
                api_version: Some("v1".to_owned()),
            }),
            ..core::EnvVarSource::default()
        }),
    }
}

fn env_from(from: &my_app::EnvFrom) -> core::EnvFromSource {
    core::EnvFromSource {
        prefix: from.prefix.clone(),
        config_map_ref: from
            .config_map_ref
            .as_ref()
            .map(|r| core::ConfigMapEnvSource { name: r.name.clone(), optional: r.optional }),
        secret_ref: from
            .secret_ref
            .as_ref()
            .map(|r| core::SecretEnvSource { name: r.name.clone(), optional: r.optional }),
    }
}
