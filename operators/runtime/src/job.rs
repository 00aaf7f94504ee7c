//! Pure: Jobs whose one container does the work and reports its result in the termination message: what such a Job needs, how far
//! it has come, and what its pods reported.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{
    PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
};

use crate::projections::{ContainerStatus, Job, JobEnd, Pod, PodDetails, PodDiagnosis, Terminated};

pub mod attempts;
pub mod earlier;
pub mod outcome;
pub mod template;

/// The label with which the Job controller marks the pods of a Job.
pub const JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// The name of the container that does the work of a Job.
pub const WORK: &str = "work";

/// How far a Job has come.
#[derive(Debug)]
pub enum JobProgress<'a> {
    /// There is no such Job.
    Absent,
    /// There is no such Job, and pods of an earlier one of that name have yet to end. A Job that is created meanwhile may get no pods
    /// for minutes: the Job controller counts its expected and failed pods by the Job's name (seen with 1.36).
    Ending,
    /// The Job has not ended.
    Active(&'a Job),
    /// A pod succeeded.
    Complete(&'a Job, JobResult<'a>),
    /// The Job controller gave up, with this message.
    Failed(&'a Job, &'a str),
}

/// What a complete Job reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobResult<'a> {
    /// The end of the container.
    Available(&'a Terminated),
    /// The watch of pods lags behind that of Jobs.
    Pending,
    /// The pods were deleted before the operator saw their end. Run again, the Job finds its work done.
    Lost,
}

impl<'a> JobProgress<'a> {
    /// The progress of the Job `name` among `jobs`; `pods` contains its pods.
    #[must_use]
    pub fn of(jobs: &'a [Arc<Job>], pods: &'a [Arc<Pod>], name: &str) -> Self {
        let Some(job) = find(jobs, name) else {
            return if pods.iter().any(|pod| is_of(pod, name) && has_yet_to_end(pod)) {
                Self::Ending
            } else {
                Self::Absent
            };
        };
        match &job.end {
            None => Self::Active(job),
            Some(JobEnd::Complete) => Self::Complete(job, JobResult::of(pods, name)),
            Some(JobEnd::Failed { message, .. }) => Self::Failed(job, message),
        }
    }
}

impl<'a> JobResult<'a> {
    /// The result of a complete Job. What a pod reported that failed before the successful one is not its result.
    #[must_use]
    pub fn of(pods: &'a [Arc<Pod>], job: &str) -> Self {
        if let Some(ended) = last_end(pods, job).filter(|ended| ended.code == 0) {
            return Self::Available(ended);
        }
        let at_work = |pod: &Arc<Pod>| is_of(pod, job) && last_end(std::slice::from_ref(pod), job).is_none();
        if pods.iter().any(at_work) { Self::Pending } else { Self::Lost }
    }
}

/// The Job of that name.
#[must_use]
pub fn find<'a>(jobs: &'a [Arc<Job>], name: &str) -> Option<&'a Job> {
    jobs.iter().map(|job| &**job).find(|job| *job.meta.key.name == *name)
}

/// Whether a pod belongs to the Job `job`.
#[must_use]
pub fn is_of(pod: &Pod, job: &str) -> bool {
    let labels = pod.details.as_ref().map(|running| &running.labels);
    labels.and_then(|labels| labels.get(JOB_NAME)).is_some_and(|of| of == job)
}

/// Whether a pod works, or is terminating. One whose Job was deleted without it stays as it is once it has ended.
fn has_yet_to_end(pod: &Pod) -> bool {
    let worked = |container: &ContainerStatus| container.terminated.is_some();
    let works = |details: &PodDetails| !details.terminal && !details.container(WORK).is_some_and(worked);
    pod.meta.deleting || pod.details.as_deref().is_some_and(works)
}

/// Whether a Job has a pod.
#[must_use]
pub fn has_pod(pods: &[Arc<Pod>], job: &str) -> bool {
    pods.iter().any(|pod| is_of(pod, job))
}

/// The diagnosis of a failing pod of a Job, if there is one.
#[must_use]
pub fn diagnosis<'a>(pods: &'a [Arc<Pod>], job: &str) -> Option<&'a PodDiagnosis> {
    pods.iter().filter(|pod| is_of(pod, job)).find_map(|pod| pod.diagnosis.as_ref())
}

/// The container that does a Job's work, if one has started.
#[must_use]
pub fn started<'a>(pods: &'a [Arc<Pod>], job: &str) -> Option<&'a ContainerStatus> {
    let of = |pod: &'a Arc<Pod>| pod.details.as_deref()?.container(WORK);
    let has_started = |work: &&ContainerStatus| work.running || work.terminated.is_some();
    pods.iter().filter(|pod| is_of(pod, job)).filter_map(of).find(has_started)
}

/// The last end of a container of a pod: of a failed init container first, and not of one that runs again.
#[must_use]
pub fn last_end_of(pod: &Pod) -> Option<&Terminated> {
    let containers = &pod.details.as_ref()?.containers;
    // An init container that failed comes before those that have yet to run.
    let failed =
        containers.iter().find(|of| !of.running && of.terminated.as_ref().is_some_and(|ended| ended.code != 0));
    let last = || containers.iter().rev().find(|of| !of.running && of.terminated.is_some());
    failed.or_else(last)?.terminated.as_ref()
}

