//! Pure: a Deployment whose own controller seems to be stuck ([`stuck`](super::stuck)), and since when.

use jiff::Timestamp;
use runtime::projections::Deployment;

/// A Deployment that has made no progress while this process observed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// The Deployment's uid, when it was last applied, and its numbers of all and of updated pods.
    of: (Box<str>, Option<Timestamp>, i32, i32),
    /// Since when, by the clock of this process.
    pub(super) since: Timestamp,
    /// How often the operator has tried to resolve it.
    pub(super) tries: u32,
    /// Whether the last try has been counted.
    counted: bool,
}

impl Standstill {
    /// The standstill at `now`, given the previous observation; `None` for a Deployment that makes progress.
    #[must_use]
    pub fn observe(before: Option<&Self>, live: &Deployment, now: Timestamp) -> Option<Self> {
        let before = before.filter(|before| before.of.0 == live.meta.uid);
        if live.paused {
            return before.map(|before| Self {
                tries: before.tries + u32::from(!before.counted),
                counted: true,
                ..before.clone()
            });
        }
        if !is_observed(live) {
            return before.cloned();
        }
        if !seems_stuck(live) {
            return None;
        }
        let of = (live.meta.uid.clone(), live.applied, live.rollout.replicas, live.rollout.updated_replicas);
        let since = before.filter(|before| before.of == of && !before.counted).map_or(now, |before| before.since);
        Some(Self { of, since, tries: before.map_or(0, |before| before.tries), counted: false })
    }
}

/// Whether the Deployment, of type Recreate, still has pods of an earlier template.
pub(super) fn seems_stuck(live: &Deployment) -> bool {
    let rollout = &live.rollout;
    let recreates = !live.has_pace;
    recreates && !live.paused && is_observed(live) && rollout.replicas > rollout.updated_replicas
}

fn is_observed(live: &Deployment) -> bool {
    live.rollout.observed_generation >= live.meta.generation
}
