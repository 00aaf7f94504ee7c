//! The Lease of an election at the API server: reads it, writes it with the resourceVersion of the last read, and watches it.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

use super::name::LeaseName;
use super::retry::retry_period;
use crate::leader_election::decision::{LeaseRecord, ObservedRecord, RETRY_PERIOD, SILENCE_TIMEOUT};
use crate::outage::Outages;

/// How long a read of a Lease may take after its watch was silent. A request without a response counts as lost after at least
/// this time.
const READ_TIMEOUT_AFTER_SILENCE: Duration = Duration::from_millis(2500);

/// A failed request.
pub(super) enum LeaseError {
    /// The API server rejects the name of the Lease.
    Refused(String),
    /// A failure that may be transient: the operation, and the message for the log.
    Passing(&'static str, String),
}

impl LeaseError {
    /// No response in time to that operation.
    pub(super) fn silent(tried: &'static str) -> Self {
        Self::Passing(tried, "the API server does not answer".to_owned())
    }
}

/// The Lease of this election.
pub(super) struct LeaseClient {
    api: Api<Lease>,
    name: LeaseName,
    epoch: Instant,
    /// The object as last read: writes contain its resourceVersion, labels and unknown fields.
    object: Option<Lease>,
    observed: ObservedRecord,
    /// The last failure of each operation, so that each change is logged once.
    failures: HashMap<&'static str, String>,
    outages: Outages,
    /// Whether the watch has reported changes, and then none for longer than the time between two renewals.
    silent: bool,
}

impl LeaseClient {
    pub(super) fn new(client: Client, name: LeaseName, outages: Outages) -> Self {
        let api = Api::namespaced(client, &name.namespace);
        let (observed, failures) = (ObservedRecord::default(), HashMap::new());
        let epoch = Instant::now();
        Self { api, name, epoch, object: None, observed, failures, outages, silent: false }
    }

    /// The last observed record, and since when.
    pub(super) fn observed(&self) -> &ObservedRecord {
        &self.observed
    }

    /// When the clock of this election began.
    pub(super) fn epoch(&self) -> Instant {
        self.epoch
    }

