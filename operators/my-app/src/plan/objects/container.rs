//! Pure: the one container of a pod.

use api::my_app::{self, MyAppSpec, Security};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use runtime::pod::{no_capabilities, non_empty};

use super::ports;

/// Name of the container.
pub(in crate::plan) const NAME: &str = "app";

pub(super) fn container(spec: &MyAppSpec, image: &str, mounts: Vec<core::VolumeMount>) -> core::Container {
    let probes = probes(spec);
    core::Container {
        name: NAME.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: spec.image_pull_policy.map(|policy| policy.name().to_owned()),
        command: non_empty(spec.command.clone()),
        args: non_empty(spec.args.clone()),
        working_dir: spec.working_dir.clone(),
        ports: non_empty(ports::of_container(spec)),
        env: non_empty(spec.env.iter().map(env_var).collect()),
        env_from: non_empty(spec.env_from.iter().map(env_from).collect()),
        volume_mounts: non_empty(mounts),
        resources: spec.resources.as_ref().map(core::ResourceRequirements::from),
        startup_probe: probes.startup.as_ref().map(probe),
        readiness_probe: probes.readiness.as_ref().map(probe),
        liveness_probe: probes.liveness.as_ref().map(probe),
        lifecycle: spec.pre_stop.as_ref().map(pre_stop),
        security_context: Some(core::SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: (spec.security == Security::Restricted).then(no_capabilities),
            ..core::SecurityContext::default()
        }),
        ..core::Container::default()
    }
}

/// The probes of the spec, or a TCP readiness probe of the first TCP port, if there is one.
fn probes(spec: &MyAppSpec) -> my_app::Probes {
    let by_port = || my_app::Probes {
        readiness: ports::first_tcp(spec).map(|port| my_app::ContainerProbe {
            tcp_socket: Some(my_app::TcpSocket { port }),
            period_seconds: Some(5),
            ..my_app::ContainerProbe::default()
        }),
        ..my_app::Probes::default()
    };
    spec.probes.clone().unwrap_or_else(by_port)
}

fn probe(probe: &my_app::ContainerProbe) -> core::Probe {
    core::Probe {
        http_get: probe.http_get.as_ref().map(http_get),
        tcp_socket: probe
            .tcp_socket
            .as_ref()
            .map(|tcp| core::TCPSocketAction { port: IntOrString::Int(tcp.port), host: None }),
        exec: probe.exec.as_ref().map(exec),
        grpc: probe.grpc.as_ref().map(|grpc| core::GRPCAction {
            port: grpc.port,
            service: grpc.service.clone().filter(|service| !service.is_empty()),
        }),
        // Kubernetes does not store a 0 here.
        initial_delay_seconds: probe.initial_delay_seconds.filter(|seconds| *seconds != 0),
        period_seconds: probe.period_seconds,
        timeout_seconds: probe.timeout_seconds,
        failure_threshold: probe.failure_threshold,
        success_threshold: probe.success_threshold,
        termination_grace_period_seconds: None,
    }
}

fn http_get(get: &my_app::HttpGet) -> core::HTTPGetAction {
    core::HTTPGetAction {
        // Kubernetes stores an empty path as `/`.
        path: get.path.clone().filter(|path| !path.is_empty()),
        port: IntOrString::Int(get.port),
        scheme: get.scheme.map(|scheme| format!("{scheme:?}")),
        ..core::HTTPGetAction::default()
    }
}

fn exec(exec: &my_app::Exec) -> core::ExecAction {
    core::ExecAction { command: Some(exec.command.clone()) }
}

fn pre_stop(hook: &my_app::PreStop) -> core::Lifecycle {
    let handler = core::LifecycleHandler {
        exec: hook.exec.as_ref().map(exec),
        http_get: hook.http_get.as_ref().map(http_get),
        sleep: hook.sleep.as_ref().map(|sleep| core::SleepAction { seconds: sleep.seconds }),
        tcp_socket: None,
    };
    core::Lifecycle { pre_stop: Some(handler), ..core::Lifecycle::default() }
}

fn env_var(var: &my_app::EnvVar) -> core::EnvVar {
    core::EnvVar {
        name: var.name.clone(),
        // Kubernetes does not store an empty value, so the operator does not send one: it would differ in every reconcile.
        value: var.value.clone().filter(|value| !value.is_empty()),
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
            field_ref: from.field_ref.as_ref().map(field_ref),
            resource_field_ref: from.resource_field_ref.as_ref().map(|r| resource_field_ref(r, None)),
        }),
    }
}

pub(super) fn field_ref(of: &my_app::FieldRef) -> core::ObjectFieldSelector {
    core::ObjectFieldSelector {
        field_path: of.field_path.clone(),
        // The API server's default, and part of an atomic field: without it, the desired field would always differ from the stored one.
        api_version: Some("v1".to_owned()),
    }
}

/// `container` is required outside of a container.
pub(super) fn resource_field_ref(
    of: &my_app::ResourceFieldRef,
    container: Option<&str>,
) -> core::ResourceFieldSelector {
    core::ResourceFieldSelector {
        container_name: container.map(ToOwned::to_owned),
        resource: of.resource.clone(),
        // Also part of an atomic field. The API server stores a missing one as 0.
        divisor: Some(Quantity(of.divisor.clone().unwrap_or_else(|| "0".to_owned()))),
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
