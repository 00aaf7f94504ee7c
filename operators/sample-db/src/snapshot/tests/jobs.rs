//! Jobs and their pods, as the caches have them.

use std::sync::Arc;

use runtime::cache::Projection;
use runtime::projections::{Job, Pod};
use serde_json::{Value, json};

pub(super) fn job(name: &str, conditions: &Value) -> Arc<Job> {
    let job =
        json!({ "metadata": { "namespace": "n", "name": name, "uid": name }, "status": { "conditions": conditions } });
    Arc::new(Job::decode(&job.to_string()).unwrap())
}

pub(super) fn failed(name: &str) -> Arc<Job> {
    job(name, &json!([{ "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too late" }]))
}

/// The pod of a Job, with its termination message.
pub(super) fn pod(job: &str, code: i32, message: &Value) -> Arc<Pod> {
    let labels = json!({ "multi-operator.example.com/whole": "true", "batch.kubernetes.io/job-name": job });
    let ended =
        json!({ "name": "work", "state": { "terminated": { "exitCode": code, "message": message.to_string() } } });
    let pod = json!({ "metadata": { "namespace": "n", "name": job, "uid": job, "labels": labels },
        "status": { "containerStatuses": [ended] } });
    Arc::new(Pod::decode(&pod.to_string()).unwrap())
}

/// A Job that was deleted, and still exists.
pub(super) fn terminating_job(name: &str) -> Arc<Job> {
    let metadata = json!({ "namespace": "n", "name": name, "uid": name, "deletionTimestamp": "2027-01-15T07:59:59Z" });
    let status = json!({ "conditions": [{ "type": "Failed", "status": "True" }] });
    Arc::new(Job::decode(&json!({ "metadata": metadata, "status": status }).to_string()).unwrap())
}

/// The pod of that Job.
pub(super) fn terminating_pod(job: &str) -> Arc<Pod> {
    let labels = json!({ "multi-operator.example.com/whole": "true", "batch.kubernetes.io/job-name": job });
    let metadata = json!({ "namespace": "n", "name": job, "uid": job, "labels": labels, "deletionTimestamp": "2027-01-15T07:59:59Z" });
    Arc::new(Pod::decode(&json!({ "metadata": metadata, "status": {} }).to_string()).unwrap())
}
