//! Who wrote to a pod, by the audit log: the model of a program learns because of whom it is stopped.

use serde_json::Value;

use super::super::client::{Client, Target};
use crate::api_server::kinds::KindId;
use crate::api_server::state::AuditEntry;

/// Who deleted a pod; empty if no one did.
pub(super) fn deleter(client: &Client<'_>, kind: KindId, pod: &Value) -> String {
    writer(client, kind, pod, |entry| entry.verb == "delete" && entry.code < 300 && !is_node(&entry.user))
}

/// Who changed the spec of a pod last; empty if no one did.
pub(super) fn last_editor(client: &Client<'_>, kind: KindId, pod: &Value) -> String {
    writer(client, kind, pod, |entry| {
        entry.changed && entry.subresource.is_none() && entry.verb != "delete" && !is_node(&entry.user)
    })
}

fn writer(client: &Client<'_>, kind: KindId, pod: &Value, wanted: impl Fn(&AuditEntry) -> bool) -> String {
    let Target { namespace, name, .. } = Target::of(kind, pod);
    let is_of_pod = |entry: &AuditEntry| entry.kind == kind && entry.key == (namespace.clone(), name.clone());
    client.last_write(|entry| is_of_pod(entry) && wanted(entry)).unwrap_or_default()
}

/// Whether a user is part of a node, or gives pods their nodes.
fn is_node(user: &str) -> bool {
    matches!(user, "kubelet" | "kube-scheduler")
}
