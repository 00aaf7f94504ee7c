//! Pure: the progress of the Deployment's rollout.

use runtime::cache::Projection;
use runtime::plan::{ChildState, Effect};
use runtime::projections::{Conditions, Deployment, Rollout};

use crate::plan::{Observed, scaling};

/// The progress of the Deployment's rollout.
pub(super) struct RolloutProgress<'a> {
    /// Desired pods.
    pub(super) desired: i32,
    pub(super) rollout: &'a Rollout,
    /// Whether the numbers are about the current spec.
    pub(super) current: bool,
    /// How long pods have to be ready until they count as available, in seconds.
    pub(super) min_ready: i32,
}

const NONE: &Rollout = &Rollout {
    observed_generation: 0,
    replicas: 0,
    updated_replicas: 0,
    ready_replicas: 0,
    available_replicas: 0,
    conditions: Conditions { failures: Vec::new(), newest: None, named: None },
};

impl<'a> RolloutProgress<'a> {
    pub(super) fn of(observed: &'a Observed, steps: &[Effect]) -> Self {
        let desired = scaling::desired_replicas(observed);
        let min_ready = observed.app.spec.min_ready_seconds.unwrap_or(0);
        let changes = steps.iter().any(|step| matches!(step, Effect::Apply(apply) if apply.kind == Deployment::KIND));
        // Pods of an earlier Deployment may still exist, and may be adopted; those of an orphan are.
        let had_none = observed.app.status.replicas == 0 && observed.orphan.is_none();
        match &observed.deployment {
            ChildState::Owned(live) => {
                // A Deployment that has requested no pods since its creation has none, even if its controller has not observed it yet.
                let untouched = live.meta.generation == 1 && desired == 0 && had_none;
                let current = !changes && (untouched || live.rollout.observed_generation >= live.meta.generation);
                Self { desired, rollout: &live.rollout, current, min_ready }
            }
            ChildState::Absent => {
                Self { desired, rollout: NONE, current: changes && desired == 0 && had_none, min_ready }
            }
            ChildState::Terminating | ChildState::Undecodable(_) => {
                Self { desired, rollout: NONE, current: false, min_ready }
            }
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.all_ready() && !self.awaits_min_ready()
    }

    /// Whether the numbers are the desired ones, but of an earlier spec.
    pub(super) fn awaits_observation(&self) -> bool {
        !self.current && self.counts_are_right() && !self.awaits_min_ready()
    }

    fn all_ready(&self) -> bool {
        self.current && self.counts_are_right()
    }

    fn counts_are_right(&self) -> bool {
        let Rollout { replicas, updated_replicas, ready_replicas, .. } = *self.rollout;
        [replicas, updated_replicas, ready_replicas] == [self.desired; 3]
    }

    /// Whether pods are ready, but not for long enough.
    fn awaits_min_ready(&self) -> bool {
        self.min_ready > 0 && self.rollout.available_replicas < self.desired
    }

    pub(super) fn count(&self) -> String {
        let verb = if self.desired == 1 { "pod is" } else { "pods are" };
        format!("{} of {} {verb} ready", self.rollout.ready_replicas, self.desired)
    }

    /// The progress as a message.
    pub(super) fn message(&self) -> String {
        let Rollout { replicas, updated_replicas, .. } = *self.rollout;
        let old = replicas > updated_replicas && updated_replicas > 0;
        let count = self.count();
        if self.all_ready() && self.awaits_min_ready() {
            return format!("{count}; waiting until each has been ready for {} s (minReadySeconds)", self.min_ready);
        }
        match (replicas > self.desired && !old, old) {
            (true, _) => format!("{count}; surplus pods are being stopped"),
            (_, true) => format!("{count}; pods are being replaced"),
            _ => count,
        }
    }
}
