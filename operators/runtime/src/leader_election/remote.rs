//! The one Lease of an election at the API server: read, written with the resourceVersion it was read at, and watched.

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
use crate::leader_election::decision::{ObservedRecord, RETRY_PERIOD, Record, SILENCE};
use crate::outage::Outages;

/// How long a look at a Lease may take after its watch was silent; and how long at least a request has to have been waited for, if
/// no answer is to mean anything.
const LOOK: Duration = Duration::from_millis(2500);

/// What went wrong.
pub(super) enum LeaseError {
    /// The API server will never accept it, for its name.
    Refused(String),
    /// It may pass: what was tried, and the sentence for the log.
    Passing(&'static str, String),
}

impl LeaseError {
    /// No answer in time to what was tried.
    pub(super) fn silent(tried: &'static str) -> Self {
        Self::Passing(tried, "the API server does not answer".to_owned())
    }
}

/// The Lease as we see it.
pub(super) struct Remote {
    api: Api<Lease>,
    name: LeaseName,
    epoch: Instant,
    /// As last read: writes carry its resourceVersion, labels and unknown fields.
    object: Option<Lease>,
    seen: ObservedRecord,
    /// What went wrong last, by what was tried, so that each change is logged once.
    complaints: HashMap<&'static str, String>,
    outages: Outages,
    /// Whether the watch had reported changes, and then none for longer than its leader lets pass between two renewals.
    silent: bool,
}

impl Remote {
    pub(super) fn new(client: Client, name: LeaseName, outages: Outages) -> Self {
        let api = Api::namespaced(client, &name.namespace);
        let (seen, complaints) = (ObservedRecord::default(), HashMap::new());
        let epoch = Instant::now();
        Self { api, name, epoch, object: None, seen, complaints, outages, silent: false }
    }

    /// What the Lease says, and since when.
    pub(super) fn seen(&self) -> &ObservedRecord {
        &self.seen
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
    pub(super) async fn look(&mut self, limit: Duration) -> Result<(), LeaseError> {
        let silent = std::mem::take(&mut self.silent);
        let limit = if silent { limit.min(LOOK) } else { limit };
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

    /// A request got no answer within `limit`. Nothing keeps one of a Lease from its answer but what keeps all: the API server is
    /// away, or connections were lost without a word, in an outage that may be over by now; watches may hang on such ones.
    fn unanswered(&self, tried: &'static str, limit: Duration) -> LeaseError {
        if limit >= LOOK {
            self.outages.lost();
        }
        LeaseError::silent(tried)
    }

    /// Writes `record` over the Lease as last read; `false`: it has changed since, read again.
    pub(super) async fn write(&mut self, record: &Record, limit: Duration) -> Result<bool, LeaseError> {
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

    /// Watches the Lease while `patience`, given what it says and the time, returns how long to wait for it to change.
    /// Returns as well when that time has passed, when a watch that has reported changes reports none for [`SILENCE`], and when the
    /// watch ends in the usual way.
    pub(super) async fn follow(
        &mut self,
        limit: Duration,
        patience: impl Fn(&ObservedRecord, Duration) -> Option<Duration>,
    ) -> Result<(), LeaseError> {
        let trouble = |sentence| Err(LeaseError::Passing("watch", sentence));
        let Some(version) = self.object.as_ref().and_then(|lease| lease.metadata.resource_version.clone()) else {
            // There is none to watch from: who held it makes it again soon, or it is free when that time has passed.
            if let Some(left) = patience(&self.seen, self.elapsed()) {
                sleep(left.min(retry_period())).await;
            }
            return Ok(());
        };
        let opened = Instant::now();
        // A right to watch by resourceName covers exactly this selector.
        let only_it = WatchParams::default().fields(&format!("metadata.name={}", self.name.name));
        let events = match timeout(limit, self.api.watch(&only_it, &version)).await {
            Ok(Ok(events)) => events,
            Ok(Err(error)) => return trouble(self.explain("watch", &error)),
            Err(_) => return Err(self.unanswered("watch", limit)),
        };
        self.recovered("watch");
        let mut events = pin!(events);
        // Behind what holds watches' events back for ever, silence means nothing.
        let mut heard = false;
        while let Some(left) = patience(&self.seen, self.elapsed()) {
            let event = tokio::select! {
                () = sleep(if heard { left.min(SILENCE) } else { left }) => {
                    self.silent = heard;
                    return Ok(());
                }
                event = events.try_next() => event,
            };
            heard = true;
            match event {
                Ok(Some(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => self.take_in(Some(lease)),
                Ok(Some(WatchEvent::Deleted(_))) => self.take_in(None),
                Ok(Some(WatchEvent::Bookmark(_))) => {}
                Ok(Some(WatchEvent::Error(status))) => return trouble(status.message),
                // Ends are normal, unless something between us and the API server allows no watches at all.
                Ok(None) if opened.elapsed() < RETRY_PERIOD => return trouble("the watch ended at once".to_owned()),
                Ok(None) => return Ok(()),
                Err(error) => return trouble(self.explain("watch", &error)),
            }
        }
        Ok(())
    }

    fn take_in(&mut self, lease: Option<Lease>) {
        let record = lease.as_ref().map(|lease| Record::read(lease.spec.as_ref().unwrap_or(&Default::default())));
        self.seen.observe(record, self.epoch.elapsed());
        self.object = lease;
    }

    fn explain(&self, verb: &str, error: &kube::Error) -> String {
        let namespace = &self.name.namespace;
        match error {
            kube::Error::Api(status) if status.code == 403 => format!(
                "may not {verb} leases in {namespace}: grant get, watch, create and update on \
                 leases.coordination.k8s.io there ({})",
                status.message
            ),
            kube::Error::Api(status) if status.code == 404 => {
                format!("cannot {verb} the lease: is there a namespace {namespace}? ({})", status.message)
            }
            kube::Error::Api(status) if status.code == 422 => format!(
                "cannot {verb} the lease: the API server refuses it ({}); change the policy or webhook that does",
                status.message
            ),
            kube::Error::Api(status) => format!("{} {}", status.code, status.message),
            other => with_causes(other),
        }
    }

    /// Logs trouble, unless it is the same as before.
    pub(super) fn complain(&mut self, trouble: LeaseError) {
        let (topic, sentence) = match trouble {
            LeaseError::Refused(message) => ("write", message),
            LeaseError::Passing(topic, sentence) => (topic, sentence),
        };
        if self.complaints.get(topic) != Some(&sentence) {
            tracing::warn!(lease = %self.name, "{sentence}");
            self.complaints.insert(topic, sentence);
        }
    }

    fn recovered(&mut self, topic: &'static str) {
        if self.complaints.remove(topic).is_some() {
            tracing::info!(lease = %self.name, "{topic} works again");
        }
    }
}

/// Whether the API server will never accept a Lease of that name. Any other refusal is a policy's or a webhook's, most likely, and those
/// come and go.
fn refuses_name(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 422 && causes.into_iter().any(|cause| cause.field == "metadata.name")
}

/// An error with its causes: the outermost alone says no more than "client error".
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut sentences: Vec<String> = causes.map(ToString::to_string).collect();
    // Libraries often repeat the cause in their own sentence.
    sentences.dedup_by(|inner, outer| outer.contains(inner.as_str()));
    sentences.join(": ")
}
