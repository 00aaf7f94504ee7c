//! A rolling update (kubernetes: `rolling.go`).

use super::super::object::name;
use super::Rollout;
use super::set::Set;

impl Rollout<'_> {
    /// The next step of a rolling update: scales up the new ReplicaSet, or else scales down old ones.
    pub(super) fn roll(&mut self) {
        self.find_new(true);
        if !self.scale_new() && !self.scale_down_old() && self.is_complete(&self.deployment["status"]) {
            self.clean_up();
        }
        self.report_rollout();
    }

    /// Scales the new ReplicaSet as far as the surge permits.
    pub(super) fn scale_new(&mut self) -> bool {
        let Some(new) = self.new else { return false };
        let (present, replicas) = (self.size(new), self.replicas());
        let wanted = if present > replicas { replicas } else { self.size_of_new(present) };
        wanted != present && self.scale(new, wanted)
    }

    /// Scales down old ReplicaSets: first pods that are not available anyway, then others as far as enough stay available.
    fn scale_down_old(&mut self) -> bool {
        let old = self.active_old();
        let unavailable = self.new_set().map_or(0, |new| new.replicas() - new.status("availableReplicas"));
        let most = self.total() - self.least() - unavailable;
        if old.is_empty() || most <= 0 {
            return false;
        }
        let cleaned = self.scale_down_unhealthy(&old, most);
        let scaled = self.scale_down_available(&old);
        cleaned || scaled
    }

    fn scale_down_unhealthy(&mut self, old: &[usize], most: i64) -> bool {
        let mut rest = most;
        for place in old {
            let Some(set) = self.sets.get(*place) else { continue };
            let (size, available) = (set.replicas(), set.status("availableReplicas"));
            let surplus = rest.min(size - available);
            if rest > 0 && size > 0 && surplus > 0 {
                rest -= surplus;
                self.scale(*place, size - surplus);
            }
        }
        rest < most
    }

    fn scale_down_available(&mut self, old: &[usize]) -> bool {
        let available: i64 = self.sets.iter().map(|set| set.status("availableReplicas")).sum();
        let most = available - self.least();
        let mut rest = most;
        for place in old {
            let size = self.size(*place);
            let surplus = rest.min(size);
            if rest > 0 && surplus > 0 {
                rest -= surplus;
                self.scale(*place, size - surplus);
            }
        }
        rest < most
    }

    /// The text that names the new ReplicaSet in messages, else the Deployment.
    pub(super) fn subject(&self) -> String {
        let deployment = || format!("Deployment {:?}", name(&self.deployment));
        self.new_set().map_or_else(deployment, |new: &Set| format!("ReplicaSet {:?}", name(&new.value)))
    }
}
