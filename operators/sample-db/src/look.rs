//! Looks that both operators take.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use runtime::cache::{Entry, View};
use runtime::plan::meta::DICTATED_USERS;

/// Those that decode.
pub(crate) fn decoded<V: View>(entries: Vec<Entry<V>>) -> Vec<Arc<V>> {
    entries.into_iter().filter_map(Entry::into_object).collect()
}

/// What is known of a namespace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NamespaceSeen {
    /// It is being deleted: nothing can be made in it any more.
    pub(crate) going: bool,
    /// It dictates whom pods run as.
    pub(crate) dictates_users: bool,
}

/// Looks at a namespace. Of what cannot be read, nothing is known.
pub(crate) async fn namespace(client: &Client, namespace: &str) -> NamespaceSeen {
    let api: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
    match api.get_opt(namespace).await {
        Ok(None) => NamespaceSeen { going: true, dictates_users: false },
        Ok(Some(found)) => NamespaceSeen {
            going: found.metadata.deletion_timestamp.is_some(),
            dictates_users: found.metadata.annotations.is_some_and(|all| all.contains_key(DICTATED_USERS)),
        },
        Err(error) => {
            tracing::debug!(%error, "the namespace cannot be read");
            NamespaceSeen::default()
        }
    }
}
