//! Looks that both operators take.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use runtime::cache::Entry;

/// Those that decode.
pub(crate) fn decoded<V>(entries: Vec<Entry<V>>) -> Vec<Arc<V>> {
    let object = |entry| match entry {
        Entry::Object(object) => Some(object),
        Entry::Broken(_) => None,
    };
    entries.into_iter().filter_map(object).collect()
}

/// Whether a namespace is being deleted, in which nothing can be made any more. If that cannot be read, it is not known
/// to be.
pub(crate) async fn is_going(client: &Client, namespace: &str) -> bool {
    let api: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
    match api.get_opt(namespace).await {
        Ok(found) => found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()),
        Err(error) => {
            tracing::debug!(%error, "the namespace cannot be read");
            false
        }
    }
}
