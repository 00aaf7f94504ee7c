//! Pure: labels and metadata of the objects that belong to a database.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection;
use runtime::plan::meta::{self, OWNER_KIND, child_meta};

use super::kinds::SampleDB;

/// Label with the UID of the database that an object was created for, if the object outlives it.
pub(crate) const OWNER_UID: &str = "multi-operator.example.com/owner-uid";

/// The labels of every child.
pub(crate) fn labels(db: &SampleDB) -> BTreeMap<String, String> {
    let mut labels = meta::labels(&SampleDB::KIND, &db.meta);
    labels.insert(OWNER_KIND.to_owned(), SampleDB::KIND.qualified());
    labels
}

/// The metadata of a child that the database owns.
pub(crate) fn owned_meta(db: &SampleDB) -> ObjectMeta {
    ObjectMeta { labels: Some(labels(db)), ..child_meta(&SampleDB::KIND, &db.meta) }
}

/// The metadata of an object that outlives the database. It has no owner, since a foreground deletion would delete it before the
/// final snapshot is taken.
pub(crate) fn unowned_meta(db: &SampleDB) -> ObjectMeta {
    let mut labels = labels(db);
    labels.insert(OWNER_UID.to_owned(), db.meta.uid.to_string());
    ObjectMeta { labels: Some(labels), annotations: Some(meta::argocd_no_prune_annotations()), ..ObjectMeta::default() }
}

/// The labels by which a StatefulSet finds its pod. They cannot be changed.
pub(crate) fn selector(db: &SampleDB) -> BTreeMap<String, String> {
    let mut selector = meta::selector(&SampleDB::KIND, &db.meta);
    selector.insert(COMPONENT.to_owned(), "server".to_owned());
    selector
}

/// The labels by which Services find the servers' pods. Once all pods have the UID of their database, that is part of them, so
/// that no foreign pod with the other labels gets the traffic.
pub(crate) fn service_selector(db: &SampleDB, by_owner: bool) -> BTreeMap<String, String> {
    let mut labels = selector(db);
    labels.extend(by_owner.then(|| (OWNER_UID.to_owned(), db.meta.uid.to_string())));
    labels
}

/// Label with the role of a pod.
const COMPONENT: &str = "app.kubernetes.io/component";
/// Label that the StatefulSet controller sets on each pod.
/// Source: <https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-name-label>
pub(crate) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
