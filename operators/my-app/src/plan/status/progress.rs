//! Pure: how far the Deployment has come.

use runtime::cache::Projection;
use runtime::plan::{ChildState, Effect};
use runtime::projections::{Conditions, Deployment, Rollout};

use crate::plan::{Observed, scaling};

/// How far the Deployment has come.
pub(super) struct Progress<'a> {
    /// Desired pods.
    pub(super) wanted: i32,
    pub(super) rollout: &'a Rollout,
    /// Whether the numbers are about the current spec.
    pub(super) current: bool,
    /// How long pods have to be ready for until they count, in seconds.
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

impl<'a> Progress<'a> {
    pub(super) fn of(observed: &'a Observed, steps: &[Effect]) -> Self {
        let wanted = scaling::wanted(observed);
        let min_ready = observed.app.spec.min_ready_seconds.unwrap_or(0);
        let changes = steps.iter().any(|step| matches!(step, Effect::Apply(apply) if apply.kind == Deployment::KIND));
        // Pods of an earlier Deployment may be there still, and may be adopted; with an orphan, they are.
        let had_none = observed.app.status.replicas == 0 && observed.orphan.is_none();
        match &observed.deployment {
            ChildState::Owned(live) => {
                // A Deployment that has requested no pods since its creation has none, whether or not its controller has
                // observed it.
                let untouched = live.meta.generation == 1 && wanted == 0 && had_none;
                let current = !changes && (untouched || live.rollout.observed_generation >= live.meta.generation);
                Self { wanted, rollout: &live.rollout, current, min_ready }
            }
            ChildState::Absent => {
                Self { wanted, rollout: NONE, current: changes && wanted == 0 && had_none, min_ready }
            }
            ChildState::Terminating | ChildState::Undecodable(_) => {
                Self { wanted, rollout: NONE, current: false, min_ready }
            }
        }
    }

    pub(super) fn complete(&self) -> bool {
        self.all_ready() && !self.matures()
    }

    /// Whether the numbers are the desired ones, but about an earlier spec.
    pub(super) fn waits_to_be_observed(&self) -> bool {
        !self.current && self.counts_are_right() && !self.matures()
    }

    fn all_ready(&self) -> bool {
        self.current && self.counts_are_right()
    }

    fn counts_are_right(&self) -> bool {
        let Rollout { replicas, updated_replicas, ready_replicas, .. } = *self.rollout;
        [replicas, updated_replicas, ready_replicas] == [self.wanted; 3]
    }

    /// Whether pods are ready, but not for long enough.
    fn matures(&self) -> bool {
        self.min_ready > 0 && self.rollout.available_replicas < self.wanted
    }

    pub(super) fn count(&self) -> String {
        let verb = if self.wanted == 1 { "pod is" } else { "pods are" };
        format!("{} of {} {verb} ready", self.rollout.ready_replicas, self.wanted)
    }

    /// What is in progress, as a message.
    pub(super) fn message(&self) -> String {
        let Rollout { replicas, updated_replicas, .. } = *self.rollout;
        let old = replicas > updated_replicas && updated_replicas > 0;
        let count = self.count();
        if self.all_ready() && self.matures() {
            return format!("{count}; waiting until each has been ready for {} s (minReadySeconds)", self.min_ready);
        }
        match (replicas > self.wanted && !old, old) {
            (true, _) => format!("{count}; surplus pods are being stopped"),
            (_, true) => format!("{count}; pods are being replaced"),
            _ => count,
        }
    }
}
