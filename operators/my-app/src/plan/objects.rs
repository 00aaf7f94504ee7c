//! The children, as they should be. Pure.

mod container;
mod deployment;
mod disruption_budget;
mod service;

pub(super) use deployment::{deployment, selector};
pub(super) use disruption_budget::disruption_budget;
pub(super) use service::service;
