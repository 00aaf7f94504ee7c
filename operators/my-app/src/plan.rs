//! What to do about a MyApp. Pure.

mod children;
mod contents;
mod deadline;
mod decision;
mod free_json;
mod objects;
mod observed;
mod order;
mod overrides;
mod rollback;
mod scaling;
mod stand;
mod status;
mod taken;
mod trial;
mod ways_in;
mod wedged;
mod wish;

pub use contents::{Contents, Refused, Unread};
pub use decision::plan;
pub use observed::Observed;
pub use overrides::Limit;
pub use stand::Stand;
pub use trial::trial;

#[cfg(test)]
mod tests;
