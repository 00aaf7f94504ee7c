//! Pure: what the pods report, and until when.

use std::time::Duration;

use api::Reason;
use jiff::{SignedDuration, Timestamp};
use runtime::projections::PodDiagnosis;

use crate::plan::Observed;

/// How long volumes of a pod may take before it is reported.
const VOLUME_TIMEOUT: SignedDuration = SignedDuration::from_secs(3);

/// For how long after a change of the Deployment the named ReplicaSet may be that of an earlier template:
/// by then pods of that one are terminating, and not counted, and the next progress names the current one.
const REPLICA_SET_TIMEOUT: SignedDuration = SignedDuration::from_secs(15);

/// What keeps pods from serving, as it is now.
pub(in crate::plan) struct Pods<'a> {
    failing_pods: Vec<(&'a str, &'a PodDiagnosis)>,
    /// What a pod has waited for long enough to be reported.
    waits: Option<String>,
    /// When that changes by itself.
    pub(in crate::plan) due: Option<Duration>,
}

impl<'a> Pods<'a> {
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
        let failing_pods = observed.failing_pods.iter().map(|(pod, trouble)| (&**pod, trouble));
        let failing_pods: Vec<_> =
            failing_pods.filter(|(_, trouble)| trouble.left(now) != Some(Duration::ZERO)).collect();
        let ends = failing_pods.iter().filter_map(|(_, trouble)| trouble.left(now));
        let told = observed.starting.iter().map(|(_, starting)| left(starting.since)).filter(|left| !left.is_zero());
        let due = ends.chain(told).min();
        Self { failing_pods, waits, due }
    }

    /// Whether no pod is known to fail.
    pub(in crate::plan) fn are_healthy(&self) -> bool {
        self.failing_pods.is_empty()
    }

    /// A failure that lasts until the user acts: a reason, and a message.
    pub(in crate::plan) fn permanent(&self) -> Option<(Reason, String)> {
        let (pod, trouble) = self.failing_pods.iter().find(|(_, trouble)| trouble.permanent)?;
        Some((trouble.reason.clone(), format!("pod {pod}: {}", trouble.message)))
    }

    /// A failure that may end by itself, as a message.
    pub(in crate::plan) fn transient(&self) -> Option<String> {
        let trouble = self.failing_pods.first();
        let trouble = trouble.map(|(pod, trouble)| format!("pod {pod}: {}: {}", trouble.reason, trouble.message));
        trouble.or_else(|| self.waits.clone())
    }

    /// The worst of these, as a message.
    pub(in crate::plan) fn worst(&self) -> Option<String> {
        self.permanent().map(|(_, why)| why).or_else(|| self.transient())
    }
}

/// For how long it is not known which pods are of the current template.
fn unnamed(observed: &Observed, now: Timestamp) -> Option<Duration> {
    let left = REPLICA_SET_TIMEOUT - now.duration_since(observed.deployment.owned()?.unnamed_since()?);
    // A time in the future comes from another clock.
    Duration::try_from(left).ok().filter(|_| left.is_positive() && left <= REPLICA_SET_TIMEOUT)
}
