//! The scheduler: gives each pod a node.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::actor::{Actor, RETRY};
use super::super::client::{Client, is_outdated};
use super::super::object::{is_deleting, items, namespace, set, text, time};
use super::super::pod::is_ended;
use super::notes::Notes;
use super::{placement, unmodelled};
use crate::api_server::kinds::KindId;
use crate::api_server::request::ApiError;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

const USER: &str = "kube-scheduler";

/// The scheduler.
#[derive(Default)]
pub struct Scheduler {
    notes: Notes,
}

impl Actor for Scheduler {
    fn name(&self) -> &'static str {
        USER
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["pods", "persistentvolumeclaims"]
    }

    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, USER);
        let (kind, claims) = (client.kind("pods")?, client.kind("persistentvolumeclaims")?);
        let pods = client.list(kind);
        let mut occupied: BTreeMap<String, usize> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| !is_ended(pod)) {
            *occupied.entry(text(&pod["spec"]["nodeName"]).to_owned()).or_default() += 1;
        }
        let mut failed = false;
        for pod in pods.iter().filter(|pod| is_pending(pod)) {
            let find = |_: &str, name: &str| client.get(claims, namespace(pod), name);
            self.notes.add(&client, pod, unmodelled::of_pod(pod));
            let done = match placement::place(pod, &find, |node| occupied.get(node).copied().unwrap_or_default()) {
                Ok(node) => {
                    *occupied.entry(node.to_owned()).or_default() += 1;
                    bind(&client, kind, pod, node, now)
                }
                Err(why) => report(&client, kind, pod, &condition(Some(&why), now)),
            };
            failed |= done.is_err_and(|refused| !is_outdated(&refused));
        }
        failed.then_some(RETRY)
    }
}

/// Whether a pod waits for a node.
fn is_pending(pod: &Value) -> bool {
    let is_gated = !items(&pod["spec"]["schedulingGates"]).is_empty();
    text(&pod["spec"]["nodeName"]).is_empty() && !is_deleting(pod) && !is_gated && !is_ended(pod)
}

/// Gives the pod a node. The real one sets both fields by one request, to the subresource `binding`.
fn bind(client: &Client<'_>, kind: KindId, pod: &Value, node: &str, now: Timestamp) -> Result<(), ApiError> {
    let mut bound = pod.clone();
    set(&mut bound, &["spec", "nodeName"], json!(node));
    let bound = client.update(kind, bound)?;
    report(client, kind, &bound, &condition(None, now))
}

/// Reports whether the pod has a node. A condition with the same status and message stays as it is.
fn report(client: &Client<'_>, kind: KindId, pod: &Value, condition: &Value) -> Result<(), ApiError> {
    let mut conditions = items(&pod["status"]["conditions"]).to_vec();
    let is_same =
        |present: &Value| ["type", "status", "message"].iter().all(|field| present[*field] == condition[*field]);
    if conditions.iter().any(is_same) {
        return Ok(());
    }
    conditions.retain(|one| one["type"] != condition["type"]);
    conditions.push(condition.clone());
    let mut reported = pod.clone();
    set(&mut reported, &["status", "conditions"], Value::Array(conditions));
    client.update_status(kind, reported).map(drop)
}

fn condition(why: Option<&str>, now: Timestamp) -> Value {
    let since = time(now);
    match why {
        None => json!({ "type": "PodScheduled", "status": "True", "lastTransitionTime": since }),
        Some(why) => json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why, "lastTransitionTime": since,
        }),
    }
}
