//! Publishes Events, beside the reconciles: a full channel drops them, since an Event is a courtesy and a reconcile is
//! not. An Event's name follows from what it says, so that a repeated one is a conflict, and no news.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::act::create_request;
use crate::plan::conditions::Announcement;
use crate::plan::meta::{Key, Kind, MANAGER, Meta};
use crate::plan::names::{LONGEST_NAME, within};

const EVENT: Kind = Kind { group: "events.k8s.io", version: "v1", kind: "Event", plural: "events" };
/// Events that may wait; beyond it they are dropped.
const WAITING: usize = 256;
/// The API server refuses longer notes.
const LONGEST_NOTE: usize = 1024;

/// Takes announcements from reconciles.
#[derive(Clone)]
pub struct Publisher {
    sender: mpsc::Sender<(Key, Value)>,
    controller: &'static str,
    instance: String,
}

/// Makes a publisher for each controller, and the future that sends what they publish until all are dropped.
pub fn channel(
    client: Client,
    instance: &str,
) -> (impl Fn(&'static str) -> Publisher + use<>, impl Future<Output = ()> + use<>) {
    let (sender, mut receiver) = mpsc::channel::<(Key, Value)>(WAITING);
    let instance = instance.to_owned();
    let publisher = move |controller| Publisher { sender: sender.clone(), controller, instance: instance.clone() };
    let send = async move {
        while let Some((key, event)) = receiver.recv().await {
            let Ok(request) = create_request(&EVENT.path(&key.namespace), &event) else { continue };
            match client.request::<serde::de::IgnoredAny>(request).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => tracing::debug!(object = %key, %error, "an event was not published"),
            }
        }
    };
    (publisher, send)
}

impl Publisher {
    /// Publishes an announcement about an object of that kind.
    pub fn publish(&self, kind: &Kind, meta: &Meta, announcement: Announcement) {
        let level = if announcement.warning { "Warning" } else { "Normal" };
        tracing::info!(object = %meta.key, kind = kind.kind, reason = &*announcement.reason, "{}", announcement.message);
        let mut note = announcement.message;
        if note.len() > LONGEST_NOTE {
            let end = (0..=LONGEST_NOTE - 4).rev().find(|i| note.is_char_boundary(*i)).unwrap_or(0);
            note.truncate(end);
            note.push_str("...");
        }
        let now = Timestamp::now();
        let mut hasher = DefaultHasher::new();
        // Repetitions within a minute are one Event.
        (&meta.uid, meta.generation, &announcement.reason, &note, now.as_second() / 60).hash(&mut hasher);
        let event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": name(&meta.key.name, hasher.finish()),
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
        drop(self.sender.try_send((meta.key.clone(), event)));
    }
}

/// The name of an Event about the object `name`: an object's may be as long as a name can be.
fn name(of: &str, hash: u64) -> String {
    let hash = format!(".{hash:016x}");
    format!("{}{hash}", within(of, LONGEST_NAME - hash.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_about_an_object_of_the_longest_name_has_a_name() {
        assert_eq!(name("web", 1), "web.0000000000000001");
        assert_eq!(name(&"a".repeat(LONGEST_NAME), 1).len(), LONGEST_NAME);
    }
}