/// The end of the last pod of a Job, or of the one that succeeded.
#[must_use]
pub fn last_end<'a>(pods: &'a [Arc<Pod>], job: &str) -> Option<&'a Terminated> {
    // The end of an init container is no result yet. A pod that succeeded is the last of its Job.
    let worked = |pod: &Pod| {
        let work = pod.details.as_deref().and_then(|running| running.container(WORK));
        work.is_none_or(|work| !work.running && work.terminated.is_some())
    };
    let of = |pod: &'a Arc<Pod>| last_end_of(pod).filter(|ended| ended.code != 0 || worked(pod));
    let all = || pods.iter().filter(|pod| is_of(pod, job)).filter_map(of);
    all().find(|ended| ended.code == 0).or_else(|| all().next_back())
}

/// A failure policy by which disruptions do not count as failures, and the Job controller does not retry what ended with one of
/// these exit codes.
#[must_use]
pub fn failure_policy(final_exit_codes: &[i32]) -> PodFailurePolicy {
    let disrupted =
        PodFailurePolicyOnPodConditionsPattern { type_: "DisruptionTarget".to_owned(), status: "True".to_owned() };
    let ignored = PodFailurePolicyRule {
        action: "Ignore".to_owned(),
        on_pod_conditions: Some(vec![disrupted]),
        ..PodFailurePolicyRule::default()
    };
    let exit_codes = PodFailurePolicyOnExitCodesRequirement {
        container_name: Some(WORK.to_owned()),
        operator: "In".to_owned(),
        values: final_exit_codes.to_vec(),
    };
    let is_final = PodFailurePolicyRule {
        action: "FailJob".to_owned(),
        on_exit_codes: Some(exit_codes),
        ..PodFailurePolicyRule::default()
    };
    PodFailurePolicy { rules: vec![ignored, is_final] }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cache::Projection;

    fn pod(work: &Value) -> Arc<Pod> {
        let labels = json!({ "multi-operator.example.com/whole": "true", JOB_NAME: "j" });
        let installed = json!({ "terminated": { "exitCode": 0, "message": "" } });
        let pod = json!({ "metadata": { "namespace": "n", "name": "j-x", "labels": labels }, "status": {
            "initContainerStatuses": [{ "name": "install", "image": "a", "restartCount": 0, "state": installed }],
            "containerStatuses": [{ "name": WORK, "image": "i", "restartCount": 0, "state": work }] } });
        Arc::new(Pod::decode(&pod.to_string()).unwrap())
    }

    #[test]
    fn a_result_that_was_deleted_with_its_pod_is_lost() {
        let failed = || pod(&json!({ "terminated": { "exitCode": 1, "message": "" } }));
        assert_eq!(JobResult::of(&[], "j"), JobResult::Lost);
        assert_eq!(JobResult::of(&[failed()], "j"), JobResult::Lost);
        assert_eq!(JobResult::of(&[failed(), pod(&json!({ "running": {} }))], "j"), JobResult::Pending);
        let succeeded = pod(&json!({ "terminated": { "exitCode": 0, "message": "m" } }));
        let ended = Terminated { code: 0, message: "m".into() };
        assert_eq!(JobResult::of(&[failed(), succeeded], "j"), JobResult::Available(&ended));
    }

    #[test]
    fn the_end_of_an_init_container_is_no_result() {
        let end = |work: Value| last_end(&[pod(&work)], "j").map(|ended| (ended.code, ended.message.to_string()));
        assert_eq!(end(json!({ "waiting": { "reason": "PodInitializing" } })), None);
        assert_eq!(end(json!({ "running": {} })), None);
        assert_eq!(end(json!({ "terminated": { "exitCode": 0, "message": "m" } })), Some((0, "m".to_owned())));
    }

    #[test]
    fn a_job_is_not_created_while_pods_of_an_earlier_one_have_yet_to_end() {
        let is_ending = |pods: &[Arc<Pod>]| matches!(JobProgress::of(&[], pods, "j"), JobProgress::Ending);
        let of = |phase: &str, deleted: Value| {
            let metadata = json!({ "namespace": "n", "name": "j-x", "deletionTimestamp": deleted,
                "labels": { "multi-operator.example.com/whole": "true", JOB_NAME: "j" } });
            [Arc::new(Pod::decode(&json!({ "metadata": metadata, "status": { "phase": phase } }).to_string()).unwrap())]
        };
        assert!(is_ending(&of("Running", Value::Null)));
        assert!(is_ending(&of("Pending", Value::Null)));
        assert!(is_ending(&of("Failed", json!("2026-01-01T00:00:00Z"))));
        // The Job was deleted with --cascade=orphan.
        assert!(!is_ending(&of("Succeeded", Value::Null)));
        assert!(!is_ending(&[pod(&json!({ "terminated": { "exitCode": 0, "message": "m" } }))]));
        assert!(!is_ending(&[]));
    }

    #[test]
    fn the_message_of_a_job_that_failed_is_kept() {
        let job = |status: &Value| {
            let job = json!({ "metadata": { "namespace": "n", "name": "j" }, "status": status });
            [Arc::new(Job::decode(&job.to_string()).unwrap())]
        };
        assert!(matches!(JobProgress::of(&job(&json!({})), &[], "other"), JobProgress::Absent));
        assert!(matches!(JobProgress::of(&job(&json!({})), &[], "j"), JobProgress::Active(_)));
        let condition = |type_: &str| json!({ "conditions": [{ "type": type_, "status": "True", "message": "m" }] });
        assert!(matches!(JobProgress::of(&job(&condition("Failed")), &[], "j"), JobProgress::Failed(_, "m")));
        let complete = job(&condition("Complete"));
        assert!(matches!(JobProgress::of(&complete, &[], "j"), JobProgress::Complete(_, JobResult::Lost)));
    }
}
