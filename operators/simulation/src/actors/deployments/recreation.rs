//! The strategy `Recreate` (kubernetes: `recreate.go`).

use serde_json::Value;

use super::super::object::{controller, text, uid};
use super::super::pod::is_ended;
use super::set::Set;
use super::{Rollout, is_near};

impl Rollout<'_> {
    /// The next step of a recreation: all old pods end before the first new one starts.
    pub(super) fn recreate(&mut self) {
        let mut is_scaled = false;
        for place in self.active_old() {
            is_scaled |= self.scale(place, 0);
        }
        if !is_scaled && !self.has_old_pods() {
            self.find_new(true);
            if let Some(new) = self.new.filter(|new| self.size(*new) != self.replicas()) {
                self.scale(new, self.replicas());
            }
            if self.is_complete(&self.deployment["status"]) {
                self.clean_up();
            }
        }
        self.report_rollout();
    }

    /// Whether a pod of an earlier template may still run. One that is being deleted may.
    fn has_old_pods(&self) -> bool {
        let old: Vec<&Set> = self.old().into_iter().filter_map(|place| self.sets.get(place)).collect();
        let is_of = |pod: &Value, set: &&Set| {
            controller(pod).is_some_and(|controller| text(&controller["uid"]) == uid(&set.value))
        };
        let mut pods = self.pods.iter().filter(|pod| is_near(&self.deployment, pod) && !is_ended(pod));
        old.iter().any(|set| set.status("replicas") > 0) || pods.any(|pod| old.iter().any(|set| is_of(pod, set)))
    }
}
