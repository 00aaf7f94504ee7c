//! Looks that both operators take.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use runtime::cache::{Entry, View};
use runtime::plan::meta::DICTATED_USERS;

use crate::Snapshot;

/// Those that decode.
pub(crate) fn decoded<V: View>(entries: Vec<Entry<V>>) -> Vec<Arc<V>> {
    entries.into_iter().filter_map(Entry::into_object).collect()
}

/// Whether a namespace dictates whom pods run as. If that cannot be read, it is not known to.
pub(crate) async fn dictates_users(client: &Client, namespace: &str) -> bool {
    let api: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
    match api.get_opt(namespace).await {
        Ok(found) => found
            .and_then(|found| found.metadata.annotations)
            .is_some_and(|annotations| annotations.contains_key(DICTATED_USERS)),
        Err(error) => {
            tracing::debug!(%error, "the namespace cannot be read");
            false
        }
    }
}

/// Whether nothing can be made any more of what a deletion needs: because the namespace is being deleted, or the kind of
/// snapshots is. If that cannot be read, it is not known to be.
pub(crate) async fn is_going(client: &Client, namespace: &str) -> bool {
    let api: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
    match api.get_opt(namespace).await {
        Ok(found) if found.as_ref().is_none_or(|found| found.metadata.deletion_timestamp.is_some()) => return true,
        Ok(_) => {}
        Err(error) => tracing::debug!(%error, "the namespace cannot be read"),
    }
    match client.list_api_group_resources(&Snapshot::KIND.api_version()).await {
        Ok(served) => !served.resources.iter().any(|of| of.name == Snapshot::KIND.plural && can_be_made(&of.verbs)),
        Err(kube::Error::Api(status)) if status.code == 404 => true,
        Err(error) => {
            tracing::debug!(%error, "what is served cannot be read");
            false
        }
    }
}

/// The API server offers no `create` of a kind that is being deleted.
fn can_be_made(verbs: &[String]) -> bool {
    verbs.iter().any(|verb| verb == "create")
}
