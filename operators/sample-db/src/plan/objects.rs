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
mod trial;

pub(super) use claim::{data_claim, new_data_claim, own_snapshot_claim, snapshot_claim};
pub(crate) use config::OWN_PARAMETERS;
pub(super) use config::{configuration, connection, file};
pub(crate) use job::{JobOf, job};
pub(crate) use pod::Place;
pub use secret::{SecretOf, entries, secret};
pub(crate) use server::{CONFIGURATION, SERVER};
pub(super) use server::{
    PARAMETERS, TEMPLATE, fingerprint, labeled, noted, parameters, probe, server, successor, template, unless,
};
pub(super) use services::{peers, read_write, serving};
pub(crate) use snapshot::ONLINE;
pub(super) use snapshot::{final_snapshot, snapshot};
pub(crate) use trial::placed;
pub(super) use trial::{PLACEMENT, mark, placement, trial, trial_labels};

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
    labels.get(OWNER_UID).is_some_and(|owner| is_own_uid(db, owner))
}

/// Whether that uid is the database's, or of one whose data it has taken over, or is to because a person says so. What is being
/// deleted before it has seen any data takes nothing over, only to delete it.
pub(super) fn is_own_uid(db: &SampleDB, owner: &str) -> bool {
    let named = !db.meta.deleting && adopted_uid(db) == Some(owner);
    *owner == *db.meta.uid || named || db.status.storage.adopted_from.iter().any(|uid| uid == owner)
}

/// Whose data the database takes over, or has taken over, because a person says so. Beside data of its own it takes nothing over,
/// whatever the annotation says: it is another database's until somebody deletes this one.
pub(super) fn adopted_uid(db: &SampleDB) -> Option<&str> {
    let named = db.annotations.get(api::sample_db::ADOPT).map(|uid| &**uid)?;
    let known = db.status.storage.adopted_from.iter().any(|uid| uid == named);
    (known || db.status.initialization.data_created_at.is_none()).then_some(named)
}

/// The labels by which a StatefulSet finds its pod. They cannot be changed.
fn selector(db: &SampleDB) -> BTreeMap<String, String> {
    let mut selector = meta::selector(&SampleDB::KIND, &db.meta);
    selector.insert(COMPONENT.to_owned(), "server".to_owned());
    selector
}

/// The labels by which Services find the servers' pods: where all of these have it, also the uid of their database, so that
/// no foreign pod with the same labels gets what is meant for them.
fn selected(db: &SampleDB, by_owner: bool) -> BTreeMap<String, String> {
    let mut labels = selector(db);
    labels.extend(by_owner.then(|| (OWNER_UID.to_owned(), db.meta.uid.to_string())));
    labels
}

/// Label with the part that a pod plays.
const COMPONENT: &str = "app.kubernetes.io/component";
/// Label by which the StatefulSet controller marks each pod.
/// Source: <https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-name-label>
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