    /// The monotonic clock of this election.
    pub(super) fn elapsed(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// Reads the Lease.
    pub(super) async fn read(&mut self, limit: Duration) -> Result<(), LeaseError> {
        let silent = std::mem::take(&mut self.silent);
        let limit = if silent { limit.min(READ_TIMEOUT_AFTER_SILENCE) } else { limit };
        match timeout(limit, self.api.get_opt(&self.name.name)).await {
            Ok(Ok(lease)) => {
                let version =
                    |lease: &Option<Lease>| lease.as_ref().and_then(|lease| lease.metadata.resource_version.clone());
                if silent && version(&lease) != version(&self.object) {
                    self.outages.missed();
                }
                self.take_in(lease);
            }
            Ok(Err(error)) => return Err(LeaseError::Passing("get", self.explain("get", &error))),
            Err(_) => return Err(self.unanswered("get", limit)),
        }
        self.recovered("get");
        Ok(())
    }

    /// A request got no response within `limit`. The cause affects all requests: the API server is unreachable, or connections
    /// were lost without notice in an outage that may have ended; watches may hang on such connections.
    fn unanswered(&self, tried: &'static str, limit: Duration) -> LeaseError {
        if limit >= READ_TIMEOUT_AFTER_SILENCE {
            self.outages.lost();
        }
        LeaseError::silent(tried)
    }

    /// Writes `record` to the Lease as last read. Returns false if the Lease has changed since.
    pub(super) async fn write(&mut self, record: &LeaseRecord, limit: Duration) -> Result<bool, LeaseError> {
        let (params, create) = (PostParams::default(), self.object.is_none());
        let verb = if create { "create" } else { "update" };
        let mut lease = self.object.clone().unwrap_or_default();
        lease.metadata.name = Some(self.name.name.clone());
        lease.metadata.managed_fields = None;
        record.write(lease.spec.get_or_insert_default());
        let write = async {
            if create {
                self.api.create(&params, &lease).await
            } else {
                self.api.replace(&self.name.name, &params, &lease).await
            }
        };
        match timeout(limit, write).await {
            Ok(Ok(lease)) => self.take_in(Some(lease)),
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => return Ok(false),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 && !create => {
                self.take_in(None);
                return Ok(false);
            }
            Ok(Err(kube::Error::Api(status))) if refuses_name(&status) => {
                return Err(LeaseError::Refused(status.message.clone()));
            }
            Ok(Err(error)) => return Err(LeaseError::Passing("write", self.explain(verb, &error))),
            Err(_) => return Err(self.unanswered("write", limit)),
        }
        self.recovered("write");
        Ok(true)
    }

    /// Watches the Lease while `wait_time` returns how long to wait for a change, given the record and the time. Also returns
    /// when that time has passed, when a watch that has reported changes reports none for [`SILENCE_TIMEOUT`], and when the watch
    /// ends normally.
    pub(super) async fn wait_for_change(
        &mut self,
        limit: Duration,
        wait_time: impl Fn(&ObservedRecord, Duration) -> Option<Duration>,
    ) -> Result<(), LeaseError> {
        let failure = |message| Err(LeaseError::Passing("watch", message));
        let Some(version) = self.object.as_ref().and_then(|lease| lease.metadata.resource_version.clone()) else {
            // There is no version to watch from: the holder recreates the Lease soon, or it is free when that time has passed.
            if let Some(left) = wait_time(&self.observed, self.elapsed()) {
                sleep(left.min(retry_period())).await;
            }
            return Ok(());
        };
        let opened = Instant::now();
        // A permission to watch by resourceName covers exactly this selector.
        let only_it = WatchParams::default().fields(&format!("metadata.name={}", self.name.name));
        let events = match timeout(limit, self.api.watch(&only_it, &version)).await {
            Ok(Ok(events)) => events,
            Ok(Err(error)) => return failure(self.explain("watch", &error)),
            Err(_) => return Err(self.unanswered("watch", limit)),
        };
        self.recovered("watch");
        let mut events = pin!(events);
        // Behind a proxy that never forwards events, silence has no meaning.
        let mut heard = false;
        while let Some(left) = wait_time(&self.observed, self.elapsed()) {
            let event = tokio::select! {
                biased;
                event = events.try_next() => event,
                () = sleep(if heard { left.min(SILENCE_TIMEOUT) } else { left }) => {
                    self.silent = heard;
                    return Ok(());
                }
            };
            heard = true;
            match event {
                Ok(Some(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => self.take_in(Some(lease)),
                Ok(Some(WatchEvent::Deleted(_))) => self.take_in(None),
                Ok(Some(WatchEvent::Bookmark(_))) => {}
                Ok(Some(WatchEvent::Error(status))) => return failure(status.message),
                // A watch ends normally after a while, unless a proxy allows no watches at all.
                Ok(None) if opened.elapsed() < RETRY_PERIOD => return failure("the watch ended at once".to_owned()),
                Ok(None) => return Ok(()),
                Err(error) => return failure(self.explain("watch", &error)),
            }
        }
        Ok(())
    }

    fn take_in(&mut self, lease: Option<Lease>) {
        let record = lease.as_ref().map(|lease| LeaseRecord::read(lease.spec.as_ref().unwrap_or(&Default::default())));
        self.observed.observe(record, self.epoch.elapsed());
        self.object = lease;
    }

    fn explain(&self, verb: &str, error: &kube::Error) -> String {
        let namespace = &self.name.namespace;
        match error {
            kube::Error::Api(status) if status.code == 403 => format!(
                "cannot {verb} leases in {namespace}: grant get, watch, create and update on \
                 leases.coordination.k8s.io there ({})",
                status.message
            ),
            kube::Error::Api(status) if status.code == 404 => {
                format!("cannot {verb} the lease: is there a namespace {namespace}? ({})", status.message)
            }
            kube::Error::Api(status) if status.code == 422 => format!(
                "cannot {verb} the lease: the API server rejects it ({}); change the policy or webhook that does",
                status.message
            ),
            kube::Error::Api(status) => format!("{} {}", status.code, status.message),
            other => with_causes(other),
        }
    }

    /// Logs a failure, unless it is the same as before.
    pub(super) fn log_failure(&mut self, failure: LeaseError) {
        let (topic, message) = match failure {
            LeaseError::Refused(message) => ("write", message),
            LeaseError::Passing(topic, message) => (topic, message),
        };
        if self.failures.get(topic) != Some(&message) {
            tracing::warn!(lease = %self.name, "{message}");
            self.failures.insert(topic, message);
        }
    }

    fn recovered(&mut self, topic: &'static str) {
        if self.failures.remove(topic).is_some() {
            tracing::info!(lease = %self.name, "{topic} works again");
        }
    }
}

/// Whether the API server rejects the name of the Lease. Any other rejection is most likely that of a policy or a webhook, which
/// may change.
fn refuses_name(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 422 && causes.into_iter().any(|cause| cause.field == "metadata.name")
}

/// The message of an error with its causes: the outermost one alone says no more than "client error".
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut messages: Vec<String> = causes.map(ToString::to_string).collect();
    // Libraries often repeat the cause in their own message.
    messages.dedup_by(|inner, outer| outer.contains(inner.as_str()));
    messages.join(": ")
}
