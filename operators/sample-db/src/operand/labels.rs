//! Pure: labels and metadata of the objects that belong to a database.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection;
use runtime::plan::meta::{self, OWNER_KIND, child_meta};

use super::kinds::SampleDB;

/// Label with the uid of the database that something which outlives it was made for.
pub(crate) const OWNER_UID: &str = "multi-operator.example.com/owner-uid";

/// The labels of every child.
pub(crate) fn labels(db: &SampleDB) -> BTreeMap<String, String> {
    let mut labels = meta::labels(&SampleDB::KIND, &db.meta);
    labels.insert(OWNER_KIND.to_owned(), SampleDB::KIND.qualified());
    labels
}

/// The metadata of a child that goes with the database.
pub(crate) fn owned(db: &SampleDB) -> ObjectMeta {
    ObjectMeta { labels: Some(labels(db)), ..child_meta(&SampleDB::KIND, &db.meta) }
}

/// The metadata of what outlives the database: it has no owner, since a foreground deletion takes away whatever has one
/// before the last snapshot is taken.
pub(crate) fn free(db: &SampleDB) -> ObjectMeta {
    let mut labels = labels(db);
    labels.insert(OWNER_UID.to_owned(), db.meta.uid.to_string());
    ObjectMeta { labels: Some(labels), annotations: Some(meta::not_for_pruning()), ..ObjectMeta::default() }
}

/// The labels by which a StatefulSet finds its pod. They cannot be changed.
pub(crate) fn selector(db: &SampleDB) -> BTreeMap<String, String> {
    let mut selector = meta::selector(&SampleDB::KIND, &db.meta);
    selector.insert(COMPONENT.to_owned(), "server".to_owned());
    selector
}

/// The labels by which Services find the servers' pods: where all of these have it, also the uid of their database, so that
/// no foreign pod with the same labels gets what is meant for them.
pub(crate) fn selected(db: &SampleDB, by_owner: bool) -> BTreeMap<String, String> {
    let mut labels = selector(db);
    labels.extend(by_owner.then(|| (OWNER_UID.to_owned(), db.meta.uid.to_string())));
    labels
}

/// Label with the part that a pod plays.
const COMPONENT: &str = "app.kubernetes.io/component";
/// Label by which the StatefulSet controller marks each pod.
/// Source: <https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-name-label>
pub(crate) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
