//! Pure: the plan for a MyApp.

mod children;
mod contents;
mod deadline;
mod decision;
mod desired_state;
mod dry_run;
mod free_json;
mod name_taken;
mod objects;
mod observed;
mod order;
mod overrides;
mod rollback;
mod route_objects;
mod scaling;
mod standstill;
mod status;
mod stuck;

pub use contents::{DryRunFailure, RestartContents, UnreadSource};
pub use decision::plan;
pub use dry_run::dry_run_pod;
pub use observed::Observed;
pub use overrides::OverrideLimit;
pub use standstill::Standstill;

#[cfg(test)]
mod tests;
