//! Runs one operator: workers take keys from its queue and reconcile them. Each reconcile has a deadline, a span and metrics, and
//! a panic ends only that reconcile.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use api::{ObjectStatus, ReconcileReason};
use futures::FutureExt;
use kube::Client;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::apply::ObjectWriter;
use crate::cache::{CacheEntry, KindHealth, Projection, WatchState};
use crate::events::Publisher;
use crate::leader_election::{Fence, ForeignLeases, LeaseName};
use crate::metrics::ReconcileMetrics;
use crate::outage::Outages;
use crate::plan::Requeue;
use crate::plan::meta::Key;
use crate::projections::Resource;
use crate::reconcile::reconcile;
use crate::retry::jittered;
use crate::status::outcome::ReconcileOutcome;
use crate::status::{NoOpWrites, StatusWriter};
use crate::workqueue::{Queue, ReconcileResult, Request};
use crate::{Error, Operator};

mod preconditions;
mod requeue;
mod watch_builder;

pub use watch_builder::WatchBuilder;

/// When to requeue an object while the watch of its kind fails for a moment.
const POLL_OBJECTS_WATCH: Duration = Duration::from_secs(1);
/// When to requeue an object while watches begin again after an outage.
const POLL_RESUMING: Duration = Duration::from_millis(500);
/// When to requeue an object while a watch is stale.
const POLL_STALE_WATCH: Duration = Duration::from_secs(10);
/// When to requeue an object that another manager manages.
const POLL_FOREIGN_LEASE: Duration = Duration::from_secs(15);

/// What every controller of the process shares.
#[derive(Clone)]
pub struct ControllerSettings {
    /// This manager's Lease, which the status of each object names.
    pub lease: LeaseName,
    /// Open while this manager leads.
    pub fence: Fence,
    /// The outages of the API server.
    pub outages: Outages,
    /// Whether to take over objects of other managers at once.
    pub take_over: bool,
    /// Concurrent reconciles per controller.
    pub concurrency: u16,
    /// The deadline of a reconcile.
    pub deadline: Duration,
}

/// One operator, with its queue and everything that it needs to run.
pub struct Controller<O: Operator> {
    operator: O,
    queue: Arc<Queue>,
    context: StatusWriter,
    health: Vec<Arc<KindHealth>>,
    optional: Vec<Arc<KindHealth>>,
    foreign: Arc<ForeignLeases>,
    metrics: ReconcileMetrics,
    settings: ControllerSettings,
}

impl<O: Operator> Controller<O> {
    /// Subscribes a queue to the stores of the operator. Must be called before the cache starts, so that no change is missed.
    pub fn new(
        operator: O,
        client: Client,
        events: Publisher,
        foreign: Arc<ForeignLeases>,
        settings: ControllerSettings,
    ) -> Arc<Self> {
        let queue = Queue::new(O::NAME);
        let writer = ObjectWriter::new(client, queue.clone(), O::NAME, settings.fence.clone());
        let mut watches = WatchBuilder {
            queue: queue.clone(),
            writer,
            kind: O::Object::KIND,
            health: Vec::new(),
            optional: Vec::new(),
        };
        watches.objects(operator.objects());
        operator.watch(&mut watches);
        let WatchBuilder { writer, health, optional, .. } = watches;
        let metrics = ReconcileMetrics::new(O::NAME, settings.concurrency);
        let (managed_by, no_op_writes) = (settings.lease.to_string(), NoOpWrites::default());
        let context = StatusWriter { writer, events, managed_by, controller: O::NAME, no_op_writes };
        Arc::new(Self { operator, queue, context, health, optional, foreign, metrics, settings })
    }

