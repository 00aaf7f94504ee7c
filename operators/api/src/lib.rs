//! Pure: the custom resources of multi-operator, as types: the API that clients depend on.
//!
//! Nothing here talks to a cluster. Doc comments become the descriptions in the CRDs, CEL rules become their
//! validation; [`crds`] returns all definitions, ready to apply.

#![allow(clippy::duplicated_attributes, reason = "columns of one type are no duplicates")]

mod crd;
pub mod etcd_backup;
pub mod etcd_cluster;
pub mod etcd_restore;
pub mod my_app;
mod names;
pub mod quantity;
mod reason;
pub mod s3;
pub mod sample;
pub mod sample_db;
pub mod sample_db_snapshot;
mod service_type;
mod status;
pub mod store;
pub mod time;

pub use crd::crds;
pub use names::{ETCD_GROUP, GROUP, UNSAVED_DATA};
pub use reason::{PodReason, Reason, ReconcileReason};
pub use service_type::ServiceType;
pub use status::{Condition, ConditionStatus, Contract, ISO_SECONDS, ObjectStatus, condition_type};

/// The fields of the CRDs, one line of JSON per kind and version: group, version, kind and schema with only types and
/// names. Generated from [`crds`], which a manager need not build only to know the fields.
pub const FIELDS: &str = include_str!("fields.jsonl");
