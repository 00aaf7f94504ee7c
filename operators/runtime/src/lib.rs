//! What all operators share. It knows none of this project's kinds.
//!
//! ```text
//! API server --watch--> cache (one watch and one store per kind) --keys, on change and on delete--> workqueue
//!    -> observe(object)       the operator reads stores and live systems into data
//!    -> plan(&observed, now)  pure: which effects, in which order; the status if all succeed; when to requeue
//!    -> apply                 performs the effects, stops at the first failure
//!    -> status                written only if more than a time changed
//!    -> done, requeue, or back off
//! ```
//!
//! [`reconcile`] contains these steps, once for all kinds; [`controller`] adds workers, deadlines, spans and metrics. The first
//! line of a pure file says so. Only [`apply`] and [`status`] write to objects.

pub mod apply;
pub mod cache;
pub mod client;
pub mod clock;
pub mod controller;
pub mod crd;
pub mod error;
pub mod events;
#[cfg(feature = "failpoints")]
mod failpoint;
pub mod job;
pub mod leader_election;
pub mod manager_pod;
pub mod message;
pub mod metrics;
pub mod names;
pub mod namespaces;
pub mod operator;
pub mod outage;
pub mod permissions;
pub mod plan;
pub mod pod;
pub mod pod_requests;
pub mod projections;
pub mod quantity;
pub mod reconcile;
pub mod retry;
pub mod schedule;
pub mod status;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod watched_value;
pub mod workqueue;

pub use error::Error;
pub use operator::Operator;
