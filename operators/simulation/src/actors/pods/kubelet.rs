//! The kubelets of all nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::super::actor::{Actor, RETRY};
use super::super::client::{Client, Target, is_outdated};
use super::super::object::{is_deleting, items, namespace, number, set, text, uid};
use super::content::is_ended;
use super::exit;
use super::life::{Life, later};
use super::needs::{Missing, missing};
use super::notes::Notes;
use super::status;
use crate::api_server::kinds::KindId;
use crate::api_server::request::{ApiError, DeleteOptions};
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

const USER: &str = "kubelet";

/// The longest time that containers take to stop, in seconds.
const LONGEST_STOP: i64 = 3;

/// The kubelets.
#[derive(Default)]
pub struct Kubelet {
    /// The pods that have a node, by uid.
    lives: BTreeMap<String, Life>,
    addresses: u64,
    notes: Notes,
}

impl Actor for Kubelet {
    fn name(&self) -> &'static str {
        USER
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["pods", "configmaps", "secrets"]
    }

    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, USER);
        let (kind, maps, secrets) = (client.kind("pods")?, client.kind("configmaps")?, client.kind("secrets")?);
        let pods = client.list(kind);
        let present: BTreeSet<&str> = pods.iter().map(|pod| uid(pod)).collect();
        self.lives.retain(|uid, _| present.contains(uid.as_str()));
        let mut again = None;
        for pod in pods.iter().filter(|pod| !text(&pod["spec"]["nodeName"]).is_empty()) {
            let next = if is_deleting(pod) {
                self.stop(&client, kind, pod, now, random)
            } else if is_ended(pod) {
                None
            } else {
                let find = |plural: &str, name: &str| {
                    client.get(if plural == "secrets" { secrets } else { maps }, namespace(pod), name)
                };
                self.run(&client, kind, pod, &missing(pod, &find), now, random)
            };
            again = again.into_iter().chain(next).min();
        }
        again
    }
}

impl Kubelet {
    /// Runs a pod, and reports its status.
    fn run(
        &mut self,
        client: &Client<'_>,
        kind: KindId,
        pod: &Arc<Value>,
        missing: &Missing,
        now: Timestamp,
        random: &mut Random,
    ) -> Option<Duration> {
        let life = self.life(pod, now, random);
        life.advance(missing, now, random);
        let (reported, next, changed) = (status::of(pod, life, now), life.next(now), life.changed_images(pod));
        self.notes.add(client, pod, changed);
        if pod["status"] == reported {
            return next;
        }
        let mut body = Value::clone(pod);
        set(&mut body, &["status"], reported);
        retried(client.update_status(kind, body), next)
    }

    /// Stops the containers of a pod that is being deleted, and then removes it.
    fn stop(
        &mut self,
        client: &Client<'_>,
        kind: KindId,
        pod: &Value,
        now: Timestamp,
        random: &mut Random,
    ) -> Option<Duration> {
        let grace = number(&pod["metadata"]["deletionGracePeriodSeconds"]);
        if grace == 0 {
            // It has stopped, and a finalizer holds it.
            return None;
        }
        let longest = u64::try_from(grace.min(LONGEST_STOP)).unwrap_or_default() * 1000;
        let life = self.life(pod, now, random);
        let stops = *life.stops.get_or_insert_with(|| later(now, random.between(200, longest)));
        if now < stops {
            return life.next(now);
        }
        // The controller that holds the pod reads how it ended.
        if !items(&pod["metadata"]["finalizers"]).is_empty() && !is_ended(pod) {
            let mut ended = pod.clone();
            set(&mut ended, &["status"], exit::stopped(pod, life, now));
            if client.update_status(kind, ended).is_err() {
                return Some(RETRY);
            }
        }
        let options = DeleteOptions { uid: Some(uid(pod).to_owned()), grace: Some(0), ..DeleteOptions::default() };
        retried(client.delete(Target::of(kind, pod), options), None)
    }

    fn life(&mut self, pod: &Value, now: Timestamp, random: &mut Random) -> &mut Life {
        let addresses = &mut self.addresses;
        self.lives.entry(uid(pod).to_owned()).or_insert_with(|| {
            *addresses += 1;
            Life::new(pod, format!("10.244.{}.{}", *addresses / 250, *addresses % 250 + 1), now, random)
        })
    }
}

/// When to go on after a request.
fn retried(answer: Result<Value, ApiError>, next: Option<Duration>) -> Option<Duration> {
    match answer {
        Err(refused) if !is_outdated(&refused) => Some(RETRY),
        _ => next,
    }
}
