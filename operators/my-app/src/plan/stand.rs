//! A Deployment whose own controller seems to have come to a standstill ([`wedged`](super::wedged)), and since when. Pure.

use jiff::Timestamp;
use runtime::views::Deployment;

/// What this process has seen of a Deployment that looks so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stand {
    /// Of which one, as it was last applied, and its numbers.
    of: (Box<str>, Option<Timestamp>, i32, i32),
    /// Since when it has looked like that, by our own clock.
    pub(super) since: Timestamp,
    /// How often it has been set going.
    pub(super) tries: u32,
    /// Whether the last of these has been counted.
    counted: bool,
}

impl Stand {
    /// What is to be remembered at `now`, after `before`; nothing of one that goes on.
    #[must_use]
    pub fn seen(before: Option<&Self>, live: &Deployment, now: Timestamp) -> Option<Self> {
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
        if !looks_so(live) {
            return None;
        }
        let of = (live.meta.uid.clone(), live.applied, live.rollout.replicas, live.rollout.updated_replicas);
        let since = before.filter(|before| before.of == of && !before.counted).map_or(now, |before| before.since);
        Some(Self { of, since, tries: before.map_or(0, |before| before.tries), counted: false })
    }
}

/// Whether the Deployment, of type Recreate, still has pods of an earlier template.
pub(super) fn looks_so(live: &Deployment) -> bool {
    let rollout = &live.rollout;
    let recreates = !live.has_pace;
    recreates && !live.paused && is_observed(live) && rollout.replicas > rollout.updated_replicas
}

fn is_observed(live: &Deployment) -> bool {
    live.rollout.observed_generation >= live.meta.generation
}
