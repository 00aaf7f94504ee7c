//! The pod garbage collector (kubernetes: `pkg/controller/podgc`): ends pods that are deleted before they got a node. Finalizers
//! may hold them, and their controllers wait for the end. The real one looks every 20 seconds. Its other tasks are not modelled:
//! pods of lost nodes, and too many pods that have ended.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::actor::{Actor, RETRY};
use super::super::client::{CONTROLLER_MANAGER, Client, is_outdated};
use super::super::object::{is_deleting, set, text};
use super::super::pod::is_ended;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

/// The pod garbage collector.
pub struct PodCollector;

impl Actor for PodCollector {
    fn name(&self) -> &'static str {
        "pod-garbage-collector"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["pods"]
    }

    fn step(&mut self, server: &SimulatedApiServer, _now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let kind = client.kind("pods")?;
        let mut refused = false;
        for pod in client.list(kind).iter().filter(|pod| is_deleting(pod) && !is_ended(pod)) {
            if text(&pod["spec"]["nodeName"]).is_empty() {
                let mut ended = Value::clone(pod);
                set(&mut ended, &["status", "phase"], json!("Failed"));
                refused |= client.update_status(kind, ended).is_err_and(|refused| !is_outdated(&refused));
            }
        }
        refused.then_some(RETRY)
    }
}
