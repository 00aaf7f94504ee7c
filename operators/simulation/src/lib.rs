//! The whole manager in one deterministic process: a world of one thread, with a clock that only waiting advances, in which two
//! managers run against an API server in memory, beside actors that play everybody else in a cluster.
//!
//! Everything that could differ between two runs comes from one seed: which request is lost, when a watch is cut, when a manager is
//! killed, what a user does. So a run is known by its scenario and its seed, and is the same again each time.

pub mod actors;
pub mod api_server;
pub mod call_faults;
pub mod conformance;
pub mod content;
pub mod coverage;
pub mod etcd;
pub mod happening;
pub mod objects;
pub mod operands;
pub mod oracle;
pub mod postgres;
pub mod process;
pub mod random;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod seed;
pub mod shrink;
pub mod story;
pub mod user;