    /// Runs until `stop` is canceled, and then finishes the reconciles under way.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let ready = async {
            self.watches_attempted().await;
            self.wait_for_crd_check().await;
        };
        if stop.run_until_cancelled(ready).await.is_none() {
            return;
        }
        tracing::info!(controller = O::NAME, workers = self.settings.concurrency, "starting workers");
        let mut workers = JoinSet::new();
        for _ in 0..self.settings.concurrency {
            workers.spawn(self.clone().work(stop.clone()));
        }
        stop.run_until_cancelled(self.requeue_on_changes()).await;
        self.queue.close();
        while workers.join_next().await.is_some() {}
    }

    /// Waits until each watch has listed, or has failed to.
    async fn watches_attempted(&self) {
        for health in self.health.iter().chain(&self.optional) {
            health.until_all_attempted().await;
        }
    }

    async fn work(self: Arc<Self>, stop: CancellationToken) {
        while let Some(request) = self.queue.next().await {
            // The entry is read after this, so it is up to date when this manager may write again.
            if stop.run_until_cancelled(self.settings.fence.opened()).await.is_none() {
                return;
            }
            let entry = self.operator.objects().get(&request.key);
            let generation = entry.as_ref().map_or(0, |entry| entry.meta().generation);
            let span = tracing::info_span!(
                "reconcile",
                controller = O::NAME,
                namespace = &*request.key.namespace,
                name = &*request.key.name,
                generation,
                attempt = request.failures + 1
            );
            let outcome = self.reconcile_key(entry, &request).instrument(span).await;
            self.queue.done(&request.key, generation, &outcome);
        }
    }

    /// One reconcile, with a deadline, and isolated against panics.
    async fn reconcile_key(&self, entry: Option<CacheEntry<O::Object>>, request: &Request) -> ReconcileResult {
        let begun = Instant::now();
        self.metrics.begun();
        let reconcile = AssertUnwindSafe(self.reconcile_entry(&request.key, entry, request.failures)).catch_unwind();
        // Not only writes end with the leadership, but also acts on databases.
        let reconcile = async {
            tokio::select! {
                biased;
                () = self.settings.fence.closed() => Ok(Err(Error::not_leading())),
                result = reconcile => result,
            }
        };
        let result = match tokio::time::timeout(self.settings.deadline, reconcile).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => {
                self.metrics.panicked();
                Err(Error::transient(ReconcileReason::Panic, "the reconcile panicked; see the log"))
            }
            Err(_) => {
                self.metrics.timed_out();
                Err(Error::transient(
                    ReconcileReason::Timeout,
                    format!("the reconcile took more than {:?}", self.settings.deadline),
                ))
            }
        };
        let (outcome, label) = match result {
            Ok(Requeue::OnChange) => (ReconcileResult::Done, "success"),
            Ok(Requeue::After(delay)) => (ReconcileResult::RequeueAfter(jittered(delay)), "requeue_after"),
            Err(error) => (failed(&error, request.failures), "error"),
        };
        self.metrics.ended(label, begun.elapsed());
        outcome
    }

    async fn reconcile_entry(
        &self,
        key: &Key,
        entry: Option<CacheEntry<O::Object>>,
        failures: u32,
    ) -> Result<Requeue, Error> {
        let Some(entry) = entry else {
            self.context.forget(key);
            crate::metrics::objects::forget(O::NAME, key);
            return Ok(Requeue::OnChange);
        };
        if let CacheEntry::Object(object) = &entry
            && !self.operator.manages(object)
        {
            self.context.stop_reporting(object.meta());
            return Ok(Requeue::OnChange);
        }
        if let Some(next) = self.wait_for_crd(&entry).await? {
            return Ok(next);
        }
        let object = match entry {
            CacheEntry::Object(object) => object,
            CacheEntry::Undecodable(undecodable) => {
                // Only the manager that manages the object writes what is wrong with it.
                if self.managed_elsewhere(&undecodable.contract).await.is_some() {
                    return Ok(Requeue::After(POLL_FOREIGN_LEASE));
                }
                self.context.write_undecodable(&O::Object::KIND, &undecodable, crate::clock::now()).await?;
                return Ok(Requeue::OnChange);
            }
        };
        if let Some(message) = self.managed_elsewhere(object.status().contract()).await {
            self.context.write_conflict(&*object, message, crate::clock::now()).await?;
            return Ok(Requeue::After(POLL_FOREIGN_LEASE));
        }
        if let Some(why) = self.stale(&key.namespace) {
            if self.settings.outages.is_resuming() {
                return Ok(Requeue::After(POLL_RESUMING));
            }
            let stale = Error::Transient { reason: ReconcileReason::WatchFailing.into(), message: why, stalled: true };
            self.context.write(&*object, None, ReconcileOutcome::Failed(&stale), failures, crate::clock::now()).await?;
            return Ok(Requeue::After(POLL_STALE_WATCH));
        }
        // A late event of a child costs one needless apply. But the children of an object whose deletion was missed would be
        // created and garbage collected in turns.
        if matches!(self.operator.objects().health().state(&key.namespace), WatchState::Failing { .. }) {
            return Ok(Requeue::After(POLL_OBJECTS_WATCH));
        }
        reconcile(&self.operator, &self.context, &object, failures).await
    }
}

/// Logs a failure, and decides how the key is retried.
fn failed(error: &Error, failures: u32) -> ReconcileResult {
    // Waiting and a first conflict are expected; the status of the object reports them.
    if matches!(error, Error::Blocked { .. }) || error.is_expected(failures) {
        tracing::debug!(class = error.class(), reason = &*error.reason(), "{error}");
    } else {
        tracing::warn!(class = error.class(), reason = &*error.reason(), "{error}");
    }
    match error {
        Error::Transient { .. } => ReconcileResult::Failed,
        Error::Invalid { .. } | Error::Blocked { .. } => ReconcileResult::Parked,
    }
}
