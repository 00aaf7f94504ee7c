//! Scenarios: which kinds of objects users work with, and what they may do to them.

mod definition;
mod deletion;
pub mod etcd_cluster;
pub mod my_app;
pub mod sample;
pub mod sample_db;

pub use definition::Scenario;

/// All scenarios.
pub const ALL: [Scenario; 4] = [sample::SCENARIO, my_app::SCENARIO, etcd_cluster::SCENARIO, sample_db::SCENARIO];

/// The scenario of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}
