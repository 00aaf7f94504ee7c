//! Pure: the desired children.

mod claim;
mod config;
mod container;
pub(crate) mod secret;
mod server;
mod services;
mod snapshot;
mod trial;

pub(super) use claim::{data_claim, new_data_claim, own_snapshot_claim, snapshot_claim};
pub(crate) use config::OWN_PARAMETERS;
pub(super) use config::{configuration, connection, file};
pub(crate) use container::CONFIGURATION;
pub use secret::{SecretRole, entries, secret};
pub(super) use server::{
    PARAMETERS, TEMPLATE, annotated, labeled, parameters, replacement_pod, server, target_server, template,
    unless_current,
};
pub(super) use services::{peers, read_write, serving};
pub(super) use snapshot::{final_snapshot, snapshot};
pub(super) use trial::{trial, trial_labels};
