//! The API server, as a manager queries it.

use api::ReconcileReason;
use kube::Client;
use runtime::namespaces::NamespaceReader;
use runtime::plan::{Create, DryRun, Key, ResourceKind};
use runtime::{Error, pod_requests};
use serde_json::Value;

use crate::queries::ApiQueries;

/// Requests by name. Namespaces are cached.
pub(crate) struct LiveApi {
    pub(crate) client: Client,
    namespaces: NamespaceReader,
}

impl LiveApi {
    pub(crate) fn new(client: Client) -> Self {
        Self { namespaces: NamespaceReader::new(client.clone()), client }
    }
}

impl ApiQueries for LiveApi {
    async fn get(&self, kind: ResourceKind, key: &Key) -> Result<Option<Value>, Error> {
        let request = http::Request::get(kind.path_of(key)).body(Vec::new());
        let request = request.map_err(|error| Error::transient(ReconcileReason::Unsendable, error.to_string()))?;
        match self.client.request::<Value>(request).await {
            Ok(found) => Ok(Some(found)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn dry_run(&self, pod: &Create) -> DryRun {
        pod_requests::dry_run(&self.client, pod).await
    }

    async fn assigns_uids(&self, namespace: &str) -> Result<bool, Error> {
        self.namespaces.assigns_uids(namespace).await
    }

    async fn is_terminating(&self, namespace: &str, kind: ResourceKind) -> bool {
        self.namespaces.is_terminating(namespace, kind).await
    }
}
