//! Pure: what pods have found out that try images, or whether a pod starts.

use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};
use runtime::projections::{Ended, Pod, Running};

use super::Observed;
use super::membership::Step;
use super::objects::{AGENT, AGENT_PATH, ETCD, ETCD_PATH};
use super::wish::Wish;

/// How long a kubelet takes at most to have an image pulled and etcd tell its version, unless it says what is wrong.
const START: SignedDuration = SignedDuration::from_mins(10);
/// The same to remove a pod, after the time that the pod has been given for that.
const REMOVAL: SignedDuration = SignedDuration::from_mins(1);

/// Exit codes of a process that was killed, as those of an evicted pod are: SIGKILL, and SIGTERM.
const KILLED: [i32; 2] = [137, 143];
/// The exit code of a container that could not be started (reason StartError): a runtime that was too slow, a node out of processes.
const NOT_STARTED: i32 = 128;
/// What runtimes say of a container that could not be started because its program is not in the image, or is of no use; beside the path
/// of that program.
const NO_PROGRAM: [&str; 2] = ["executable file", "exec format error"];

/// What is told of an image that is of no use, by the pod that has tried it.
pub(super) fn unavailable(observed: &Observed, tried: &Pod, wish: &Wish, why: &str) -> Step {
    let agent = tried.running.as_ref().and_then(|running| running.container(AGENT));
    let message = match agent.is_some_and(|agent| agent.ended.as_ref().is_none_or(|ended| ended.code != 0)) {
        true => format!(
            "image {} cannot be used, so no member has been changed: {why}; it is the manager's own image, from which every new \
             pod takes its agent: make it available to the nodes, with spec.pod.imagePullSecrets if the registry asks for a Secret",
            observed.agent_image
        ),
        false => format!(
            "image {} cannot be used, so no member has been changed: {why}; correct spec.version or spec.repository, or set it \
             back",
            wish.image()
        ),
    };
    Step::stuck(EtcdClusterReason::ImageUnavailable, message)
}

/// What the check has come to in a pod in which etcd has ended, or that has ended itself: why an image is of no use, if one is. Of a
/// container that could not be started nothing has been found out.
pub(super) fn verdict(running: &Running) -> Option<Result<(), String>> {
    match ended(running) {
        Some((_, ended)) if ended.code == 0 => Some(Ok(())),
        // Evicted, or without room from the start: nothing has been found out.
        None if running.over => Some(Ok(())),
        Some((_, ended)) if running.over && KILLED.contains(&ended.code) => Some(Ok(())),
        Some((program, ended)) => Some(Err(how(program, ended))),
        None => None,
    }
}

/// How a program has ended that tells its version, in words.
pub(super) fn how(program: &str, ended: &Ended) -> String {
    match ended.code {
        NOT_STARTED => format!("{program} --version could not be started: {}", ended.message),
        code if KILLED.contains(&code) => format!("{program} --version was killed with exit code {code}"),
        code => format!("{program} --version ends with exit code {code}"),
    }
}

/// Whether a program was killed, or has never begun, which says nothing of its image.
pub(super) fn is_of_no_account(program: &str, ended: &Ended) -> bool {
    KILLED.contains(&ended.code) || is_not_started(program, ended)
}

/// Whether a container could not be started, for another reason than that its program cannot be run: what runtimes say of that differs,
/// but that they name the program's path.
pub(super) fn is_not_started(program: &str, ended: &Ended) -> bool {
    let path = if program == AGENT { AGENT_PATH } else { ETCD_PATH };
    // The whole path: stack traces have files of runtimes' own agents.
    let mut words = ended.message.split(|sign: char| !sign.is_alphanumeric() && !"/._-".contains(sign));
    let of_program = words.any(|word| word == path) || NO_PROGRAM.iter().any(|sign| ended.message.contains(sign));
    ended.code == NOT_STARTED && !of_program
}

/// Whether it is the agent that has failed, after which etcd was not started.
pub(super) fn is_of_agent(tried: &Pod) -> bool {
    tried.running.as_deref().and_then(ended).is_some_and(|(program, _)| program == AGENT)
}

/// Whether a pod was made so long ago. Not `clock::lasted`: where this clock is behind, it would be made again and again.
pub(super) fn has_lasted(tried: &Pod, than: SignedDuration, now: Timestamp) -> bool {
    tried.running.as_ref().and_then(|running| running.created).is_some_and(|since| now.duration_since(since) >= than)
}

/// How etcd has ended in a pod that tries images, or the agent, after which etcd was not started.
pub(super) fn ended(running: &Running) -> Option<(&'static str, &Ended)> {
    let of = |program| Some((program, running.container(program)?.ended.as_ref()?));
    of(ETCD).or_else(|| of(AGENT).filter(|(_, ended)| ended.code != 0))
}

/// Whether nothing will come of a pod that tries something: its node is gone, so that its kubelet neither starts nor removes it.
pub(super) fn is_overdue(tried: &Pod, now: Timestamp) -> bool {
    if !tried.meta.deleting {
        return tried.diagnosis.is_none() && has_lasted(tried, START, now);
    }
    // Not clock::lasted: the time of a deletion is that of its end.
    let deleted = tried.running.as_ref().and_then(|running| running.deleted);
    deleted.is_some_and(|since| now.duration_since(since) >= REMOVAL)
}
