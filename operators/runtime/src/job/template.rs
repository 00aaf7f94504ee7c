//! Pure: the manifest of a Job with one pod at a time.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1 as batch;
use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::failure_policy;
use crate::cache::Projection;
use crate::plan::Create;
use crate::plan::meta::{KEEP_DETAILS, Key, argocd_no_prune_annotations};
use crate::projections::Job;

/// What a Job is created from.
#[derive(Clone, Debug)]
pub struct JobTemplate {
    /// Its namespace and name.
    pub key: Key,
    /// The labels of the Job and of its pods.
    pub labels: BTreeMap<String, String>,
    /// The owners with which it is deleted.
    pub owners: Option<Vec<OwnerReference>>,
    /// The spec of its pods; the container [`WORK`](super::WORK) does the work.
    pub pod: PodSpec,
    /// Annotations of its pods.
    pub pod_annotations: Option<BTreeMap<String, String>>,
    /// After how many seconds the Job fails.
    pub deadline_seconds: i64,
    /// How many pods may fail before the Job fails. Pods that a drain or an eviction ended do not count.
    pub retries: i32,
    /// After how many seconds the Job is deleted once it has ended, unless it is deleted with an owner.
    pub ttl_seconds: Option<i32>,
    /// Exit codes after which the Job creates no other pod.
    pub final_exit_codes: Vec<i32>,
}

/// The Job.
#[must_use]
pub fn create(template: JobTemplate) -> Create {
    let mut pod_labels = template.labels.clone();
    pod_labels.insert(KEEP_DETAILS.to_owned(), "true".to_owned());
    let annotations = template.owners.is_none().then(argocd_no_prune_annotations);
    let metadata = ObjectMeta {
        labels: Some(template.labels),
        annotations,
        owner_references: template.owners,
        ..ObjectMeta::default()
    };
    let pod_metadata =
        ObjectMeta { labels: Some(pod_labels), annotations: template.pod_annotations, ..ObjectMeta::default() };
    let pod = PodSpec { restart_policy: Some("Never".to_owned()), ..template.pod };
    let job = batch::Job {
        metadata,
        spec: Some(batch::JobSpec {
            active_deadline_seconds: Some(template.deadline_seconds),
            backoff_limit: Some(template.retries),
            ttl_seconds_after_finished: template.ttl_seconds,
            pod_failure_policy: Some(failure_policy(&template.final_exit_codes)),
            template: PodTemplateSpec { metadata: Some(pod_metadata), spec: Some(pod) },
            ..batch::JobSpec::default()
        }),
        status: None,
    };
    Create::new(Job::KIND, template.key, &job)
}
