//! Publishes Events, beside the reconciles. What is said again soon is counted in the Event that says it already. An Event that
//! is not taken is sent again for a while; a reconcile never waits for one, so where more are said than the API server takes, the
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
use crate::events::series::Series;
use crate::names::{LONGEST_NAME, within};
use crate::plan::EventDraft;
use crate::plan::meta::{Key, Kind, MANAGER, Meta};
use crate::retry::Backoff;

mod series;

const EVENT: Kind = Kind { group: "events.k8s.io", version: "v1", kind: "Event", plural: "events" };
/// How many Events are under way at a time: one slow answer does not hold up the others.
const LANES: usize = 4;
/// Events of a lane that may wait; beyond it they are dropped.
const WAITING: usize = 256;
/// How often an Event is sent: that takes some 6 s and five answers, more than a leader of the API server or of etcd takes to be
/// replaced, and less than a person waits for.
const TRIES: usize = 6;
/// The API server refuses longer notes.
const LONGEST_NOTE: usize = 1024;

/// Takes announcements from reconciles.
#[derive(Clone)]
pub struct Publisher {
    /// What says the same takes the same lane, so that it is counted.
    lanes: Arc<[mpsc::Sender<Waiting>]>,
    controller: &'static str,
    instance: String,
}

/// An Event that waits to be published.
struct Waiting {
    /// The object that it is about.
    key: Key,
    /// What it says, of which object.
    what: u64,
    now: Timestamp,
    name: String,
    event: Value,
}

/// Makes a publisher for each controller, and the future that sends what they publish until all are dropped.
pub fn channel(
    client: Client,
    instance: &str,
) -> (impl Fn(&'static str) -> Publisher + use<>, impl Future<Output = ()> + use<>) {
    let (lanes, receivers): (Vec<_>, Vec<_>) = (0..LANES).map(|_| mpsc::channel(WAITING)).unzip();
    let (lanes, instance) = (Arc::<[_]>::from(lanes), instance.to_owned());
    let publisher = move |controller| Publisher { lanes: lanes.clone(), controller, instance: instance.clone() };
    let send = async move {
        join_all(receivers.into_iter().map(|receiver| send_all(client.clone(), receiver))).await;
    };
    (publisher, send)
}

/// Sends what comes through a lane, one after another.
async fn send_all(client: Client, mut receiver: mpsc::Receiver<Waiting>) {
    let mut series = Series::default();
    while let Some(waiting) = receiver.recv().await {
        let key = waiting.key.clone();
        if let Err(error) = publish(&client, &mut series, waiting).await {
            tracing::debug!(object = %key, %error, "an event was not published");
        }
    }
}

/// Makes an Event, or counts on the one that says the same; one that is gone meanwhile is made again.
async fn publish(client: &Client, series: &mut Series, waiting: Waiting) -> Result<(), Error> {
    let Waiting { key, what, now, name, event } = waiting;
    let path = EVENT.path(&key.namespace);
    if let Some((name, count)) = series.repeat(what, now) {
        let fields = json!({ "series": { "count": count, "lastObservedTime": format!("{now:.6}") } });
        match insist(client, || merge_request(&format!("{path}/{name}"), &fields)).await {
            Err(error) if error.reason() == ReconcileReason::NotFound => {}
            other => return other,
        }
    }
    match insist(client, || create_request(&path, &event)).await {
        // An earlier try took effect, and its answer was lost.
        Err(error) if error.reason() == ReconcileReason::Conflict => {}
        other => other?,
    }
    series.begin(what, name, now);
    Ok(())
}

/// Sends a request until it is answered, but not for ever; what the API server judges is not asked again.
async fn insist(client: &Client, request: impl Fn() -> Result<Request<Vec<u8>>, Error>) -> Result<(), Error> {
    let (mut backoff, mut retries) = (Backoff::object(), 1..TRIES);
    loop {
        match client.request::<serde::de::IgnoredAny>(request()?).await {
            Ok(_) => return Ok(()),
            Err(error) if is_judged(&error) || retries.next().is_none() => return Err(error.into()),
            Err(_) => tokio::time::sleep(backoff.delay()).await,
        }
    }
}

/// Whether another try would be answered in the same way.
fn is_judged(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code < 500 && status.code != 429)
}

impl Publisher {
    /// Publishes an announcement about an object of that kind.
    pub fn publish(&self, kind: &Kind, meta: &Meta, announcement: EventDraft) {
        self.publish_at(kind, meta, announcement, Timestamp::now());
    }

    fn publish_at(&self, kind: &Kind, meta: &Meta, announcement: EventDraft, now: Timestamp) {
        let level = if announcement.warning { "Warning" } else { "Normal" };
        tracing::info!(object = %meta.key, kind = kind.kind, reason = &*announcement.reason, "{}", announcement.message);
        let mut note = announcement.message;
        if note.len() > LONGEST_NOTE {
            let end = (0..=LONGEST_NOTE - 4).rev().find(|i| note.is_char_boundary(*i)).unwrap_or(0);
            note.truncate(end);
            note.push_str("...");
        }
        let mut hasher = DefaultHasher::new();
        (&meta.uid, self.controller, &announcement.reason, level, &note).hash(&mut hasher);
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
            "reason": &*announcement.reason,
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
        let lane = usize::try_from(what % LANES as u64).unwrap_or_default();
        if let Some(lane) = self.lanes.get(lane) {
            drop(lane.try_send(Waiting { key: meta.key.clone(), what, now, name, event }));
        }
    }
}

/// The name of an Event about the object `name`: an object's may be as long as a name can be.
fn name(of: &str, hash: u64) -> String {
    let hash = format!(".{hash:016x}");
    format!("{}{hash}", within(of, LONGEST_NAME - hash.len()))
}

#[cfg(test)]
mod tests;
