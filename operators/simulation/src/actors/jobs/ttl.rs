//! Deletes Jobs that ended some time ago, with their pods (kubernetes: `pkg/controller/ttlafterfinished`).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::super::actor::{Actor, RETRY};
use super::super::client::{CONTROLLER_MANAGER, Client, Target, is_outdated};
use super::super::object::{is_deleting, uid};
use super::end;
use crate::api_server::request::{DeleteOptions, Propagation};
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

/// The controller of the field `ttlSecondsAfterFinished`.
pub struct TtlController;

impl Actor for TtlController {
    fn name(&self) -> &'static str {
        "ttl-after-finished-controller"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["jobs"]
    }

    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let kind = client.kind("jobs")?;
        let mut again: Option<Duration> = None;
        for job in client.list(kind).iter().filter(|job| !is_deleting(job)) {
            let Some(expiry) = expiry(job) else { continue };
            let left = Duration::try_from(expiry.duration_since(now)).unwrap_or_default();
            let next = if left.is_zero() {
                let options = DeleteOptions {
                    uid: Some(uid(job).to_owned()),
                    propagation: Propagation::Foreground,
                    ..DeleteOptions::default()
                };
                let deleted = client.delete(Target::of(kind, job), options);
                deleted.is_err_and(|refused| !is_outdated(&refused)).then_some(RETRY)
            } else {
                Some(left)
            };
            again = again.into_iter().chain(next).min();
        }
        again
    }
}

/// When a Job is to be deleted, if it is.
fn expiry(job: &Value) -> Option<Timestamp> {
    let seconds = job["spec"]["ttlSecondsAfterFinished"].as_i64()?;
    end::of(job)?.checked_add(SignedDuration::from_secs(seconds)).ok()
}
