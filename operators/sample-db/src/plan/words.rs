//! What the agent leaves at its end, in the termination message of its container. Pure.

use std::sync::Arc;

use runtime::views::{Container, Pod, Trouble};
use serde::Deserialize;

use super::brief;

/// The label by which the Job controller marks its pods.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// The exit code of what was killed.
const KILLED: i32 = 137;
/// The container of a Job's pod that does the work.
pub(crate) const WORK: &str = "work";

/// What the agent left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Its exit code.
    pub code: i32,
    /// What it said.
    pub said: Said,
}

/// What the agent says: of a failure the first two, of a success the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Said {
    /// Why it failed, in one CamelCase word.
    pub reason: Option<String>,
    /// Why it failed, in words.
    pub message: Option<String>,
    /// PostgreSQL's identifier of the data.
    pub system_identifier: Option<String>,
    /// Of a copy, that of the data it was made of.
    pub from_system_identifier: Option<String>,
    /// The release that made the data, or the snapshot.
    pub version: Option<String>,
    /// The release of a snapshot.
    pub engine_version: Option<String>,
    /// When a snapshot was completed, in seconds since 1970.
    pub completed_at: Option<i64>,
    /// Whether that was by an earlier run, of which nothing is known but what its files say.
    pub reused: bool,
    /// The size of a snapshot, in bytes.
    pub bytes: Option<i64>,
    /// The sum of a snapshot's manifest.
    pub sha256: Option<String>,
    /// How many tables were found.
    pub tables: Option<i64>,
    /// How many rows were found.
    pub rows: Option<i64>,
    /// How much room a volume has, in bytes.
    pub free_bytes: Option<i64>,
    /// What all files on a volume take, in bytes.
    pub used_bytes: Option<i64>,
    /// How large a volume's file system is, in bytes.
    pub volume_bytes: Option<i64>,
    /// How many files it may have, and how many more.
    pub inodes: Option<i64>,
    /// How many of these are free.
    pub free_inodes: Option<i64>,
    /// When writers were shut out, in milliseconds since 1970.
    pub closed_at: Option<i64>,
    /// What was done only in part.
    pub warnings: Vec<String>,
    /// The databases that a snapshot holds.
    pub database_names: Option<Vec<String>>,
    /// What a snapshot does not hold, or a copy would not, in sentences.
    pub not_covered: Vec<String>,
}

/// The last words of a Job that has done its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// They are here.
    Said(Box<Words>),
    /// Its pods come by another watch than its end does: they are yet to be seen as they are.
    ToCome,
    /// They went with their pod; done again, the work is found done.
    Lost,
}

/// What keeps a Job's pods from their work, if anything does.
#[must_use]
pub fn trouble<'a>(pods: &'a [Arc<Pod>], job: &str) -> Option<&'a Trouble> {
    pods.iter().filter(|pod| is_of(pod, job)).find_map(|pod| pod.trouble.as_ref())
}

/// The container that does a Job's work, if one has begun to.
#[must_use]
pub(crate) fn work<'a>(pods: &'a [Arc<Pod>], job: &str) -> Option<&'a Container> {
    let of = |pod: &'a Arc<Pod>| pod.running.as_deref()?.container(WORK);
    let begun = |work: &&Container| work.running || work.ended.is_some();
    pods.iter().filter(|pod| is_of(pod, job)).filter_map(of).find(begun)
}

/// Whether a Job has a pod.
#[must_use]
pub(crate) fn has_pod(pods: &[Arc<Pod>], job: &str) -> bool {
    pods.iter().any(|pod| is_of(pod, job))
}

/// Whether a pod is of that Job.
pub(crate) fn is_of(pod: &Pod, job: &str) -> bool {
    let labels = pod.running.as_ref().map(|running| &running.labels);
    labels.and_then(|labels| labels.get(JOB_NAME)).is_some_and(|of| of == job)
}

