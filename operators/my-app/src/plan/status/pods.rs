//! Pure: why pods do not serve, and until when that is valid.

use std::time::Duration;

use api::Reason;
use jiff::{SignedDuration, Timestamp};
use runtime::projections::PodDiagnosis;

use crate::plan::Observed;

/// How long the volumes of a pod may take before the status reports it.
const VOLUME_TIMEOUT: SignedDuration = SignedDuration::from_secs(3);

/// How long after a change of the Deployment its conditions may still name the ReplicaSet of an earlier template. After that time, pods of
/// that ReplicaSet are terminating and do not count, and the next progress names the current one.
const REPLICA_SET_TIMEOUT: SignedDuration = SignedDuration::from_secs(15);

/// Why pods do not serve now.
pub(in crate::plan) struct PodFailures<'a> {
    failing_pods: Vec<(&'a str, &'a PodDiagnosis)>,
    /// What a pod has been waiting for longer than [`VOLUME_TIMEOUT`], as a message.
    waits: Option<String>,
    /// When this changes without an event.
    pub(in crate::plan) due: Option<Duration>,
}

impl<'a> PodFailures<'a> {
    /// The state at `now`.
    pub(in crate::plan) fn of(observed: &'a Observed, now: Timestamp) -> Self {
        if let Some(left) = unnamed(observed, now) {
            return Self { failing_pods: Vec::new(), waits: None, due: Some(left) };
        }
        let left =
            |since: Timestamp| Duration::try_from(VOLUME_TIMEOUT - now.duration_since(since)).unwrap_or_default();
        let waits = observed.starting.iter().find(|(_, starting)| left(starting.since).is_zero());
        let waits = waits.map(|(pod, starting)| {
            format!(
                "pod {pod}: ContainerCreating: waiting for its volumes or its network; check that {}, with the required keys",
                match &*starting.needs {
                    [one] => format!("{one} exists"),
                    all => format!("all of these exist: {}", all.join(", ")),
                }
            )
        });
        let failing_pods = observed.failing_pods.iter().map(|(pod, diagnosis)| (&**pod, diagnosis));
        let failing_pods: Vec<_> =
            failing_pods.filter(|(_, diagnosis)| diagnosis.left(now) != Some(Duration::ZERO)).collect();
        let ends = failing_pods.iter().filter_map(|(_, diagnosis)| diagnosis.left(now));
        let waiting = observed.starting.iter().map(|(_, starting)| left(starting.since)).filter(|left| !left.is_zero());
        let due = ends.chain(waiting).min();
        Self { failing_pods, waits, due }
    }

    /// Whether no pod is known to fail.
    pub(in crate::plan) fn are_empty(&self) -> bool {
        self.failing_pods.is_empty()
    }

    /// A failure that lasts until the user acts: a reason, and a message.
    pub(in crate::plan) fn permanent(&self) -> Option<(Reason, String)> {
        let (pod, diagnosis) = self.failing_pods.iter().find(|(_, diagnosis)| diagnosis.permanent)?;
        Some((diagnosis.reason.clone(), format!("pod {pod}: {}", diagnosis.message)))
    }

    /// A failure that may resolve itself, as a message.
    pub(in crate::plan) fn transient(&self) -> Option<String> {
        let failing = self.failing_pods.first();
        let failing = failing.map(|(pod, diagnosis)| format!("pod {pod}: {}: {}", diagnosis.reason, diagnosis.message));
        failing.or_else(|| self.waits.clone())
    }

    /// The most severe of these, as a message.
    pub(in crate::plan) fn worst(&self) -> Option<String> {
        self.permanent().map(|(_, why)| why).or_else(|| self.transient())
    }
}

/// How long it remains unknown which pods are of the current template.
fn unnamed(observed: &Observed, now: Timestamp) -> Option<Duration> {
    let left = REPLICA_SET_TIMEOUT - now.duration_since(observed.deployment.owned()?.unnamed_since()?);
    // A time in the future comes from another clock.
    Duration::try_from(left).ok().filter(|_| left.is_positive() && left <= REPLICA_SET_TIMEOUT)
}
