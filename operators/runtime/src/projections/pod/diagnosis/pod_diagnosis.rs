//! Pure: why a pod is failing, and until when.

use std::time::Duration;

use api::{PodReason, Reason};
use jiff::Timestamp;

/// Why a pod is failing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDiagnosis {
    /// The reason, from the kubelet or the scheduler.
    pub reason: Reason,
    /// The message, without the name of the pod.
    pub message: String,
    /// Whether it persists without a change.
    pub permanent: bool,
    /// When it ends unless something changes before: a container that runs for longer than before counts as recovered.
    pub until: Option<Timestamp>,
}

impl PodDiagnosis {
    /// A diagnosis without an end time.
    pub(super) fn new(reason: impl Into<Reason>, message: String, permanent: bool) -> Self {
        Self { reason: reason.into(), message, permanent, until: None }
    }

    /// Whether the scheduler finds no node for the pod now.
    #[must_use]
    pub fn is_unschedulable(&self) -> bool {
        self.reason == PodReason::Unschedulable
    }

    /// Whether the image cannot be pulled.
    #[must_use]
    pub fn is_image_failure(&self) -> bool {
        self.reason.is_one_of(&[PULL_FAILED, PodReason::ErrImageNeverPull, PodReason::InvalidImageName])
    }

    /// The time until it ends on its own, if it does.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        self.until.map(|until| Duration::try_from(until.duration_since(now)).unwrap_or_default())
    }

    /// Carries over from `before` what the kubelet reports only at times: why an image cannot be pulled.
    pub fn carry_over(&mut self, before: &Self) {
        let same = self.reason == before.reason && self.reason == PULL_FAILED;
        if same && before.message.strip_prefix(&*self.message).is_some_and(|cause| cause.starts_with(": ")) {
            self.message.clone_from(&before.message);
        }
    }
}

/// The reason of an image that cannot be pulled.
pub(super) const PULL_FAILED: PodReason = PodReason::ImagePullBackOff;
