//! Pure: the desired children.

mod autoscaler;
mod container;
mod defaults;
mod deployment;
mod disruption_budget;
mod ports;
mod route;
mod service;
mod volumes;

pub(super) use autoscaler::{autoscaler, unreadable_metrics};
pub(super) use container::NAME as CONTAINER;
pub(super) use defaults::add_defaults;
pub(super) use deployment::{deployment, resumed, selector, without_pace};
pub(super) use disruption_budget::disruption_budget;
pub(super) use route::{http_route, ingress, to_port};
pub(super) use service::service;

#[cfg(test)]
mod tests;
