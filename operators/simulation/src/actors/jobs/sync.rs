//! Brings a Job up to date (kubernetes: `syncJob` and `manageJob` in `job_controller.go`).

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::actor::RETRY;
use super::super::client::{Client, Target, is_outdated, is_terminating};
use super::super::conditions;
use super::super::object::{items, number, read_time, remove, set as set_field, text, time, uid};
use super::backoff::Failures;
use super::end::Ending;
use super::failure_policy::{self, Consequence};
use super::{member, tracking};
use crate::api_server::kinds::KindId;
use crate::api_server::request::DeleteOptions;

/// A step of the Job controller.
pub(super) struct JobSync<'a> {
    pub(super) client: &'a Client<'a>,
    pub(super) jobs: KindId,
    pub(super) pods: KindId,
    pub(super) now: Timestamp,
}

/// What became of the pods of a Job in this step.
#[derive(Default)]
struct Managed {
    active: usize,
    /// Of those, the ready ones.
    ready: usize,
    /// Pods that were deleted, and have not ended.
    deleted: usize,
    again: Option<Duration>,
}

impl JobSync<'_> {
    /// Brings a Job that has not ended up to date. Returns the time after which it must be looked at again.
    pub(super) fn run(&self, job: &Arc<Value>, pods: &[Arc<Value>], failures: &mut Failures) -> Option<Duration> {
        let mut changed = Value::clone(job);
        let new = tracking::new_ones(job, pods);
        let succeeded = tracking::total(job, "succeeded", new.succeeded.len());
        let failed = tracking::total(job, "failed", new.failed.len());
        *failures = failures.after(&new.succeeded, &new.failed, self.now);
        if job["status"]["startTime"].is_null() {
            set_field(&mut changed, &["status", "startTime"], time(self.now));
        }
        let mut ending = Ending::decided(job).or_else(|| self.failure(&changed, pods, failed));
        let managed = match &ending {
            Some(_) => self.stop(pods),
            None => self.manage(&changed, pods, succeeded, *failures),
        };
        let is_complete = succeeded >= completions(job) && managed.active == 0;
        if ending.is_none() && is_complete {
            ending = Some(Ending::success());
        }
        // Pods that could not be deleted keep the Job from ending.
        let ending = ending.filter(|_| managed.active == 0);
        let terminating = pods.iter().filter(|pod| member::is_terminating(pod)).count() + managed.deleted;
        write_count(&mut changed, "active", managed.active);
        set_field(&mut changed, &["status", "ready"], json!(managed.ready));
        set_field(&mut changed, &["status", "terminating"], json!(terminating));
        let is_written = self.track(job, changed, pods, ending, terminating == 0);
        let deadline = self.until_deadline(job).filter(|left| !left.is_zero());
        let retry = (!is_written).then_some(RETRY);
        managed.again.into_iter().chain(deadline).chain(retry).min()
    }

    /// Why a Job is to fail, if it is.
    fn failure(&self, job: &Value, pods: &[Arc<Value>], failed: i64) -> Option<Ending> {
        let message = |pod: &Arc<Value>| match failure_policy::of(job, pod) {
            Consequence::FailsJob(message) if member::has_failed(job, pod) => Some(message),
            _ => None,
        };
        if let Some(message) = pods.iter().find_map(message) {
            return Some(Ending::failure("PodFailurePolicy", message));
        }
        let limit = number(&job["spec"]["backoffLimit"]);
        if failed > limit || is_restarted_too_often(job, pods, limit) {
            return Some(Ending::failure("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
        }
        let is_late = self.until_deadline(job).is_some_and(|left| left.is_zero());
        is_late.then(|| Ending::failure("DeadlineExceeded", "Job was active longer than specified deadline"))
    }

    /// How long a Job may still run, if that is limited.
    fn until_deadline(&self, job: &Value) -> Option<Duration> {
        let seconds = job["spec"]["activeDeadlineSeconds"].as_i64()?;
        let started = read_time(&job["status"]["startTime"]).unwrap_or(self.now);
        let end = started.checked_add(SignedDuration::from_secs(seconds)).ok()?;
        Some(Duration::try_from(end.duration_since(self.now)).unwrap_or_default())
    }

    /// Deletes the pods that are active.
    fn stop(&self, pods: &[Arc<Value>]) -> Managed {
        let active: Vec<&Arc<Value>> = pods.iter().filter(|pod| member::is_active(pod)).collect();
        let left = active.iter().filter(|pod| self.delete(pod).is_err()).count();
        let again = (left > 0).then_some(RETRY);
        Managed { active: left, ready: 0, deleted: active.len() - left, again }
    }

    /// Creates and deletes pods until as many are active as are to be.
    fn manage(&self, job: &Value, pods: &[Arc<Value>], succeeded: i64, failures: Failures) -> Managed {
        let active: Vec<&Arc<Value>> = pods.iter().filter(|pod| member::is_active(pod)).collect();
        let is_ready = |pod: &&&Arc<Value>| conditions::find_true(&pod["status"], "Ready").is_some();
        let mut managed =
            Managed { active: active.len(), ready: active.iter().filter(is_ready).count(), ..Managed::default() };
        if super::super::object::is_deleting(job) {
            return managed;
        }
        let parallel = number(&job["spec"]["parallelism"]);
        let wanted = match job["spec"]["completions"].as_i64() {
            Some(completions) => (completions - succeeded).clamp(0, parallel),
            // Once a pod has succeeded, those that run are the last ones.
            None if succeeded > 0 => i64::try_from(active.len()).unwrap_or_default().min(parallel),
            None => parallel,
        };
        let wanted = usize::try_from(wanted).unwrap_or_default();
        for pod in active.iter().rev().take(active.len().saturating_sub(wanted)) {
            if self.delete(pod).is_ok() {
                managed.active -= 1;
                managed.deleted += 1;
            } else {
                managed.again = Some(RETRY);
            }
        }
        let waits_for =
            pods.iter().filter(|pod| member::replaces_failed_only(job) && member::is_terminating(pod)).count();
        let missing = wanted.saturating_sub(waits_for + managed.active);
        if missing == 0 {
            return managed;
        }
        if let Some(left) = failures.remaining(self.now) {
            managed.again = Some(left);
            return managed;
        }
        for _ in 0..missing {
            match self.client.create(self.pods, member::pod(job)) {
                Ok(_) => managed.active += 1,
                Err(refused) if is_terminating(&refused) => break,
                Err(_) => {
                    managed.again = Some(RETRY);
                    break;
                }
            }
        }
        managed
    }

    fn delete(&self, pod: &Value) -> Result<(), ()> {
        let options = DeleteOptions { uid: Some(uid(pod).to_owned()), ..DeleteOptions::default() };
        match self.client.delete(Target::of(self.pods, pod), options) {
            Err(refused) if !is_outdated(&refused) => Err(()),
            _ => Ok(()),
        }
    }

    /// Writes the status, counts ended pods, and ends the Job. Returns false if it must be done again.
    fn track(
        &self,
        live: &Arc<Value>,
        mut job: Value,
        pods: &[Arc<Value>],
        ending: Option<Ending>,
        all_ended: bool,
    ) -> bool {
        let fails = ending.as_ref().is_some_and(|ending| !ending.succeeds);
        let released = tracking::record(&mut job, pods, ending.is_some(), fails);
        if let Some(ending) = &ending {
            ending.decide(&mut job["status"], self.now);
        }
        let Some(mut written) = self.write(live, job) else { return false };
        let held: Vec<&str> = released
            .into_iter()
            .filter(|pod| tracking::release(self.client, self.pods, pod).is_err())
            .map(|pod| uid(pod))
            .collect();
        let before = written.clone();
        let is_counted = tracking::count(&mut written, |pod| held.contains(&pod));
        if let Some(ending) = ending.filter(|_| is_counted && all_ended) {
            ending.complete(&mut written["status"], self.now);
        }
        self.write(&before, written).is_some() && held.is_empty()
    }

    /// Writes the status of a Job if it differs from the live one. Returns the Job as it is then.
    fn write(&self, live: &Value, job: Value) -> Option<Value> {
        if live["status"] == job["status"] { Some(job) } else { self.client.update_status(self.jobs, job).ok() }
    }
}

/// How many pods have to succeed.
fn completions(job: &Value) -> i64 {
    job["spec"]["completions"].as_i64().unwrap_or(1)
}

/// Whether the containers of pods that are restarted in place have been, too often.
fn is_restarted_too_often(job: &Value, pods: &[Arc<Value>], limit: i64) -> bool {
    if text(&job["spec"]["template"]["spec"]["restartPolicy"]) != "OnFailure" {
        return false;
    }
    let running = pods.iter().filter(|pod| matches!(text(&pod["status"]["phase"]), "Running" | "Pending"));
    let lists = ["containerStatuses", "initContainerStatuses"];
    let containers = running.flat_map(|pod| lists.iter().flat_map(|list| items(&pod["status"][*list])));
    let restarts: i64 = containers.map(|container| number(&container["restartCount"])).sum();
    if limit == 0 { restarts > 0 } else { restarts >= limit }
}

fn write_count(job: &mut Value, field: &str, count: usize) {
    if count == 0 {
        remove(job, &["status", field]);
    } else {
        set_field(job, &["status", field], json!(count));
    }
}
