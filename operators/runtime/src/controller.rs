//! Runs one operator: workers that take keys from its queue and reconcile them, each pass with a deadline, a span,
//! metrics, and a wall against panics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{ReconcileReason, Status};
use futures::FutureExt;
use jiff::Timestamp;
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::apply::Writer;
use crate::cache::{Entry, Health, Projection, State, Watches as Sources};
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
use crate::status::{StatusWriter, Vain};
use crate::workqueue::{Queue, ReconcileResult, Request};
use crate::{Error, Operator};

mod obstacles;
mod react;
mod watches;

pub use watches::Watches;

/// When to look again while the objects' own watch fails for a moment.
const OBJECTS_AGAIN: Duration = Duration::from_secs(1);
/// When to look again while watches begin again after an outage.
const RESUMED_AGAIN: Duration = Duration::from_millis(500);
/// When to look again while a watch fails.
const WATCH_AGAIN: Duration = Duration::from_secs(10);
/// When to look again at an object that another manager holds.
const HELD_AGAIN: Duration = Duration::from_secs(15);

/// What every controller of the process shares.
#[derive(Clone)]
pub struct Settings {
    /// This manager's Lease, which objects name in their status.
    pub lease: LeaseName,
    /// Open while this manager leads.
    pub fence: Fence,
    /// Those of the API server.
    pub outages: Outages,
    /// Whether to take objects from other managers at once.
    pub take_over: bool,
    /// Passes at a time, per controller.
    pub concurrency: u16,
    /// Deadline of a pass.
    pub deadline: Duration,
}

/// One operator with its queue and all it takes to run it.
pub struct Controller<O: Operator> {
    operator: O,
    queue: Arc<Queue>,
    context: StatusWriter,
    health: Vec<Arc<Health>>,
    optional: Vec<Arc<Health>>,
    foreign: Arc<ForeignLeases>,
    metrics: ReconcileMetrics,
    settings: Settings,
}

impl<O: Operator> Controller<O> {
    /// Ties the operator's stores to a queue. To be called before the cache starts, so that no change is missed.
    pub fn new(
        operator: O,
        client: Client,
        events: Publisher,
        foreign: Arc<ForeignLeases>,
        settings: Settings,
    ) -> Arc<Self> {
        let queue = Queue::new(O::NAME);
        let writer = Writer::new(client, queue.clone(), O::NAME, settings.fence.clone());
        let mut watches =
            Watches { queue: queue.clone(), writer, kind: O::Object::KIND, health: Vec::new(), optional: Vec::new() };
        watches.objects(operator.objects());
        operator.watch(&mut watches);
        let Watches { writer, health, optional, .. } = watches;
        let metrics = ReconcileMetrics::new(O::NAME, settings.concurrency);
        let (managed_by, vain) = (settings.lease.to_string(), Vain::default());
        let context = StatusWriter { writer, events, managed_by, controller: O::NAME, vain };
        Arc::new(Self { operator, queue, context, health, optional, foreign, metrics, settings })
    }

    /// Works until `stop`; passes under way then are finished.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let ready = async {
            self.stores_tried().await;
            self.crd_looked_at().await;
        };
        if stop.run_until_cancelled(ready).await.is_none() {
            return;
        }
        tracing::info!(controller = O::NAME, workers = self.settings.concurrency, "starting workers");
        let mut workers = JoinSet::new();
        for _ in 0..self.settings.concurrency {
            workers.spawn(self.clone().work(stop.clone()));
        }
        stop.run_until_cancelled(self.react()).await;
        self.queue.close();
        while workers.join_next().await.is_some() {}
    }

    /// Waits until each store has been filled, or filling it has failed.
    async fn stores_tried(&self) {
        for health in self.health.iter().chain(&self.optional) {
            // The sender lives as long as the store, so this does not end early.
            drop(health.subscribe().wait_for(Sources::tried).await);
        }
    }

    async fn work(self: Arc<Self>, stop: CancellationToken) {
        while let Some(work) = self.queue.next().await {
            // What was planned from is up to date when this manager may write again.
            if stop.run_until_cancelled(self.settings.fence.opened()).await.is_none() {
                return;
            }
            let entry = self.operator.objects().get(&work.key);
            let generation = entry.as_ref().map_or(0, |entry| entry.meta().generation);
            let span = tracing::info_span!(
                "reconcile",
                controller = O::NAME,
                namespace = &*work.key.namespace,
                name = &*work.key.name,
                generation,
                attempt = work.failures + 1
            );
            let outcome = self.pass(entry, &work).instrument(span).await;
            self.queue.done(&work.key, generation, &outcome);
        }
    }

    /// One pass, behind a deadline and a wall against panics.
    async fn pass(&self, entry: Option<Entry<O::Object>>, work: &Request) -> ReconcileResult {
        let begun = Instant::now();
        self.metrics.begun();
        let attempt = AssertUnwindSafe(self.attempt(&work.key, entry, work.failures)).catch_unwind();
        // Not only writes end with leadership, but also what is done to databases.
        let attempt = async {
            tokio::select! {
                result = attempt => result,
                () = self.settings.fence.closed() => Ok(Err(Error::not_leading())),
            }
        };
        let result = match tokio::time::timeout(self.settings.deadline, attempt).await {
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
            Err(error) => (failed(&error, work.failures), "error"),
        };
        self.metrics.ended(label, begun.elapsed());
        outcome
    }

    async fn attempt(&self, key: &Key, entry: Option<Entry<O::Object>>, failures: u32) -> Result<Requeue, Error> {
        let Some(entry) = entry else {
            self.context.forget(key);
            crate::metrics::objects::forget(O::NAME, key);
            return Ok(Requeue::OnChange);
        };
        if let Entry::Object(object) = &entry
            && !self.operator.manages(object)
        {
            self.context.disown(object.meta());
            return Ok(Requeue::OnChange);
        }
        if let Some(next) = self.withheld(&entry).await? {
            return Ok(next);
        }
        let object = match entry {
            Entry::Object(object) => object,
            Entry::Broken(broken) => {
                // The one that looks after it says what is wrong with it.
                if self.held_elsewhere(&broken.contract).await.is_some() {
                    return Ok(Requeue::After(HELD_AGAIN));
                }
                self.context.write_broken(&O::Object::KIND, &broken, Timestamp::now()).await?;
                return Ok(Requeue::OnChange);
            }
        };
        if let Some(message) = self.held_elsewhere(object.status().contract()).await {
            self.context.write_conflict(&*object, message, Timestamp::now()).await?;
            return Ok(Requeue::After(HELD_AGAIN));
        }
        if let Some(why) = self.blind(&key.namespace) {
            if self.settings.outages.is_resuming() {
                return Ok(Requeue::After(RESUMED_AGAIN));
            }
            let blind = Error::Transient { reason: ReconcileReason::WatchFailing.into(), message: why, stalled: true };
            self.context.write(&*object, None, ReconcileOutcome::Failed(&blind), failures, Timestamp::now()).await?;
            return Ok(Requeue::After(WATCH_AGAIN));
        }
        // Children seen late cost a needless apply. But for an object that is gone without our having seen it, children
        // would be made and collected in turns, as fast as both of us can.
        if matches!(self.operator.objects().health().state(&key.namespace), State::Failing { .. }) {
            return Ok(Requeue::After(OBJECTS_AGAIN));
        }
        reconcile(&self.operator, &self.context, &object, failures).await
    }
}

/// Logs a failure, and says when to try again.
fn failed(error: &Error, failures: u32) -> ReconcileResult {
    // What is waited for, and a first conflict, are the ordinary course of things; the object's status tells of them.
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
