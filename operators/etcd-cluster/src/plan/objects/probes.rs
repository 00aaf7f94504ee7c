//! Pure: the startup, readiness and liveness probes of a member. They need no shell in the image, and liveness needs no quorum:
//! to kill a member because others are down does not help.
//!
//! etcd serves `/livez` and `/readyz` from 3.4.29, 3.5.11 and 3.6 on (its changelogs). Probes of earlier ones only connect to the
//! client port. They do not use `/health`: up to 3.4 each request of it goes through the log, as a request of API v2, and etcd
//! 3.6 does not start on a log with one.

use k8s_openapi::api::core::v1::{HTTPGetAction, Probe, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::ports::{CLIENT_PORT, METRICS_PORT};
use crate::plan::version::Version;

/// Whether that version has a listener for metrics (and, later, health).
pub(super) fn has_metrics_listener(version: &Version) -> bool {
    version.at_least(3, 3, 0)
}

/// Whether the probes of that version check its health, and do not only connect to its port.
pub(in crate::plan) fn has_health_probes(version: &Version) -> bool {
    match version.minor {
        0..=3 => false,
        4 => version.patch >= 29,
        5 => version.patch >= 11,
        _ => true,
    }
}

/// Loading a large database takes minutes; half an hour is for the largest.
pub(super) fn startup(version: &Version) -> Probe {
    Probe { period_seconds: Some(1), failure_threshold: Some(1800), timeout_seconds: Some(5), ..alive(version) }
}

pub(super) fn liveness(version: &Version) -> Probe {
    Probe { period_seconds: Some(10), failure_threshold: Some(6), timeout_seconds: Some(5), ..alive(version) }
}

pub(super) fn readiness(version: &Version) -> Probe {
    let serves = if has_health_probes(version) { http("/readyz") } else { tcp() };
    // Often, since a learner becomes ready only when it is promoted.
    Probe { period_seconds: Some(1), failure_threshold: Some(3), timeout_seconds: Some(4), ..serves }
}

fn alive(version: &Version) -> Probe {
    if has_health_probes(version) { http("/livez") } else { tcp() }
}

fn http(path: &str) -> Probe {
    let get = HTTPGetAction {
        path: Some(path.to_owned()),
        port: IntOrString::Int(METRICS_PORT),
        scheme: Some("HTTP".to_owned()),
        ..HTTPGetAction::default()
    };
    Probe { http_get: Some(get), ..Probe::default() }
}

fn tcp() -> Probe {
    Probe { tcp_socket: Some(TCPSocketAction { host: None, port: IntOrString::Int(CLIENT_PORT) }), ..Probe::default() }
}
