//! Queries to the API server for what the caches do not hold: the content of what `restartOn` names, and dry runs of pods.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use runtime::cache::Store;
use runtime::plan::{Create, Key};

use crate::MyApp;
use crate::dry_runs::DryRuns;
use crate::plan::DryRunFailure;
use crate::sources::{Found, Source, Sources};

/// Queries of live systems. Tests put an API server in memory in their place.
pub trait Queries: Send + Sync {
    /// What is known of an object that `restartOn` names, and for how long that holds.
    fn content(&self, source: &Source) -> impl Future<Output = (Found, Duration)> + Send;

    /// Whether the API server refuses `pod`, which is one of the MyApp `app`, or does not answer; `None` once it has accepted that pod.
    fn dry_run(&self, app: &Key, pod: &Create) -> impl Future<Output = Option<DryRunFailure>> + Send;
}

/// The API server, with a cache of its answers.
pub(crate) struct ApiServer {
    apps: Arc<Store<MyApp>>,
    dry_runs: DryRuns,
    sources: Sources,
}

impl ApiServer {
    /// The API server that `client` reaches. Answers about MyApps that are not in `apps` any more are forgotten.
    pub(crate) fn new(client: Client, apps: Arc<Store<MyApp>>) -> Self {
        Self { apps, dry_runs: DryRuns::new(client.clone()), sources: Sources::new(client) }
    }
}

impl Queries for ApiServer {
    async fn content(&self, source: &Source) -> (Found, Duration) {
        self.sources.read(source).await
    }

    async fn dry_run(&self, app: &Key, pod: &Create) -> Option<DryRunFailure> {
        self.dry_runs.retain(|key| self.apps.get(key).is_some());
        self.dry_runs.query(app, pod).await
    }
}
