//! How the ReplicaSets follow a change of `replicas`, without a step of the rollout (kubernetes: `sync.go`, `scale`).

use super::super::object::number;
use super::Rollout;
use super::set::Set;

impl Rollout<'_> {
    /// Scales the ReplicaSets to the size of the Deployment.
    pub(super) fn scale_all(&mut self) {
        let active: Vec<usize> = (0..self.sets.len()).filter(|place| self.size(*place) > 0).collect();
        if active.len() <= 1 {
            let latest = self.new.or_else(|| self.old().last().copied());
            let only = active.first().copied().or(latest).filter(|place| self.size(*place) != self.replicas());
            if let Some(place) = only {
                self.scale(place, self.replicas());
            }
        } else if self.is_saturated() {
            for place in self.active_old() {
                self.scale(place, 0);
            }
        } else if self.is_rolling() {
            self.scale_in_proportion(active);
        }
    }

    /// Whether the new ReplicaSet has all pods of the Deployment, and they are available.
    fn is_saturated(&self) -> bool {
        let replicas = self.replicas();
        let is_full = |new: &Set| {
            new.replicas() == replicas && new.desired() == Some(replicas) && new.status("availableReplicas") == replicas
        };
        self.new_set().is_some_and(is_full)
    }

    /// Distributes what is to be added or removed over the ReplicaSets, by their size.
    fn scale_in_proportion(&mut self, mut active: Vec<usize>) {
        let allowed = if self.replicas() > 0 { self.most() } else { 0 };
        let to_add = allowed - self.total();
        // The largest gets the rest: of two of the same size the newer one to grow, the older one to shrink.
        active.sort_by_key(|place| (-self.size(*place), if to_add > 0 { usize::MAX - *place } else { *place }));
        let mut added = 0;
        let mut sizes = Vec::new();
        for place in &active {
            let share = self.sets.get(*place).map_or(0, |set| self.share(set, to_add, added));
            added += share;
            sizes.push(self.size(*place) + share);
        }
        if let Some(largest) = sizes.first_mut() {
            *largest = (*largest + to_add - added).max(0);
        }
        for (place, size) in active.into_iter().zip(sizes) {
            self.scale(place, size);
        }
    }

    /// What a ReplicaSet gets of `to_add`, of which `added` is distributed.
    fn share(&self, set: &Set, to_add: i64, added: i64) -> i64 {
        let (size, rest) = (set.replicas(), to_add - added);
        if size == 0 || rest == 0 {
            return 0;
        }
        let fraction = self.fraction(set);
        if to_add > 0 { fraction.min(rest) } else { fraction.max(rest) }
    }

    /// By how much a ReplicaSet changes if it keeps its share of all pods.
    fn fraction(&self, set: &Set) -> i64 {
        let size = set.replicas();
        if self.replicas() == 0 {
            return -size;
        }
        let reported = number(&self.deployment["status"]["replicas"]);
        let before = set.most().filter(|most| *most > 0).unwrap_or(reported);
        if before <= 0 {
            return 0;
        }
        // Rounded to the nearest.
        (2 * size * self.most() + before) / (2 * before) - size
    }
}
