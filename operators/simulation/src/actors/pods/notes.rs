//! What the model lacks about pods, noted once.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::client::Client;
use super::super::object::{name, namespace, uid};

/// What was noted of pods, so that it is noted once.
#[derive(Default)]
pub(super) struct Notes(BTreeSet<String>);

impl Notes {
    /// Notes what the model lacks about a pod.
    pub(super) fn add(&mut self, client: &Client<'_>, pod: &Value, lacks: impl IntoIterator<Item = String>) {
        for lack in lacks {
            if self.0.insert(format!("{} {lack}", uid(pod))) {
                let of = format!("{}/{}", namespace(pod), name(pod));
                client.note_unmodelled(format!("pod {of}: {lack}"));
            }
        }
    }
}
