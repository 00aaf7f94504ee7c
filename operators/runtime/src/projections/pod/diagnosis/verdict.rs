//! Pure: what is wrong with a pod, and for how long that holds.

use std::time::Duration;

use api::{PodReason, Reason};
use jiff::Timestamp;

/// What is wrong with a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDiagnosis {
    /// In one CamelCase word, as kubelet or the scheduler names it.
    pub reason: Reason,
    /// In words, without the pod's name.
    pub message: String,
    /// Whether it will not go away by itself.
    pub permanent: bool,
    /// When it is over unless something changes before: a container that runs for longer than it did before it ended is in no
    /// loop any more.
    pub until: Option<Timestamp>,
}

impl PodDiagnosis {
    /// One that no time ends.
    pub(super) fn new(reason: impl Into<Reason>, message: String, permanent: bool) -> Self {
        Self { reason: reason.into(), message, permanent, until: None }
    }

    /// Whether the scheduler finds no node for the pod, as nodes are now.
    #[must_use]
    pub fn is_homeless(&self) -> bool {
        self.reason == PodReason::Unschedulable
    }

    /// Whether the image cannot be had.
    #[must_use]
    pub fn is_of_image(&self) -> bool {
        self.reason.is_one_of(&[PULL, PodReason::ErrImageNeverPull, PodReason::InvalidImageName])
    }

    /// For how long it still holds by itself, if a time ends it; nothing is left of it then.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        self.until.map(|until| Duration::try_from(until.duration_since(now)).unwrap_or_default())
    }

    /// Takes over from `before` what kubelet does not tell at every moment: why an image cannot be pulled.
    pub fn remember(&mut self, before: &Self) {
        let same = self.reason == before.reason && self.reason == PULL;
        if same && before.message.strip_prefix(&*self.message).is_some_and(|cause| cause.starts_with(": ")) {
            self.message.clone_from(&before.message);
        }
    }
}

/// The reason of an image that cannot be pulled.
pub(super) const PULL: PodReason = PodReason::ImagePullBackOff;
