//! How the ended pods of a Job get into its status: each once, even if the controller is interrupted. Their uids are written
//! first, then they lose their finalizer, then they are counted (kubernetes: `trackJobStatusAndRemoveFinalizers`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::client::{Client, Target, is_outdated};
use super::super::object::{is_deleting, items, list_or_null, number, remove, set as set_field, text, uid};
use super::failure_policy::{self, Consequence};
use super::member;
use crate::api_server::kinds::KindId;

/// The uids of pods that are not counted yet, and lose their finalizer.
const UNCOUNTED: &str = "uncountedTerminatedPods";

/// The pods of a Job that have ended.
#[derive(Debug, Default)]
pub(super) struct Ended<'a> {
    pub(super) succeeded: Vec<&'a Arc<Value>>,
    /// Without those that do not count.
    pub(super) failed: Vec<&'a Arc<Value>>,
}

/// The pods that have ended, and that the status does not know yet.
pub(super) fn new_ones<'a>(job: &Value, pods: &'a [Arc<Value>]) -> Ended<'a> {
    let mut ended = Ended::default();
    for pod in pods.iter().filter(|pod| member::is_tracked(pod)) {
        if member::has_succeeded(pod) && !is_uncounted(job, "succeeded", pod) {
            ended.succeeded.push(pod);
        } else if member::has_failed(job, pod) && !is_uncounted(job, "failed", pod) && counts(job, pod) {
            ended.failed.push(pod);
        }
    }
    ended
}

/// How many pods have ended in that way, with the new ones.
pub(super) fn total(job: &Value, way: &str, new: usize) -> i64 {
    let uncounted = items(&job["status"][UNCOUNTED][way]).len();
    number(&job["status"][way]) + i64::try_from(uncounted + new).unwrap_or(i64::MAX)
}

/// Whether a failure counts.
fn counts(job: &Value, pod: &Value) -> bool {
    failure_policy::of(job, pod) != Consequence::Ignored
}

fn is_uncounted(job: &Value, way: &str, pod: &Value) -> bool {
    items(&job["status"][UNCOUNTED][way]).iter().any(|one| text(one) == uid(pod))
}

/// Writes the uids of pods that are to be counted into the status. `fails`: the Job has failed, so pods that run count as failed.
/// Returns the pods that are to lose their finalizer. `ends`: the Job ends in any way.
pub(super) fn record<'a>(job: &mut Value, pods: &'a [Arc<Value>], ends: bool, fails: bool) -> Vec<&'a Arc<Value>> {
    let mut released = Vec::new();
    if job["status"][UNCOUNTED].is_null() {
        set_field(job, &["status", UNCOUNTED], json!({}));
    }
    for pod in pods.iter().filter(|pod| member::is_tracked(pod)) {
        let (has_succeeded, has_failed) = (member::has_succeeded(pod), member::has_failed(job, pod));
        if !(is_deleting(job) || ends || has_succeeded || has_failed) {
            continue;
        }
        released.push(pod);
        if has_succeeded && !is_uncounted(job, "failed", pod) {
            add(job, "succeeded", pod);
        } else if !has_succeeded && (has_failed || fails) && counts(job, pod) {
            add(job, "failed", pod);
        }
    }
    released
}

fn add(job: &mut Value, way: &str, pod: &Value) {
    if !is_uncounted(job, way, pod) {
        let mut all = items(&job["status"][UNCOUNTED][way]).to_vec();
        all.push(json!(uid(pod)));
        set_field(job, &["status", UNCOUNTED, way], Value::Array(all));
    }
}

/// Counts the pods that have no finalizer any more. Returns whether none is left.
pub(super) fn count(job: &mut Value, is_held: impl Fn(&str) -> bool) -> bool {
    let mut none_left = true;
    for way in ["succeeded", "failed"] {
        let all = items(&job["status"][UNCOUNTED][way]).to_vec();
        let (held, free): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|one| is_held(text(one)));
        let total = number(&job["status"][way]) + i64::try_from(free.len()).unwrap_or_default();
        if total > 0 {
            set_field(job, &["status", way], json!(total));
        }
        if held.is_empty() {
            remove(job, &["status", UNCOUNTED, way]);
        } else {
            none_left = false;
            set_field(job, &["status", UNCOUNTED, way], Value::Array(held));
        }
    }
    none_left
}

/// Takes the finalizer of the Job controller from a pod.
pub(super) fn release(client: &Client<'_>, kind: KindId, pod: &Value) -> Result<(), ()> {
    let others =
        items(&pod["metadata"]["finalizers"]).iter().filter(|one| **one != member::TRACKING).cloned().collect();
    let patch = json!({ "metadata": { "uid": uid(pod), "finalizers": list_or_null(others) } });
    match client.merge(Target::of(kind, pod), patch) {
        Err(refused) if !is_outdated(&refused) => Err(()),
        _ => Ok(()),
    }
}
