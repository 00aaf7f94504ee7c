//! Pure: what databases and their snapshots have in common: kinds, names, labels, pods, Jobs, releases, and
//! what a status alone says. It imports neither of the two.

pub(crate) mod agent_job;
pub mod database_state;
pub mod kinds;
pub(crate) mod labels;
pub mod names;
pub(crate) mod pod;
pub mod release;
pub(crate) mod retention;
pub(crate) mod scheduling;
pub mod snapshot_state;
pub(crate) mod time;
pub(crate) mod usage;
