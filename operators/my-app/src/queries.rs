//! Queries to the API server for what the caches do not have: the content of objects that `restartOn` names, and dry runs of pods.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use runtime::cache::Store;
use runtime::plan::{Create, Key};

use crate::MyApp;
use crate::dry_runs::DryRuns;
use crate::plan::DryRunFailure;
use crate::sources::{RestartSource, SourceReader, SourceState};

/// Queries to live systems. Tests implement them with an API server in memory.
pub trait Queries: Send + Sync {
    /// What is known of an object that `restartOn` names, and for how long that is valid.
    fn content(&self, source: &RestartSource) -> impl Future<Output = (SourceState, Duration)> + Send;

    /// The failure if the API server rejects `pod`, a pod of the MyApp `app`, or does not answer; `None` once it has accepted that pod.
    fn dry_run(&self, app: &Key, pod: &Create) -> impl Future<Output = Option<DryRunFailure>> + Send;
}

/// The API server, with a cache of its answers.
pub(crate) struct ApiServer {
    apps: Arc<Store<MyApp>>,
    dry_runs: DryRuns,
    sources: SourceReader,
}

impl ApiServer {
    /// The API server of `client`. The cache drops answers about MyApps that are no longer in `apps`.
    pub(crate) fn new(client: Client, apps: Arc<Store<MyApp>>) -> Self {
        Self { apps, dry_runs: DryRuns::new(client.clone()), sources: SourceReader::new(client) }
    }
}

impl Queries for ApiServer {
    async fn content(&self, source: &RestartSource) -> (SourceState, Duration) {
        self.sources.read(source).await
    }

    async fn dry_run(&self, app: &Key, pod: &Create) -> Option<DryRunFailure> {
        self.dry_runs.retain(|key| self.apps.get(key).is_some());
        self.dry_runs.query(app, pod).await
    }
}
