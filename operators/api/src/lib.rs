//! The custom resources of multi-operator, as types: what a client of ours depends on.
//!
//! Nothing here talks to a cluster. Doc comments become the descriptions in the CRDs, CEL rules become their
//! validation; [`crds`] returns all definitions, ready to apply.

#![allow(clippy::duplicated_attributes, reason = "columns of one type are no duplicates")]

mod crd;
pub mod etcd_cluster;
pub mod my_app;
pub mod quantity;
mod reason;
pub mod sample;
pub mod sample_db;
pub mod sample_db_snapshot;
mod status;

pub use crd::crds;
pub use reason::{PodReason, Reason, ReconcileReason};
pub use status::{Condition, ConditionStatus, Contract, ISO_SECONDS, Status, condition_type};

/// Group of the etcd kinds.
pub const ETCD_GROUP: &str = "etcd.database.coreos.com";
/// The finalizer that keeps the claim of a database's or an etcd member's data until the data is saved or given up.
pub const UNSAVED_DATA: &str = "example.com/unsaved-data";
/// Group of MyApp, Sample and the databases.
pub const GROUP: &str = "example.com";

/// Which fields the CRDs have, a line of JSON each kind and version: group, version, kind and schema, the latter with types and
/// names alone. Generated from [`crds`], which a manager is not to build only to know that much.
pub const FIELDS: &str = include_str!("fields.jsonl");
