//! The machinery that all operators share. It knows no kind of ours.
//!
//! ```text
//! API server --watch--> cache (one watch and one store a kind) --keys, on change and on delete--> workqueue
//!    -> observe(object)       the operator reads stores and live systems into data
//!    -> plan(&observed, now)  pure: which effects, in which order; the status if all succeed; when to look again
//!    -> apply                 performs effects, stops at the first failure
//!    -> status                patched only if more than a time changed
//!    -> done, requeue or backoff
//! ```
//!
//! [`reconcile`] is that body, once for every kind; [`controller`] wraps it in workers, deadlines, spans and metrics.
//! Pure files say so in their first line; [`apply`] and [`status`] are the only modules that write to objects.

pub mod apply;
pub mod cache;
pub mod client;
pub mod controller;
pub mod crd;
pub mod error;
pub mod events;
#[cfg(feature = "failpoints")]
mod failpoint;
pub mod job;
pub mod leader_election;
pub mod metrics;
pub mod names;
pub mod namespaces;
pub mod operator;
pub mod outage;
pub mod own_pod;
pub mod permissions;
pub mod plan;
pub mod pod;
pub mod pod_requests;
pub mod projections;
pub mod quantity;
pub mod reconcile;
pub mod retry;
pub mod status;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod workqueue;

pub use error::Error;
pub use operator::Operator;
