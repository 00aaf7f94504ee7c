//! What the manager serves: `/healthz` and `/readyz`, plain and open, and `/metrics` on an address of its own.
//!
//! Bare hyper: three paths need no router. Every connection is bounded in time and in number, and answers one request.

mod auth;
mod connections;
mod metrics;
mod probes;
mod process;
mod response;
mod tls;

pub use metrics::{MetricsOptions, MetricsServer};
pub use probes::{Check, Health, HealthServer, State};
