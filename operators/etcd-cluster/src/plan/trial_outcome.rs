//! Pure: the results of trial pods, which check images or whether a pod starts.

use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};
use runtime::projections::{Pod, PodDetails, Terminated};

use super::Observed;
use super::desired::Desired;
use super::membership::EtcdStep;
use super::objects::{AGENT, AGENT_PATH, ETCD, ETCD_PATH};

/// How long a kubelet takes at most to pull an image and run `etcd --version`, unless it reports what is wrong.
const START_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// How long a kubelet takes at most to remove a pod, after its grace period.
const REMOVAL_TIMEOUT: SignedDuration = SignedDuration::from_mins(1);

/// Exit codes of a process that was killed, as in an evicted pod: SIGKILL, and SIGTERM.
const KILLED: [i32; 2] = [137, 143];
/// The exit code of a container that could not be started (reason StartError): a container runtime that was too slow, a node out
/// of processes.
const NOT_STARTED: i32 = 128;
/// Parts of the errors of container runtimes if the program is not in the image or cannot be executed, in addition to the path of
/// the program.
const EXEC_ERRORS: [&str; 2] = ["executable file", "exec format error"];

/// Reports an image that cannot be used.
pub(super) fn unavailable(observed: &Observed, tried: &Pod, desired: &Desired, why: &str) -> EtcdStep {
    let agent = tried.details.as_ref().and_then(|details| details.container(AGENT));
    let message = match agent.is_some_and(|agent| agent.terminated.as_ref().is_none_or(|ended| ended.code != 0)) {
        true => format!(
            "image {} cannot be used, so no member has been changed: {why}; it is the manager's own image, from which every \
             new pod takes its agent; make it available to the nodes, with spec.pod.imagePullSecrets if the registry requires \
             a Secret",
            observed.agent_image
        ),
        false => format!(
            "image {} cannot be used, so no member has been changed: {why}; correct or revert spec.version or spec.repository",
            desired.image()
        ),
    };
    EtcdStep::stuck(EtcdClusterReason::ImageUnavailable, message)
}

/// The result of an image check after etcd or the pod has ended; the error is why an image cannot be used.
pub(super) fn verdict(details: &PodDetails) -> Option<Result<(), String>> {
    match ended(details) {
        Some((_, ended)) if ended.code == 0 => Some(Ok(())),
        // Evicted, or rejected by the kubelet: there is no result.
        None if details.terminal => Some(Ok(())),
        Some((_, ended)) if details.terminal && KILLED.contains(&ended.code) => Some(Ok(())),
        Some((program, ended)) => Some(Err(describe(program, ended))),
        None => None,
    }
}

/// A message about how a program with `--version` has ended.
pub(super) fn describe(program: &str, ended: &Terminated) -> String {
    match ended.code {
        NOT_STARTED => format!("{program} --version could not be started: {}", ended.message),
        code if KILLED.contains(&code) => format!("{program} --version was killed with exit code {code}"),
        code => format!("{program} --version failed with exit code {code}"),
    }
}

/// Whether a program was killed, or never started, which says nothing about its image.
pub(super) fn is_inconclusive(program: &str, ended: &Terminated) -> bool {
    KILLED.contains(&ended.code) || is_not_started(program, ended)
}

/// Whether a container could not be started for another reason than that its program cannot be executed. Errors of container
/// runtimes differ, but all have the program's path.
pub(super) fn is_not_started(program: &str, ended: &Terminated) -> bool {
    let path = if program == AGENT { AGENT_PATH } else { ETCD_PATH };
    // The exact path: stack traces have paths of the runtime's own agents.
    let mut words = ended.message.split(|sign: char| !sign.is_alphanumeric() && !"/._-".contains(sign));
    let of_program = words.any(|word| word == path) || EXEC_ERRORS.iter().any(|part| ended.message.contains(part));
    ended.code == NOT_STARTED && !of_program
}

/// Whether the agent has failed, after which etcd was not started.
pub(super) fn agent_has_failed(tried: &Pod) -> bool {
    tried.details.as_deref().and_then(ended).is_some_and(|(program, _)| program == AGENT)
}

/// Whether a pod is at least that old. Not `clock::elapsed`: if this clock is behind, it would be created again and again.
pub(super) fn is_older_than(tried: &Pod, age: SignedDuration, now: Timestamp) -> bool {
    tried.details.as_ref().and_then(|details| details.created).is_some_and(|since| now.duration_since(since) >= age)
}

/// How etcd has ended in a trial pod, or the agent if it failed, after which etcd was not started.
pub(super) fn ended(details: &PodDetails) -> Option<(&'static str, &Terminated)> {
    let of = |program| Some((program, details.container(program)?.terminated.as_ref()?));
    of(ETCD).or_else(|| of(AGENT).filter(|(_, ended)| ended.code != 0))
}

/// Whether a trial pod will have no result: its node is down, so that no kubelet starts or removes it.
pub(super) fn is_overdue(tried: &Pod, now: Timestamp) -> bool {
    if !tried.meta.deleting {
        return tried.diagnosis.is_none() && is_older_than(tried, START_TIMEOUT, now);
    }
    // Not clock::elapsed: the time of a deletion is that of its end.
    let deleted = tried.details.as_ref().and_then(|details| details.deleted);
    deleted.is_some_and(|since| now.duration_since(since) >= REMOVAL_TIMEOUT)
}
