//! The Job controller, and the one that deletes Jobs some time after their end (kubernetes: `pkg/controller/job` and
//! `pkg/controller/ttlafterfinished`).
//!
//! Not modelled: Events, the slow start of many creations, and the finalizer that an adopted pod gets. Suspended and indexed Jobs,
//! success policies, limits per index and Jobs of other controllers are noted, so that the schedule fails.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::backoff::Failures;
use self::sync::JobSync;
use super::actor::{Actor, RETRY};
use super::client::{CONTROLLER_MANAGER, Client};
use super::object::{controller, has_finalizer, name, namespace, text, uid};
use super::ownership;
use crate::api_server::kinds::KindId;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

mod backoff;
mod end;
mod failure_policy;
mod member;
mod sync;
mod tracking;
mod ttl;

pub use ttl::TtlController;

/// The Job controller.
#[derive(Default)]
pub struct JobController {
    /// The failures of the pods of each Job, by its uid. They are forgotten when the Job is gone.
    failures: BTreeMap<String, Failures>,
    /// The Jobs of which it was noted what the model lacks.
    noted: BTreeSet<String>,
}

impl Actor for JobController {
    fn name(&self) -> &'static str {
        "job-controller"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["jobs", "pods"]
    }

    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let (jobs, pods) = (client.kind("jobs")?, client.kind("pods")?);
        let present = client.list(jobs);
        self.failures.retain(|job, _| present.iter().any(|one| uid(one) == job));
        let all = client.list(pods);
        let mut again = None;
        for job in present.iter().filter(|job| end::of(job).is_none()) {
            self.note_unmodelled(&client, job);
            let near: Vec<_> = all.iter().filter(|pod| namespace(pod) == namespace(job)).cloned().collect();
            let owned = ownership::claim_all(&client, member::OWNER, job, pods, &near);
            let failures = self.failures.entry(uid(job).to_owned()).or_default();
            let sync = JobSync { client: &client, jobs, pods, now };
            again = again.into_iter().chain(sync.run(job, &owned, failures)).min();
        }
        again.into_iter().chain(release_orphans(&client, pods, &present)).min()
    }
}

impl JobController {
    fn note_unmodelled(&mut self, client: &Client<'_>, job: &Value) {
        let spec = &job["spec"];
        let mut lacks: Vec<&str> = ["successPolicy", "backoffLimitPerIndex", "managedBy"]
            .into_iter()
            .filter(|field| !spec[*field].is_null())
            .collect();
        lacks.extend((spec["suspend"] == true).then_some("suspend"));
        lacks.extend((text(&spec["completionMode"]) == "Indexed").then_some("completionMode Indexed"));
        if !lacks.is_empty() && self.noted.insert(uid(job).to_owned()) {
            client.note_unmodelled(format!("Job {}/{}: {}", namespace(job), name(job), lacks.join(", ")));
        }
    }
}

/// Lets pods go whose Job is gone: no Job counts them any more.
fn release_orphans(client: &Client<'_>, pods: KindId, jobs: &[Arc<Value>]) -> Option<Duration> {
    let has_job = |pod: &Value| match controller(pod) {
        Some(owner) => jobs.iter().any(|job| uid(job) == text(&owner["uid"])),
        None => false,
    };
    let orphans = client.list(pods).into_iter().filter(|pod| has_finalizer(pod, member::TRACKING) && !has_job(pod));
    let mut refused = false;
    for pod in orphans {
        refused |= tracking::release(client, pods, &pod).is_err();
    }
    refused.then_some(RETRY)
}

#[cfg(test)]
mod tests;
