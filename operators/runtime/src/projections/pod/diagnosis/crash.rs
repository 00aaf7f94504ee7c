//! Pure: containers that have ended. One end is no loop: the kubelet starts the container again at once, and most come back. From
//! the second within [`FORGOTTEN`] on it waits before it starts it, longer each time. What is said here follows from the
//! container's own counts and times alone.

use api::{PodReason, Reason};
use jiff::{SignedDuration, Timestamp};

use super::verdict::PodDiagnosis;
use super::wire::{WireContainer, WireReason};

/// A container that has run for so long starts over: the kubelet then forgets how often it has ended before, which is twice the
/// longest time that it waits.
const FORGOTTEN: SignedDuration = SignedDuration::from_mins(10);

/// How much longer a container may take than the time before until it counts as being up: one that ends soon after its start
/// does not do so to the second.
const SLACK: SignedDuration = SignedDuration::from_secs(10);

/// A container that has ended at least once, is not ready again, and did not end well.
pub(super) fn of(container: &WireContainer) -> Option<PodDiagnosis> {
    let ended = container.ended()?;
    if ended.reason == PodReason::StartError {
        // The same words as while kubelet says RunContainerError, with which this alternates.
        return Some(PodDiagnosis::new(
            PodReason::RunContainerError,
            format!("container {}: {}", container.name, ended.message),
            true,
        ));
    }
    let waits = container.state.waiting.as_ref();
    let again = container.restart_count > 0 || waits.is_some();
    // One that ended well and is about to be made anew, with another image for example, is in no trouble.
    let backs_off = waits.is_some_and(|waiting| waiting.reason == PodReason::CrashLoopBackOff);
    if !again || (ended.exit_code == 0 && !backs_off) {
        return None;
    }
    let word = if ended.reason.is_empty() { "Error" } else { &ended.reason };
    let how = format!("{word} (exit code {})", ended.exit_code);
    if backs_off || ends_again_and_again(container, ended) {
        let message = format!("container {} keeps ending: {how}", container.name);
        let until = over(container, ended);
        return Some(PodDiagnosis { until, ..PodDiagnosis::new(PodReason::CrashLoopBackOff, message, true) });
    }
    Some(PodDiagnosis::new(
        Reason::reported(word),
        format!("container {} has ended, and is started again: {how}", container.name),
        false,
    ))
}

/// Whether the kubelet has made the container wait since it ended, or is about to.
fn ends_again_and_again(container: &WireContainer, ended: &WireReason) -> bool {
    let ends = container.restart_count + i32::from(container.state.terminated.is_some());
    ends > 1 && ran(ended) <= FORGOTTEN
}

/// When a container that runs is in no loop any more, if it goes on running.
fn over(container: &WireContainer, ended: &WireReason) -> Option<Timestamp> {
    let since = container.state.running.as_ref()?.started_at?;
    since.checked_add((ran(ended) * 2 + SLACK).min(FORGOTTEN)).ok()
}

/// For how long a container ran before it ended; for no time, if that is not told.
fn ran(ended: &WireReason) -> SignedDuration {
    let (Some(start), Some(end)) = (ended.started_at, ended.finished_at) else { return SignedDuration::ZERO };
    end.duration_since(start).max(SignedDuration::ZERO)
}
