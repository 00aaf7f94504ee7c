//! The children, as they should be. Pure.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::View;
use runtime::plan::meta::{self, OWNER_KIND, child_meta};

use crate::SampleDB;

mod claim;
mod config;
mod job;
pub(crate) mod pod;
mod secret;
mod server;
mod services;
mod snapshot;

pub(super) use claim::{data_claim, new_data_claim, snapshot_claim};
pub(crate) use config::OWN_PARAMETERS;
pub(super) use config::{configuration, connection};
pub(crate) use job::{JobOf, job};
pub(crate) use pod::Place;
pub use secret::{SecretOf, entries, secret};
pub(crate) use server::{CONFIGURATION, SERVER};
pub(super) use server::{PARAMETERS, TEMPLATE, fingerprint, parameters, server, successor, template};
pub(super) use services::{peers, read_write};
pub(crate) use snapshot::ONLINE;
pub(super) use snapshot::{final_snapshot, snapshot};

/// The port that the server listens at.
pub(crate) const PORT: i32 = 5432;
/// The superuser, as initdb makes it.
pub(crate) const SUPERUSER: &str = "postgres";
/// Label with the uid of the database that something which outlives it was made for.
pub(crate) const OWNER_UID: &str = "multi-operator.example.com/owner-uid";

/// The labels of every child.
pub(crate) fn labels(db: &SampleDB) -> BTreeMap<String, String> {
    let mut labels = meta::labels(&SampleDB::KIND, &db.meta);
    labels.insert(OWNER_KIND.to_owned(), SampleDB::KIND.qualified());
    labels
}

/// The metadata of a child that goes with the database.
fn owned(db: &SampleDB) -> ObjectMeta {
    ObjectMeta { labels: Some(labels(db)), ..child_meta(&SampleDB::KIND, &db.meta) }
}

/// The metadata of what outlives the database: it has no owner, since a foreground deletion takes away whatever has one
/// before the last snapshot is taken.
fn free(db: &SampleDB) -> ObjectMeta {
    let mut labels = labels(db);
    labels.insert(OWNER_UID.to_owned(), db.meta.uid.to_string());
    ObjectMeta { labels: Some(labels), annotations: Some(meta::not_for_pruning()), ..ObjectMeta::default() }
}

/// Whether what has no owner was made for the database, or has been taken over, or is because a person says so; by its
/// labels.
pub(crate) fn is_own(db: &SampleDB, labels: &BTreeMap<String, String>) -> bool {
    let Some(owner) = labels.get(OWNER_UID) else { return false };
    let named = db.annotations.get(api::sample_db::ADOPT).is_some_and(|uid| **uid == **owner);
    **owner == *db.meta.uid || named || db.status.storage.adopted_from.contains(owner)
}

/// The labels by which Services find the server's pod.
fn selector(db: &SampleDB) -> BTreeMap<String, String> {
    let mut selector = meta::selector(&SampleDB::KIND, &db.meta);
    selector.insert(COMPONENT.to_owned(), "server".to_owned());
    selector
}

/// Label with the part that a pod plays.
const COMPONENT: &str = "app.kubernetes.io/component";
