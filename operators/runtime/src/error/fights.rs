//! What to say of other writers of children.

use super::Error;
use crate::plan::meta::{Key, Kind};
use crate::workqueue::{FIGHT, FIGHT_WRITES, Fight, SLOW_FIGHT, SLOW_FIGHT_REPAIRS};
use api::ReconcileReason;

impl Error {
    /// Another writer changes a child again and again, and what it changes is taken back each time: one of the two has to stop.
    #[must_use]
    pub fn contested(fight: &Fight) -> Self {
        let (kind, child) = &fight.child;
        let message = format!(
            "somebody keeps changing {} {}, which this manager has put back {FIGHT_WRITES} times within {} s, and now does only \
             once in a while: managedFields tell who (kubectl get {} {} -o yaml --show-managed-fields); stop one of the two",
            kind.kind,
            child.name,
            FIGHT.as_secs(),
            kind.plural,
            child.name
        );
        Self::Transient { reason: ReconcileReason::Contested.into(), message, stalled: true }
    }

    /// What to say of a child that somebody changes now and then, each time taken back at once.
    #[must_use]
    pub fn changed_again_and_again((kind, child): &(Kind, Key)) -> String {
        format!(
            "somebody changes {} {} now and then, which this manager has put back {SLOW_FIGHT_REPAIRS} times within {} minutes: \
             managedFields tell who (kubectl get {} {} -o yaml --show-managed-fields); if it is a program, stop one of the two",
            kind.kind,
            child.name,
            SLOW_FIGHT.as_secs() / 60,
            kind.plural,
            child.name
        )
    }
}
