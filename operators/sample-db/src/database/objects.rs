//! Pure: the children, as they should be.

mod claim;
mod config;
pub(crate) mod secret;
mod server;
mod services;
mod snapshot;
mod trial;

pub(super) use claim::{data_claim, new_data_claim, own_snapshot_claim, snapshot_claim};
pub(crate) use config::OWN_PARAMETERS;
pub(super) use config::{configuration, connection, file};
pub use secret::{SecretOf, entries, secret};
pub(crate) use server::CONFIGURATION;
pub(super) use server::{PARAMETERS, TEMPLATE, labeled, noted, parameters, probe, server, successor, template, unless};
pub(super) use services::{peers, read_write, serving};
pub(super) use snapshot::{final_snapshot, snapshot};
pub(super) use trial::{trial, trial_labels};
