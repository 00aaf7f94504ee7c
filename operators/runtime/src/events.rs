//! Publishes Events in the background. A repetition within a few minutes increments the count of the existing Event. A failed
//! request is retried for a while. A reconcile never waits for an Event: if there are more than the API server accepts, the
//! newest are dropped.

use api::ReconcileReason;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::future::join_all;
use http::Request;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::Error;
use crate::apply::{create_request, merge_request};
use crate::events::event_series::EventSeries;
use crate::names::{LONGEST_NAME, within};
use crate::plan::EventDraft;
use crate::plan::meta::{Key, MANAGER, Meta, ResourceKind};
use crate::retry::Backoff;

mod event_series;

const EVENT: ResourceKind = ResourceKind { group: "events.k8s.io", version: "v1", kind: "Event", plural: "events" };
/// Number of concurrent senders: one slow response does not delay all others.
const SENDERS: usize = 4;
/// Events that may wait for a sender; further ones are dropped.
const MAX_WAITING: usize = 256;
/// How often an Event is sent: this takes about 6 s, longer than a failover of the API server or of etcd, and shorter than a user
/// waits.
const MAX_ATTEMPTS: usize = 6;
/// The API server rejects longer notes.
const LONGEST_NOTE: usize = 1024;

/// Accepts Events from reconciles.
#[derive(Clone)]
pub struct Publisher {
    /// Equal Events go to the same sender, so that they are counted.
    senders: Arc<[mpsc::Sender<Waiting>]>,
    controller: &'static str,
    instance: String,
}

/// An Event that waits to be published.
struct Waiting {
    /// The object that it is about.
    key: Key,
    /// The hash of its content and object.
    what: u64,
    now: Timestamp,
    name: String,
    event: Value,
}

/// Returns a function that creates a publisher for a controller, and the future that sends the Events until all publishers are
/// dropped.
pub fn channel(
    client: Client,
    instance: &str,
) -> (impl Fn(&'static str) -> Publisher + use<>, impl Future<Output = ()> + use<>) {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..SENDERS).map(|_| mpsc::channel(MAX_WAITING)).unzip();
    let (senders, instance) = (Arc::<[_]>::from(senders), instance.to_owned());
    let publisher = move |controller| Publisher { senders: senders.clone(), controller, instance: instance.clone() };
    let send = async move {
        join_all(receivers.into_iter().map(|receiver| send_all(client.clone(), receiver))).await;
    };
    (publisher, send)
}

/// Sends the Events of one channel, one after another.
async fn send_all(client: Client, mut receiver: mpsc::Receiver<Waiting>) {
    let mut series = EventSeries::default();
    while let Some(waiting) = receiver.recv().await {
        let key = waiting.key.clone();
        if let Err(error) = publish(&client, &mut series, waiting).await {
            tracing::debug!(object = %key, %error, "an event was not published");
        }
    }
}

/// Creates an Event, or increments the count of an equal one; one that was deleted in the meantime is recreated.
async fn publish(client: &Client, series: &mut EventSeries, waiting: Waiting) -> Result<(), Error> {
    let Waiting { key, what, now, name, event } = waiting;
    let path = EVENT.path(&key.namespace);
    if let Some((name, count)) = series.repeat(what, now) {
        let fields = json!({ "series": { "count": count, "lastObservedTime": format!("{now:.6}") } });
        match send_until_answered(client, || merge_request(&format!("{path}/{name}"), &fields)).await {
            Err(error) if error.reason() == ReconcileReason::NotFound => {}
            other => return other,
        }
    }
    match send_until_answered(client, || create_request(&path, &event)).await {
        // An earlier attempt took effect, and its response was lost.
        Err(error) if error.reason() == ReconcileReason::Conflict => {}
        other => other?,
    }
    series.begin(what, name, now);
    Ok(())
}

/// Sends a request until there is a response, up to a limit. A definite response is not retried.
async fn send_until_answered(
    client: &Client,
    request: impl Fn() -> Result<Request<Vec<u8>>, Error>,
) -> Result<(), Error> {
    let (mut backoff, mut retries) = (Backoff::object(), 1..MAX_ATTEMPTS);
    loop {
        match client.request::<serde::de::IgnoredAny>(request()?).await {
            Ok(_) => return Ok(()),
            Err(error) if is_definite(&error) || retries.next().is_none() => return Err(error.into()),
            Err(_) => tokio::time::sleep(backoff.delay()).await,
        }
    }
}

/// Whether another attempt would get the same response.
fn is_definite(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code < 500 && status.code != 429)
}

impl Publisher {
    /// Publishes an Event about an object of that kind.
    pub fn publish(&self, kind: &ResourceKind, meta: &Meta, draft: EventDraft) {
        self.publish_at(kind, meta, draft, crate::clock::now());
    }

    fn publish_at(&self, kind: &ResourceKind, meta: &Meta, draft: EventDraft, now: Timestamp) {
        let level = if draft.warning { "Warning" } else { "Normal" };
        tracing::info!(object = %meta.key, kind = kind.kind, reason = &*draft.reason, "{}", draft.message);
        let mut note = draft.message;
        if note.len() > LONGEST_NOTE {
            let end = (0..=LONGEST_NOTE - 4).rev().find(|i| note.is_char_boundary(*i)).unwrap_or(0);
            note.truncate(end);
            note.push_str("...");
        }
        let mut hasher = DefaultHasher::new();
        (&meta.uid, self.controller, &draft.reason, level, &note).hash(&mut hasher);
        let what = hasher.finish();
        now.hash(&mut hasher);
        let name = name(&meta.key.name, hasher.finish());
        let event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": name,
                "namespace": &*meta.key.namespace,
            },
            "eventTime": format!("{now:.6}"),
            "reportingController": format!("{MANAGER}/{}", self.controller),
            "reportingInstance": self.instance,
            "action": "Reconcile",
            "reason": &*draft.reason,
            "note": note,
            "type": level,
            "regarding": {
                "apiVersion": kind.api_version(),
                "kind": kind.kind,
                "name": &*meta.key.name,
                "namespace": &*meta.key.namespace,
                "uid": meta.uid,
            },
        });
        let lane = usize::try_from(what % SENDERS as u64).unwrap_or_default();
        if let Some(lane) = self.senders.get(lane) {
            drop(lane.try_send(Waiting { key: meta.key.clone(), what, now, name, event }));
        }
    }
}

/// The name of an Event about the object `of`, whose name may have the maximum length.
fn name(of: &str, hash: u64) -> String {
    let hash = format!(".{hash:016x}");
    format!("{}{hash}", within(of, LONGEST_NAME - hash.len()))
}

#[cfg(test)]
mod tests;