impl Words {
    /// Those of a pod's container that ended last, init steps first; of one that runs, none.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        let containers = &pod.running.as_ref()?.containers;
        // A step that failed comes before those that have yet to run.
        let failed = containers.iter().find(|of| !of.running && of.ended.as_ref().is_some_and(|ended| ended.code != 0));
        failed
            .or_else(|| containers.iter().rev().find(|of| !of.running && of.ended.is_some()))
            .and_then(Self::of_container)
    }

    /// Those of a Job's pods, the last one's.
    #[must_use]
    pub fn of_job(pods: &[Arc<Pod>], job: &str) -> Option<Self> {
        // That a step before the work has ended says nothing yet. One that succeeded is the last there is.
        let worked = |pod: &&Arc<Pod>| {
            let work = pod.running.as_deref().and_then(|running| running.container(WORK));
            work.is_none_or(|work| !work.running && work.ended.is_some())
        };
        let of = |pod: &Arc<Pod>| Self::of(pod).filter(|words| words.code != 0 || worked(&pod));
        let all = || pods.iter().filter(|pod| is_of(pod, job)).filter_map(of);
        all().find(|words| words.code == 0).or_else(|| all().next_back())
    }

    /// Those of a Job that has done its work: what a pod that failed before has said is not meant.
    #[must_use]
    pub fn of_done(pods: &[Arc<Pod>], job: &str) -> Heard {
        match Self::of_job(pods, job).filter(|words| words.code == 0) {
            Some(words) => Heard::Said(Box::new(words)),
            None => {
                let at_work =
                    |pod: &Arc<Pod>| is_of(pod, job) && Self::of_job(std::slice::from_ref(pod), job).is_none();
                if pods.iter().any(at_work) { Heard::ToCome } else { Heard::Lost }
            }
        }
    }

    /// Those of one container. Of what the agent did not write, such as the server's log, the lines that tell why.
    #[must_use]
    pub fn of_container(container: &Container) -> Option<Self> {
        let ended = container.ended.as_ref()?;
        let said = serde_json::from_str(&ended.message).unwrap_or_else(|_| {
            let message = brief::log(&ended.message);
            Said { message: Some(message).filter(|message| !message.is_empty()), ..Said::default() }
        });
        Some(Self { code: ended.code, said })
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<(&str, String)> {
        let reason = self.said.reason.as_deref().unwrap_or("Failed");
        let said = self.said.message.clone().map(brief::message);
        let message = match (self.code, said) {
            (KILLED, said) => {
                let said = said.map_or_else(String::new, |said| format!("; it said last: {said}"));
                format!(
                    "it was killed (exit code {KILLED}), as what uses more memory than resources.limits.memory is{said}"
                )
            }
            (_, Some(said)) => said,
            (code, None) => format!("it ended with exit code {code}"),
        };
        (self.code != 0).then_some((reason, message))
    }
}

#[cfg(test)]
mod tests {
    use runtime::cache::View;
    use serde_json::{Value, json};

    use super::*;

    fn pod(work: &Value) -> Arc<Pod> {
        let labels = json!({ "multi-operator.example.com/whole": "true", JOB_NAME: "j" });
        let installed = json!({ "terminated": { "exitCode": 0, "message": "" } });
        let pod = json!({ "metadata": { "namespace": "n", "name": "j-x", "labels": labels }, "status": {
            "initContainerStatuses": [{ "name": "install", "image": "a", "restartCount": 0, "state": installed }],
            "containerStatuses": [{ "name": WORK, "image": "i", "restartCount": 0, "state": work }] } });
        Arc::new(Pod::decode(&pod.to_string()).unwrap())
    }

    #[test]
    fn words_that_went_with_their_pod_are_lost() {
        let heard = |pods: &[Arc<Pod>]| Words::of_done(pods, "j");
        let failed = || pod(&json!({ "terminated": { "exitCode": 1, "message": "" } }));
        assert_eq!(heard(&[]), Heard::Lost);
        assert_eq!(heard(&[failed()]), Heard::Lost);
        assert_eq!(heard(&[failed(), pod(&json!({ "running": {} }))]), Heard::ToCome);
    }

    #[test]
    fn a_step_before_the_work_is_not_the_work() {
        let words = |work: Value| Words::of_job(&[pod(&work)], "j").map(|words| (words.code, words.said.version));
        assert_eq!(words(json!({ "waiting": { "reason": "PodInitializing" } })), None);
        assert_eq!(words(json!({ "running": {} })), None);
        let version = r#"{"version": "15.20"}"#;
        let done = json!({ "terminated": { "exitCode": 0, "message": version } });
        assert_eq!(words(done), Some((0, Some("15.20".to_owned()))));
    }

    #[test]
    fn of_a_log_the_cause_and_the_last_lines_are_told() {
        let log = "LOG: one\n\nLOG: unknown parameter\nFATAL: errors\nLOG: stopped\n";
        let words = Words::of_job(&[pod(&json!({ "terminated": { "exitCode": 1, "message": log } }))], "j").unwrap();
        assert_eq!(words.failure().unwrap().1, "FATAL: errors; LOG: unknown parameter; LOG: stopped");
    }

    #[test]
    fn what_was_killed_says_so() {
        let killed = json!({ "terminated": { "exitCode": 137, "message": "" } });
        let why = Words::of_job(&[pod(&killed)], "j").unwrap().failure().unwrap().1;
        assert!(why.contains("memory"), "{why}");
    }
}
