//! What the manager serves: `/healthz` and `/readyz`, over HTTP to every client, and `/metrics` at its own address.
//!
//! Bare hyper: three paths need no router. The number of connections and the duration of each are limited; each serves one request.

mod auth;
mod connections;
mod metrics;
mod probes;
mod process;
mod response;
mod tls;

pub use metrics::{MetricsOptions, MetricsServer};
pub use probes::{CheckResult, HealthCheck, HealthReporter, HealthServer};
