//! An API server in memory, behind the manager's own Kubernetes client.
//!
//! It does what the real one does with the requests that the manager and the actors send, as far as outcomes depend on it. What it
//! does not model fails: it never accepts a request and ignores a part of it.

pub mod answer;
mod change_times;
pub mod clients;
mod copies;
pub mod deletion;
pub mod discovery;
pub mod errors;
pub mod fate;
pub mod field_set;
pub mod field_types;
pub mod kinds;
pub mod managers;
pub mod pages;
pub mod parse;
pub mod preparation;
pub mod request;
pub mod selector;
pub mod service;
pub mod state;
pub mod verbs;
pub mod watch;

pub use service::SimulatedApiServer;
