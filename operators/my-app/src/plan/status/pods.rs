//! What the pods tell, and until when. Pure.

use std::time::Duration;

use api::Reason;
use jiff::{SignedDuration, Timestamp};
use runtime::plan::trouble::Trouble;

use crate::plan::Observed;

/// For so long volumes of a pod may take without being told of.
const VOLUMES: SignedDuration = SignedDuration::from_secs(3);

/// For so long after a change of the Deployment the ReplicaSet that is named is taken for that of an earlier template, if it may be:
/// pods of that one are on their way out, and are not counted, sooner than that; and the next progress names the present one.
const UNNAMED: SignedDuration = SignedDuration::from_secs(15);

/// What keeps pods from serving, as it is now.
pub(in crate::plan) struct Pods<'a> {
    troubles: Vec<(&'a str, &'a Trouble)>,
    /// What a pod has waited for long enough to be told of.
    waits: Option<String>,
    /// When that will be otherwise, if nothing else changes before.
    pub(in crate::plan) due: Option<Duration>,
}

impl<'a> Pods<'a> {
    /// What holds at `now`.
    pub(in crate::plan) fn of(observed: &'a Observed, now: Timestamp) -> Self {
        if let Some(left) = unnamed(observed, now) {
            return Self { troubles: Vec::new(), waits: None, due: Some(left) };
        }
        let left = |since: Timestamp| Duration::try_from(VOLUMES - now.duration_since(since)).unwrap_or_default();
        let waits = observed.starting.iter().find(|(_, starting)| left(starting.since).is_zero());
        let waits = waits.map(|(pod, starting)| {
            format!(
                "pod {pod}: ContainerCreating: it waits for its volumes or its network; check that {}, with the entries asked for",
                match &*starting.needs {
                    [one] => format!("{one} exists"),
                    all => format!("all of these exist: {}", all.join(", ")),
                }
            )
        });
        let troubles = observed.troubles.iter().map(|(pod, trouble)| (&**pod, trouble));
        let troubles: Vec<_> = troubles.filter(|(_, trouble)| trouble.left(now) != Some(Duration::ZERO)).collect();
        let ends = troubles.iter().filter_map(|(_, trouble)| trouble.left(now));
        let told = observed.starting.iter().map(|(_, starting)| left(starting.since)).filter(|left| !left.is_zero());
        let due = ends.chain(told).min();
        Self { troubles, waits, due }
    }

    /// Whether none is known to be in trouble.
    pub(in crate::plan) fn are_well(&self) -> bool {
        self.troubles.is_empty()
    }

    /// What will not go away by itself: a reason, and a sentence.
    pub(in crate::plan) fn lasting(&self) -> Option<(Reason, String)> {
        let (pod, trouble) = self.troubles.iter().find(|(_, trouble)| trouble.lasting)?;
        Some((trouble.reason.clone(), format!("pod {pod}: {}", trouble.message)))
    }

    /// What may go away by itself, as a sentence.
    pub(in crate::plan) fn passing(&self) -> Option<String> {
        let trouble = self.troubles.first();
        let trouble = trouble.map(|(pod, trouble)| format!("pod {pod}: {}: {}", trouble.reason, trouble.message));
        trouble.or_else(|| self.waits.clone())
    }

    /// The worst of all that, as a sentence.
    pub(in crate::plan) fn worst(&self) -> Option<String> {
        self.lasting().map(|(_, why)| why).or_else(|| self.passing())
    }
}

/// For how long it is not known which pods are of the present template.
fn unnamed(observed: &Observed, now: Timestamp) -> Option<Duration> {
    let left = UNNAMED - now.duration_since(observed.deployment.ours()?.unnamed_since()?);
    // A time that is yet to come is of a clock that differs.
    Duration::try_from(left).ok().filter(|_| left.is_positive() && left <= UNNAMED)
}
