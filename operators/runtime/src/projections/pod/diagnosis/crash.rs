//! Pure: the diagnosis of containers that have ended. One end is no crash loop: the kubelet restarts the container at once, and
//! usually it recovers. From the second end within [`BACKOFF_RESET`] on, the kubelet waits before it restarts it, longer each
//! time. The diagnosis depends only on the restart count and the times of the container.

use api::{PodReason, Reason};
use jiff::{SignedDuration, Timestamp};

use super::pod_diagnosis::PodDiagnosis;
use super::wire::{WireContainer, WireReason};

/// The kubelet resets the backoff of a container that has run for this time, which is twice the longest backoff.
const BACKOFF_RESET: SignedDuration = SignedDuration::from_mins(10);

/// How much longer than before a container must run to count as recovered: a container that crashes soon after its start does not
/// always take the same time.
const SLACK: SignedDuration = SignedDuration::from_secs(10);

/// The diagnosis of a container that has ended with a failure or repeatedly, and is not ready.
pub(super) fn of(container: &WireContainer) -> Option<PodDiagnosis> {
    let ended = container.ended()?;
    if ended.reason == PodReason::StartError {
        // The same reason and message as of RunContainerError, with which this alternates.
        return Some(PodDiagnosis::new(
            PodReason::RunContainerError,
            format!("container {}: {}", container.name, ended.message),
            true,
        ));
    }
    let waits = container.state.waiting.as_ref();
    let restarts = container.restart_count > 0 || waits.is_some();
    // A container that succeeded and is about to be recreated, with another image for example, is not failing.
    let in_backoff = waits.is_some_and(|waiting| waiting.reason == PodReason::CrashLoopBackOff);
    if !restarts || (ended.exit_code == 0 && !in_backoff) {
        return None;
    }
    let reason = if ended.reason.is_empty() { "Error" } else { &ended.reason };
    let how = format!("{reason} (exit code {})", ended.exit_code);
    if in_backoff || ends_repeatedly(container, ended) {
        let message = format!("container {} keeps ending: {how}", container.name);
        let until = recovered_at(container, ended);
        return Some(PodDiagnosis { until, ..PodDiagnosis::new(PodReason::CrashLoopBackOff, message, true) });
    }
    Some(PodDiagnosis::new(
        Reason::reported(reason),
        format!("container {} has ended, and is started again: {how}", container.name),
        false,
    ))
}

/// Whether the kubelet has delayed the restart of the container, or will.
fn ends_repeatedly(container: &WireContainer, ended: &WireReason) -> bool {
    let ends = container.restart_count + i32::from(container.state.terminated.is_some());
    ends > 1 && ran(ended) <= BACKOFF_RESET
}

/// When a running container counts as recovered, if it does not end before.
fn recovered_at(container: &WireContainer, ended: &WireReason) -> Option<Timestamp> {
    let since = container.state.running.as_ref()?.started_at?;
    since.checked_add((ran(ended) * 2 + SLACK).min(BACKOFF_RESET)).ok()
}

/// How long a container ran before it ended; zero if that is not reported.
fn ran(ended: &WireReason) -> SignedDuration {
    let (Some(start), Some(end)) = (ended.started_at, ended.finished_at) else { return SignedDuration::ZERO };
    end.duration_since(start).max(SignedDuration::ZERO)
}
